"""Pictures of a race for people."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.text import Text

from maestro.envs.racing import braille, car, track
from maestro.envs.racing.draw import LINE, ROAD, draw, terminal, view, whole
from maestro.envs.racing.levels import Level
from maestro.envs.racing.sheet import COLORS, Sheet, bounds

ANGLE = np.arange(468) * 2 * np.pi / 468
CIRCLE = 100 * np.stack([np.cos(ANGLE), np.sin(ANGLE)], axis=1)  # counter-clockwise from the right
LEVEL = Level(jnp.asarray(CIRCLE, jnp.float32), jnp.float32(2000 / 6), jnp.int32(1000))
ROADWAY = track.along(LEVEL.center)


def state_of(tiles, visited=((), ()), turn=0.0):
    """Two cars in the middle of two tiles."""
    tiles = jnp.asarray(tiles)
    cars = jax.vmap(car.start)(ROADWAY.point[tiles], ROADWAY.beta[tiles] + turn)
    seen = np.zeros((2, 468), bool)
    for seat in range(2):
        seen[seat, list(visited[seat])] = True
    return SimpleNamespace(cars=cars, visited=seen, frame=np.int32(240))


def pixel_of(place, side):
    """Row and column in the map."""
    middle, reach = bounds(LEVEL)
    x, y = (np.asarray(place) - middle) / reach
    return round((1 - y) / 2 * side - 0.5), round((1 + x) / 2 * side - 0.5)


def like(color, picture, within=12):
    """The pixels of about this color."""
    return (np.abs(picture.astype(int) - np.asarray(color, int)) <= within).all(axis=-1)


@pytest.mark.parametrize("scale", [1, 2, 8])
def test_a_picture_is_a_map_beside_two_close_ups(scale):
    picture = draw(LEVEL, state_of((100, 200)), scale)
    assert picture.shape == (40 * scale, 60 * scale, 3) and picture.dtype == np.uint8


def test_the_whole_track_is_the_map_without_cars():
    track_alone = whole(LEVEL, 8)
    both = draw(LEVEL, state_of((100, 200)), 8)[:, :320]
    assert track_alone.shape == both.shape and not any(like(color, track_alone).any() for color in COLORS)
    changed = np.argwhere((track_alone != both).any(axis=-1))
    assert 100 < len(changed) < 0.02 * both.size  # where the cars are, and nowhere else


def test_a_scale_below_one_is_refused():
    with pytest.raises(ValueError, match="scale: 0 "):
        draw(LEVEL, state_of((100, 200)), 0)
    with pytest.raises(ValueError, match="scale: 0 "):
        whole(LEVEL, 0)


@pytest.mark.parametrize("tiles", [(100, 200), (300, 50)])
def test_the_map_shows_each_car_where_it_is(tiles):
    picture = draw(LEVEL, state_of(tiles), 8)[:, :320]
    for tile, color in zip(tiles, COLORS, strict=True):
        found = np.argwhere(like(color, picture))
        assert len(found) > 20
        assert np.hypot(*(found.mean(axis=0) - pixel_of(CIRCLE[tile], 320))) < 4


def test_a_car_beyond_the_map_is_at_its_edge():
    state = state_of((100, 200))
    away = state.cars.position.at[0].set(jnp.array([900.0, 0.0]))
    state.cars = state.cars.replace(position=away)
    found = np.argwhere(like(COLORS[0], draw(LEVEL, state, 8)[:, :320]))
    assert len(found) > 20 and found[:, 1].min() > 295 and abs(found[:, 0].mean() - 160) < 4


def test_a_marker_points_where_the_car_does():
    shapes = []
    for turn in (0.0, np.pi / 2):
        picture = draw(LEVEL, state_of((0, 234), turn=turn), 8)[:, :320]
        row, column = pixel_of(CIRCLE[0], 320)
        shapes.append(like(COLORS[0], picture)[row - 12 : row + 13, column - 12 : column + 13])
    widths = [shapes[0].sum(axis=1), shapes[1].sum(axis=0)]
    for across in widths:  # it begins as a tip, at the top when facing up, at the left when facing left
        filled = across[across > 0]
        assert filled[0] < filled[-3] and len(filled) > 8


def test_the_close_ups_show_their_cars_in_the_middle_and_are_framed_in_their_colors():
    picture = draw(LEVEL, state_of((100, 200)), 8)
    for seat in range(2):
        panel = picture[160 * seat : 160 * (seat + 1), 320:]
        assert (panel[0] == COLORS[seat]).all() and (panel[:, -1] == COLORS[seat]).all()
        inner = like(COLORS[seat], panel[4:-4, 4:-4])
        assert np.hypot(*(np.argwhere(inner).mean(axis=0) - 75.5)) < 4 and 40 < inner.sum() < 400
        assert not like(COLORS[1 - seat], panel[4:-4, 4:-4]).any()


def test_close_cars_are_in_both_close_ups():
    picture = draw(LEVEL, state_of((100, 106)), 8)
    for panel in (picture[4:156, 324:476], picture[164:316, 324:476]):
        assert all(like(color, panel).sum() > 40 for color in COLORS)


def test_a_car_tints_its_side_of_what_it_has_driven_over():
    sides = {"left": 96.5, "right": 103.5}  # of who drives counter-clockwise
    picture = draw(LEVEL, state_of((300, 301), (range(90, 110), range(100, 120))), 8)[:, :320]
    at = {
        (side, tile): picture[pixel_of(CIRCLE[tile] * radius / 100, 320)].astype(int)
        for side, radius in sides.items()
        for tile in (95, 105, 115, 200)
    }
    for tile, tinted in ((95, {"left"}), (105, {"left", "right"}), (115, {"right"}), (200, set())):
        for side, color in zip(sides, COLORS, strict=True):
            expected = (ROAD + color) / 2 if side in tinted else np.array(ROAD)
            assert np.abs(at[side, tile] - expected).max() <= 2, (side, tile)


def test_the_start_is_a_line_across_the_road():
    picture = draw(LEVEL, state_of((200, 300)), 16)[:, :640]
    row, column = pixel_of(CIRCLE[0], 640)
    line = like(LINE, picture)
    assert line[row, column - 14 : column + 15].all() and not line[row + 8, column - 14 : column + 15].any()


def test_what_is_beyond_the_field_is_dark():
    sheet = Sheet.around(np.zeros(2), 10.0, 20)
    sheet.fill([[(-10, -10), (0, -10), (0, 10), (-10, 10)]], (200, 100, 50))
    assert (sheet.shown()[:, :10] == (200, 100, 50)).all() and (sheet.shown()[:, 11:] < 30).all()


def test_a_view_is_the_newest_picture_enlarged():
    obs = np.random.default_rng(0).integers(0, 256, (84, 84, 12), dtype=np.uint8)
    shown = view(obs, 3)
    assert shown.shape == (252, 252, 3) and shown.dtype == np.uint8
    np.testing.assert_array_equal(shown[1::3, 2::3], obs[..., 9:])


def test_the_terminal_shows_the_track_the_cars_and_how_far_they_are():
    state = state_of((0, 234), (range(117), range(47)))
    lines = Text.from_markup(terminal(LEVEL, state)).plain.split("\n")
    assert len(lines) == braille.LINES + 1 and {len(line) for line in lines[:-1]} == {2 * braille.LINES}
    assert lines[-1] == "▲ 25% of the lap   △ 10% of the lap   frame 240 of 1000"
    cells = np.array([list(line) for line in lines[:-1]])
    (row, column), (other_row, other_column) = np.argwhere(cells == "▲")[0], np.argwhere(cells == "▽")[0]
    assert abs(row - 12) <= 1 and abs(other_row - 12) <= 1 and column > 40 and other_column < 7
    dots = np.vectorize(lambda c: bin(ord(c) - braille.BLANK).count("1") if ord(c) >= braille.BLANK else 8)(
        cells
    )
    assert dots[10:14, 16:32].sum() == 0 and dots[:4, 16:32].sum() > 30  # a ring has a hole
    np.testing.assert_allclose(dots[2:6].sum(), dots[18:22].sum(), rtol=0.1)


def test_the_terminal_tints_what_each_car_has_driven_over():
    markup = terminal(LEVEL, state_of((400, 410), (range(100, 200), range(150, 250))))
    counts = [markup.count(f"[{style}]") for style in braille.STYLES]
    assert all(count > 3 for count in counts) and counts[0] == max(counts)
