"""Which game is filmed, and that a film shows all of it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import imageio.v3 as imageio
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, students
from maestro import cli
from maestro.analysis import film, video
from maestro.envs.players import Random
from maestro.evaluation.opponents import seed_keys
from maestro.evaluation.play import episode
from maestro.games import Drawing
from maestro.runs import summary
from probes import Level, RockPaperScissors, experiment


class LongerIfLost(RockPaperScissors):
    """The first seat wins on levels of even number, and loses much later on the others."""

    def steps(self, level):
        return level.number % 2 * 90 + level.number // 2 + 1

    def over(self, level, state, reward):
        return state.time >= self.steps(level)

    def reward(self, level, state, actions):
        won = (state.time == self.steps(level) - 1) * (1 - level.number % 2 * 2)
        return jnp.stack([won, -won])


GAME = LongerIfLost()


def test_a_game_has_one_state_more_than_it_has_steps() -> None:
    player, level = Random(GAME.action), Level(jnp.int32(6), jnp.int32(9))
    game = episode(jax.random.key(1), GAME, level, player, player, 9)
    assert [int(state.time) for state in film.states_of(game)] == [0, 1, 2, 3, 4]


def film_keys():
    """Of each of the games its level's key and its own."""
    parent = jax.random.key(film.FILM_KEY)
    return [jax.random.split(jax.random.fold_in(parent, i)) for i in range(film.GAMES)]


def test_a_films_games_have_other_dice_than_its_levels_and_than_the_summary(tmp_path, monkeypatch) -> None:
    played = []
    real = film.episode

    def watched(key, env, level, *rest):
        played.append(jax.random.key_data(key).tolist())
        return real(key, env, level, *rest)

    monkeypatch.setattr(film, "episode", watched)
    monkeypatch.setattr(video, "write", lambda path, frames: None)
    draw = Drawing(picture=lambda level, state, scale: np.array([level.number, state.time]))
    film.film_student(tmp_path / "film.gif", experiment(env=GAME, agent=AGENT), draw, students([2], [1]))
    drawn = [jax.random.key_data(level_key).tolist() for level_key, _ in film_keys()]
    assert played == [jax.random.key_data(key).tolist() for _, key in film_keys()]
    last = seed_keys(jax.random.key(summary.LAST_KEY), 0, film.GAMES)
    of_summary = jax.random.key_data(jax.vmap(jax.random.split)(last)).reshape(-1, 2).tolist()
    everything = [tuple(key) for key in (*played, *drawn, *of_summary)]
    assert len(set(everything)) == len(everything)


def test_the_longest_of_the_games_that_the_student_has_won_is_filmed(tmp_path, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(video, "write", lambda path, frames: shown.extend(frames))
    draw = Drawing(picture=lambda level, state, scale: np.array([level.number, state.time]))
    film.film_student(tmp_path / "film.gif", experiment(env=GAME, agent=AGENT), draw, students([2], [1]))
    numbers = {int(GAME.sample_level(level_key).number) for level_key, _ in film_keys()}
    won = [number for number in numbers if number % 2 == 0]
    assert 1 < len(won) < len(numbers)
    steps = max(won) // 2 + 1
    times = [*range(steps + 1), *[steps] * film.PAUSE]
    np.testing.assert_array_equal(shown, [[max(won), time] for time in times])


@pytest.mark.parametrize(("speed", "milliseconds"), [(10, 100), (25, 40)])
def test_a_film_is_as_fast_as_asked_and_repeats_a_row_to_be_even(tmp_path, speed, milliseconds) -> None:
    frames = [np.full((5, 8, 3), 40 * i, np.uint8) for i in range(4)]
    frames[0][-1] = 255
    video.write(tmp_path / "film.gif", frames, speed)
    read = imageio.imread(tmp_path / "film.gif", index=None)
    assert read.shape == (4, 6, 8, 3) and (read[0, -2:] == 255).all() and (read[0, :4] == 0).all()
    assert imageio.immeta(tmp_path / "film.gif")["duration"] == milliseconds


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """While entered, no file grows beyond so many bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1000])
@pytest.mark.parametrize("name", ["film.gif", "film.mp4"])
@pytest.mark.parametrize("older", [None, b"an older film"])
def test_a_film_that_does_not_fit_leaves_nothing(tmp_path, name, older, room) -> None:
    frames = np.random.default_rng(0).integers(0, 255, (4, 64, 64, 3), np.uint8)
    if older is not None:
        (tmp_path / name).write_bytes(older)
    with pytest.raises(OSError), small_files(room):
        video.write(tmp_path / name, frames)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({name: older} if older else {})


def test_an_image_that_does_not_fit_leaves_nothing_and_is_a_mistake(tmp_path, capsys) -> None:
    with small_files(50):
        code = cli.run(["levels", "show", "Cross", "--image", str(tmp_path / "cross.png")])
    assert code == 2 and not list(tmp_path.iterdir())
    assert "--image: " in (told := capsys.readouterr().err) and "cannot be written (File too large)" in told


def test_a_film_through_a_link_goes_where_the_link_leads(tmp_path) -> None:
    (tmp_path / "link.gif").symlink_to("film.gif")
    video.write(tmp_path / "link.gif", np.stack([np.full((8, 8, 3), shade, np.uint8) for shade in (0, 255)]))
    assert (tmp_path / "link.gif").is_symlink() and len(
        imageio.imread(tmp_path / "film.gif", index=None)
    ) == 2
