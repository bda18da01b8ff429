"""Games outside training: seats, counting, and shares."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evaluation_players import Guesser
from maestro.envs.base import Discrete
from maestro.envs.players import Random, Sight
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import both_seats, episode, step_bound
from maestro.evaluation.play import play as play_games
from maestro.evaluation.statistics import shares
from probes import QUICK, Level, Probe, Race, RockPaperScissors, SmallAgent, image

STEPS = 8


@dataclass(frozen=True)
class FirstSeatWins(Probe):
    """The first seat gains 1 in the first step, which ends the game, and loses 5 in each later one."""

    zero_sum = True
    action = Discrete(3)

    def reward(self, level, state, actions):
        gain = jnp.where(state.time == 0, 1, -5)
        return jnp.stack([gain, -gain])


@dataclass(frozen=True)
class LevelDecides(FirstSeatWins):
    """The first seat wins on levels of even number, the second on the others."""

    def reward(self, level, state, actions):
        gain = jnp.where(level.number % 2 == 0, 1, -1)
        return jnp.stack([gain, -gain])


@dataclass(frozen=True)
class Shaped(FirstSeatWins):
    """In training the second seat wins; as it is judged, the first."""

    sign: int = -1

    def judged(self):
        return Shaped(sign=1)

    def reward(self, level, state, actions):
        return self.sign * super().reward(level, state, actions)


@dataclass(frozen=True)
class NobodyWins(FirstSeatWins):
    def reward(self, level, state, actions):
        return jnp.zeros(2)


def levels(count, seed=2):
    return jax.vmap(Race().sample_level)(jax.random.split(jax.random.key(seed), count))


@partial(jax.jit, static_argnames=("env", "count"), compiler_options=QUICK)
def play(env, a, b, count=8):
    return both_seats(jax.random.key(7), env, a, b, levels(count), STEPS)


def test_games_are_played_as_they_are_judged() -> None:
    np.testing.assert_array_equal(play(Shaped(), Guesser(0.5), Guesser(0.6)), [1, -1] * 4)
    level = jax.tree.map(lambda x: x[0], levels(1))
    recorded = episode(jax.random.key(0), Shaped(), level, Guesser(0.5), Guesser(0.6), STEPS)
    assert int(recorded.outcome) == 1 and recorded.rewards[0].tolist() == [1, -1]


def test_seats_are_swapped_on_every_second_level() -> None:
    np.testing.assert_array_equal(play(FirstSeatWins(), Guesser(0.5), Guesser(0.6)), [1, -1] * 4)


def test_what_would_follow_the_end_of_an_episode_counts_for_nothing() -> None:
    np.testing.assert_array_equal(play(FirstSeatWins(), Guesser(0.5), Guesser(0.5)), [1, -1] * 4)
    np.testing.assert_array_equal(play(FirstSeatWins(length=2), Guesser(0.5), Guesser(0.5)), [-1, 1] * 4)


def test_a_game_without_a_lead_is_a_draw() -> None:
    np.testing.assert_array_equal(shares(play(NobodyWins(), Guesser(0.5), Guesser(0.5))), [0, 1, 0])


@dataclass(frozen=True)
class EqualFractions(FirstSeatWins):
    """Until the time limit the second seat earns in reverse what the first does: fractions."""

    length: int = 1000

    def reward(self, level, state, actions):
        each = 10 / (level.number + 3.0) ** jnp.arange(5)
        return jnp.stack([each[state.time], each[level.time_limit - 1 - state.time]])


def test_equal_fractions_in_another_order_are_a_draw() -> None:
    results = play(EqualFractions(), Guesser(0.5), Guesser(0.5), count=64)
    np.testing.assert_array_equal(results, np.zeros(64))


def test_a_recorded_game_of_equal_fractions_is_a_draw() -> None:
    record = jax.vmap(lambda level: episode(jax.random.key(0), EqualFractions(), level, *players, STEPS))
    players = Guesser(0.5), Guesser(0.5)
    np.testing.assert_array_equal(record(levels(64)).outcome, np.zeros(64))


@dataclass(frozen=True)
class ManyFractions(FirstSeatWins):
    """A thousand steps of which the first seat earns a third each, the second all at once at the end."""

    length: int = 2000

    def reward(self, level, state, actions):
        return jnp.stack([jnp.float32(1 / 3), jnp.where(state.time == 999, 1000 / 3, 0.0)])


def test_a_long_sum_of_fractions_loses_nothing() -> None:
    bare = Level(jnp.zeros(2, int), jnp.array([1000, 1000]))
    keys = jax.random.split(jax.random.key(0), 2)
    player = Random(Discrete(3))
    found = play_games(keys, ManyFractions(), player, player, bare, 1000)
    np.testing.assert_allclose(found.score, [[1000 / 3, 1000 / 3]] * 2, rtol=2e-7)
    assert found.outcome.tolist() == [0, 0] and found.length.tolist() == [1000, 1000]


def test_games_of_different_lengths_are_each_played_to_their_end() -> None:
    limits = jnp.array([1, 7, 10, 11, 33])
    keys, player = jax.random.split(jax.random.key(0), 5), Random(Discrete(3))
    found = play_games(keys, NobodyWins(length=100), player, player, Level(jnp.zeros(5, int), limits), 50)
    assert found.length.tolist() == limits.tolist()


def test_a_game_is_the_episode_of_its_key() -> None:
    """What is counted is what can be filmed."""
    a, b, keys = Guesser(0.6), Guesser(0.4), jax.random.split(jax.random.key(3), 16)
    found = play_games(keys, Race(), a, b, levels(16), STEPS)
    for i in range(16):
        level = jax.tree.map(lambda x, i=i: x[i], levels(16))
        one = episode(keys[i], Race(), level, a, b, STEPS)
        assert (one.outcome, one.length) == (found.outcome[i], found.length[i])
    assert len(set(found.outcome.tolist())) > 1 < len(set(found.length.tolist()))


def test_each_result_belongs_to_the_level_of_its_place() -> None:
    seat = np.tile([1, -1], 4)
    favored = np.where(levels(8).number % 2 == 0, 1, -1)
    np.testing.assert_array_equal(play(LevelDecides(), Guesser(0.5), Guesser(0.5)), seat * favored)
    assert set(favored[::2]) == set(favored[1::2]) == {1, -1}


def test_the_stronger_player_wins_more_from_both_seats() -> None:
    results = np.asarray(play(Race(), Guesser(0.8), Guesser(0.3), count=512))
    for seat in (results[::2], results[1::2]):
        assert np.mean(seat == 1) > np.mean(seat == -1) + 0.3


def test_players_and_the_game_draw_by_keys_of_their_own() -> None:
    """Two who are undecided do not always do the same, nor the same at every step or on every level."""
    player, bare = Random(Discrete(3)), Level(jnp.int32(0), jnp.int32(40))
    games = [
        episode(jax.random.key(seed), RockPaperScissors(40), bare, player, player, 40) for seed in (0, 1)
    ]
    one, other = (np.asarray(game.actions) for game in games)
    assert 0.1 < np.mean(one[:, 0] == one[:, 1]) < 0.6
    assert (one != other).any() and (one[1:] != one[:-1]).any(axis=1).mean() > 0.5


def test_equal_players_win_equally_often() -> None:
    """Mean 0 within 4 standard errors."""
    player = trained(SmallAgent(), SmallAgent().init(jax.random.key(0)))
    results = np.asarray(play(Race(), player, player, count=1024))
    assert np.abs(results).mean() > 0.5
    assert abs(results.mean()) < 4 * results.std() / results.size**0.5


def test_shares_add_up_to_one_along_the_last_axis() -> None:
    found = shares(jnp.array([[1, 0, -1, -1], [1, 1, 1, 0]]))
    np.testing.assert_allclose(found, [[0.25, 0.25, 0.5], [0.75, 0.25, 0]])


@pytest.mark.parametrize(("limits", "steps"), [([1, 2], 50), ([50, 3], 50), ([3, 51], 100), ([300], 300)])
def test_the_bound_of_steps_is_beyond_every_time_limit(limits, steps) -> None:
    assert step_bound(Level(jnp.zeros(len(limits), int), jnp.array(limits))) == steps


def test_an_odd_number_of_levels_is_refused() -> None:
    with pytest.raises(ValueError, match="3 levels"):
        play(Race(), Guesser(0.5), Guesser(0.5), count=3)


def test_a_trained_player_acts_by_its_policy() -> None:
    """Logits that leave no doubt give that action, whatever was seen."""
    agent = SmallAgent()
    params = agent.init(jax.random.key(0))
    params["actor"]["Dense_1"]["bias"] = jnp.array([0.0, 0.0, 50.0])
    player = trained(agent, params)
    keys = jax.random.split(jax.random.key(1), 32)
    obs, sight = image(1, 0, 1)[0], Sight(Level(jnp.int32(0), jnp.int32(5)), None, 0)
    _, actions = jax.vmap(lambda k: player.act(k, player.start(), obs, sight))(keys)
    assert (actions == 2).all()
