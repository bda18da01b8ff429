"""Which game is filmed, and that a film shows all of it."""

import imageio.v3 as imageio
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, students
from maestro.analysis import film, video
from maestro.envs.players import Random
from maestro.evaluation.play import episode
from maestro.games import Drawing
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


def test_the_longest_of_the_games_that_the_student_has_won_is_filmed(tmp_path, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(video, "write", lambda path, frames: shown.extend(frames))
    draw = Drawing(picture=lambda level, state, scale: np.array([level.number, state.time]))
    film.film_student(tmp_path / "film.gif", experiment(env=GAME, agent=AGENT), draw, students([2], [1]))
    keys = [jax.random.fold_in(jax.random.key(film.LAST_KEY), i) for i in range(film.GAMES)]
    numbers = {int(GAME.sample_level(key).number) for key in keys}
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
