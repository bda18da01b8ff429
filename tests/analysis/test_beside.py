"""Beside the pictures of a film: what each player sees and expects."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import ImageDraw

from ledger import AGENT, Always, certain
from maestro.analysis import beside, caption, film
from maestro.analysis.beside import Beside
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import episode
from maestro.evaluation.replay import minds
from maestro.games import Drawing
from probes import Level, Race

PLAIN = Drawing()
RED, BLUE = (255, 0, 0), (0, 0, 255)


def square(level, state, scale):
    """A picture of 4 x 6 cells."""
    return np.full((4 * scale, 6 * scale, 3), 10 * int(state.time), np.uint8)


def shaded(obs, scale):
    """A view of 2 x 2 cells."""
    return np.full((2 * scale, 2 * scale, 3), int(obs), np.uint8)


def has(picture, color, tolerance=60):
    """Whether any pixel is nearly of a color."""
    return bool((np.abs(picture.astype(int) - np.array(color)).max(axis=-1) < tolerance).any())


def of(values, draw=PLAIN, obs=None):
    """Two players who expect some values."""
    values = np.array(values, float)
    obs = np.zeros((len(values) + 1, 2, 3)) if obs is None else obs
    return Beside(draw, ("one", "other"), obs, values)


def test_an_observation_of_any_form_is_a_picture():
    grid = np.array([[[0.0], [1.0]], [[0.5], [0.0]]])
    shown = beside.heat_map(grid, (0.0, 1.0))
    assert shown.shape == (2, 2, 3) and shown[0, 1, 0] == 242 and shown[0, 0, 0] == 12
    channels = np.zeros((2, 2, 3))
    channels[0, 0, 2] = 1
    assert beside.heat_map(channels, (0.0, 1.0))[0, 0].tolist() == [12, 12, 242]
    assert beside.heat_map(np.ones((2, 5, 7)), (0.0, 1.0))[..., 1].tolist() == [[242] * 5] * 2
    rows = beside.heat_map(np.arange(10.0), (0.0, 9.0))[..., 0]
    assert rows.shape == (2, beside.ROW) and rows[1, 1] == 242 and (rows[1, 2:] == 12).all()
    tree = {"a": np.zeros(2), "b": np.ones((2, 2))}
    assert beside.heat_map(tree, (0.0, 1.0))[..., 0].tolist() == [[12, 12, 242, 242, 242, 242]]
    assert (beside.heat_map(np.float32(3), (3.0, 3.0)) == 12).all()  # nothing ever changes


@pytest.mark.parametrize("draw", [PLAIN, Drawing(view=shaded)])
def test_each_player_sees_its_own_view(draw):
    obs = np.array([[0, 200], [200, 0]])  # after no step the second sees light, after one the first
    column = [of([[0, 0]], draw, obs).column(t) for t in range(2)]
    top, bottom = (slice(i * len(column[0]) // 2 + 40, (i + 1) * len(column[0]) // 2 - 40) for i in (0, 1))
    middle = beside.WIDTH // 2
    assert column[0].shape[1] == beside.WIDTH
    assert column[0][top, middle].max() < 60 < 150 < column[0][bottom, middle].min()
    assert column[1][bottom, middle].max() < 60 < 150 < column[1][top, middle].min()


def test_values_grow_over_time_in_the_colors_of_the_seats():
    players = of([[0.5, np.nan]] * 5, Drawing(colors=("#ff0000", "#0000ff")))
    charts = [players.chart(t, 300)[caption.MARGIN + beside.SMALL :] for t in range(6)]
    reach = [np.flatnonzero((chart[..., 0] > 180) & (chart[..., 1] < 60)).size for chart in charts]
    assert reach == sorted(reach) and reach[0] > 0 and reach[4] == reach[5] > 3 * reach[0]
    assert not has(charts[-1], BLUE)
    assert of([[np.nan, np.nan]] * 5).chart(3, 300) is None


@pytest.mark.parametrize("ends", [(-80.0, 0.1), (-0.1, 80.0), (-12345.6, 0.1), (-1.0, 1.0)])
def test_labels_of_a_range_lie_neither_upon_each_other_nor_upon_the_lines(ends, monkeypatch):
    boxes, begins = [], []

    def text(pen, place, told, ink, font, anchor):
        boxes.append(pen.textbbox(place, told, font, anchor))

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", text)
    monkeypatch.setattr(ImageDraw.ImageDraw, "line", lambda pen, points, *more: begins.append(points[0][0]))
    beside.curves(np.zeros((1, 2)), 5, ends, beside.COLORS, 300)
    boxes.sort(key=lambda box: box[1])
    assert len(begins) == 3 and len(boxes) == (3 if ends == (-1.0, 1.0) else 2)
    assert all(above[3] < below[1] for above, below in pairwise(boxes))
    assert max(right for _, _, right, _ in boxes) < min(begins)


def test_the_number_beside_a_name_is_the_value_of_the_state_that_is_shown():
    players = of([[0.25, np.nan], [-0.5, np.nan], [0.75, np.nan]])
    for t, told in enumerate(["+0.25", "-0.50", "+0.75", "+0.75"]):
        words = [f"A: one, value {told}", "B: other, no value"]
        expected = [
            caption.line(text, 200, color, beside.SMALL)
            for text, color in zip(words, beside.COLORS, strict=True)
        ]
        np.testing.assert_array_equal(beside.numbers(players, t, 400), np.concatenate(expected, axis=1))


def test_a_line_of_words_has_one_height_and_stays_inside():
    short, long = caption.line("won", 200), caption.line("a very long name " * 10, 200)
    assert short.shape == long.shape and has(long, caption.INK)
    assert (long[:, -caption.MARGIN // 2 :] == np.array(caption.PAPER)).all()
    assert (caption.line("word", 4) == np.array(caption.PAPER)).all()


def test_a_film_with_views_shows_every_state_and_ends_with_who_won():
    level, steps = Level(jnp.int32(7), jnp.int32(5)), 8
    arguments = (jax.random.key(0), Race(), level, trained(AGENT, certain(1, 0.5)), Always(1), steps)
    game, told = episode(*arguments), minds(*arguments)
    draw = Drawing(picture=square, seats=("red", "blue"), colors=("#ff0000", "#0000ff"))
    frames = list(film.frames_with_views(draw, level, game, told, ("student", "script")))
    assert len(frames) == int(game.length) + 1 == 6
    assert len({frame.shape for frame in frames}) == 1 and frames[0].shape[1] == 480 + beside.WIDTH
    assert [int(frame[200, 200, 0]) for frame in frames] == [0, 10, 20, 30, 40, 50]
    assert all(has(frame[-160:], RED) for frame in frames)  # its value; the script has none
    bottom = len(caption.line("", 10))
    ended = [caption.line(text, frames[0].shape[1]) for text in ("step 4", "a draw after 5 steps")]
    np.testing.assert_array_equal(frames[-2][-bottom:], ended[0])
    np.testing.assert_array_equal(frames[-1][-bottom:], ended[1])


def test_a_picture_that_is_too_large_loses_its_edges():
    picture = np.full((30, 10, 3), 200, np.uint8)
    framed = beside.framed(picture, (20, 20))
    assert framed.shape == (20, 20, 3) and (framed[:, 5:15] == 200).all() and (framed[:, :5] < 30).all()
