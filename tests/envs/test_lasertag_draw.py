"""Pictures of LaserTag and films made of them."""

import subprocess

import imageio.v3 as imageio
import imageio_ffmpeg
import jax
import numpy as np
import pytest
from rich.text import Text

from maestro.analysis import video
from maestro.envs.lasertag import text
from maestro.envs.lasertag.draw import COLORS, SIGHT, draw, terminal, view
from maestro.envs.lasertag.game import LaserTag

RED, BLUE = (COLORS * 255 + 0.5).astype(np.uint8)
LEVEL = text.parse("time limit: 50\nA faces: right\nB faces: up\n#........\n.........\nA.......B\n")


@pytest.fixture(scope="module")
def start():
    return jax.device_get(LaserTag().reset(jax.random.key(0), LEVEL)[0])


def with_bolt(state, row, column, owner):
    bolts = np.zeros((17, 17), np.uint8)
    bolts[row, column] = 1 << 3 | owner << 2 | 1
    return state.replace(bolts=bolts)


def cell(image, scale, row, column):
    return image[row * scale : (row + 1) * scale, column * scale : (column + 1) * scale]


@pytest.mark.parametrize("scale", [1, 2, 7, 32])
def test_a_picture_has_so_many_pixels_per_cell(start, scale):
    image = draw(LEVEL, start, scale)
    assert image.shape == (5 * scale, 11 * scale, 3) and image.dtype == np.uint8


def test_walls_are_gray_and_floor_is_black_and_what_an_agent_sees_is_lighter(start):
    image = draw(LEVEL, start, 5)
    assert np.all(cell(image, 5, 0, 6) == 179) and np.all(cell(image, 5, 1, 6) == 0)
    assert np.all(cell(image, 5, 2, 3) > 30) and np.all(cell(image, 5, 0, 10) > 179)
    assert cell(image, 5, 2, 3)[0, 0, 0] > cell(image, 5, 2, 3)[0, 0, 2]  # the student's light is reddish


def test_agents_have_their_colors_and_point_ahead(start):
    image = draw(LEVEL, start, 40)
    for row, column, color in ((3, 1, RED), (3, 9, BLUE)):
        assert tuple(cell(image, 40, row, column)[20, 20]) == tuple(color)
    student = np.all(cell(image, 40, 3, 1) == RED, axis=-1)
    widths = student.sum(axis=0)  # facing right: tall at the left, a tip at the right
    assert widths[10] > widths[20] > widths[30] > 0


@pytest.mark.parametrize("facing", range(4))
def test_turning_the_agent_turns_its_triangle(start, facing):
    level = text.parse(
        "time limit: 9\nA faces: up\nB faces: up\n#######\n#######\n###A###\n#######\n######B\n"
    )
    state = jax.device_get(LaserTag().reset(jax.random.key(0), level)[0])
    shapes = []
    for turn in (0, facing):
        image = draw(level, state.replace(facing=np.array([turn, 0], np.int32)), 41)
        shapes.append(np.all(cell(image, 41, 3, 4) == RED, axis=-1))
    np.testing.assert_array_equal(shapes[1], np.rot90(shapes[0], -facing))


@pytest.mark.parametrize(("owner", "color"), [(0, RED), (1, BLUE)])
def test_a_bolt_is_a_disc_of_its_owners_color(start, owner, color):
    image = draw(LEVEL, with_bolt(start, 1, 6, owner), 40)
    disc = np.all(cell(image, 40, 1, 6) == color, axis=-1)
    assert disc.any() and np.array_equal(disc, disc.T) and np.array_equal(disc, disc[::-1])


def test_a_tagged_agent_fades_and_sees_nothing(start):
    tagged = draw(LEVEL, start.replace(alive=np.array([True, False])), 20)
    assert np.all(cell(tagged, 20, 3, 9)[10, 10] < BLUE)
    assert np.all(cell(tagged, 20, 1, 9)[5, 5] == 0)


def test_a_scale_below_one_is_refused(start):
    with pytest.raises(ValueError, match="scale: 0 "):
        draw(LEVEL, start, 0)


def test_the_terminal_shows_arrows_walls_and_bolts(start):
    lines = Text.from_markup(terminal(LEVEL, with_bolt(start, 1, 6, 0))).plain.split("\n")
    assert lines[0] == "██" * 11 and len(lines) == 5
    assert lines[3][2] == "▶" and lines[3][18] == "△" and lines[1][12] == "●"


def read_film(path):
    if path.suffix == ".gif":
        return imageio.imread(path, index=None)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, 36, 78, 3)


@pytest.mark.parametrize("ending", video.ENDINGS)
def test_a_film_has_all_frames_in_an_even_size(start, tmp_path, ending):
    frames = [draw(LEVEL, with_bolt(start, 1, column, 0), 7) for column in range(2, 10)]
    video.write(tmp_path / f"film{ending}", frames, speed=10)
    film = read_film(tmp_path / f"film{ending}")
    assert film.shape == (8, 36, 78, 3)
    for number, column in enumerate(range(2, 10)):
        redness = film[number, 7:14, :, 0].astype(int) - film[number, 7:14, :, 1]
        assert redness.max(axis=0).argmax() // 7 == column


def test_an_unknown_kind_of_film_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"film.avi' does not end in one of .gif, .mp4"):
        video.write(tmp_path / "film.avi", [])


def test_a_film_that_ffmpeg_cannot_write_is_an_os_error(start, tmp_path):
    frames = [draw(LEVEL, start, 8)] * 3
    with pytest.raises(OSError, match=r"^ffmpeg: .*No such file"):
        video.write(tmp_path / "nowhere" / "film.mp4", frames)


def test_a_view_is_what_the_agent_sees_with_itself_at_the_bottom_looking_up():
    obs = np.zeros((5, 5, 3), np.uint8)
    obs[4, 2, 0] = obs[0, 0, 0] = obs[2, 2, 1] = obs[1, 4, 2] = 1  # itself, the other, a bolt, a wall
    image, light = view(obs, 40), (SIGHT * 255 + 0.5).astype(np.uint8)
    assert image.shape == (200, 200, 3)
    own, other = (cell(image, 40, *where) for where in ((4, 2), (0, 0)))
    assert np.all(own[20, 20] == light) and np.all(other[20, 20] == light)
    wide = [int((np.abs(row.astype(int) - light).max(axis=1) < 20).sum()) for row in own[[10, 28]]]
    assert 0 < wide[0] < wide[1]  # it points up
    assert np.all(cell(image, 40, 2, 2)[20, 20] > 200) and np.all(cell(image, 40, 1, 4) > 150)
    assert np.all(cell(image, 40, 3, 3)[1:, 1:] < 100)


def test_who_is_tagged_sees_nothing():
    assert view(np.zeros((5, 5, 3), np.uint8), 4).max() == 0
    assert view(np.eye(5, dtype=np.uint8)[..., None] * [1, 0, 0], 4).min() > 0
