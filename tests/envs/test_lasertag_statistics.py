"""Random play reproduces the statistics measured on the original game."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.lasertag import maps
from maestro.envs.lasertag.game import LaserTag

ENV = LaserTag()
NUM_LEVELS, NUM_EPISODES = 4_000, 1_000  # the sizes of the original's samples, and of ours

# Of 4,000 generated levels, and of 1,000 episodes on each test level (student, opponent, mean length).
GENERATED = {"grid_size": 10.00, "wall_share": 0.236, "solvable": 0.820, "shortest_path": 7.12}
GENERATED |= {"student": 0.235, "opponent": 0.226, "tagged": 0.461, "tagged if solvable": 0.562}
GENERATED |= {"length": 212.4}
TEST_LEVELS = {
    "Cross": (0.122, 0.100, 324.0),
    "FourRooms": (0.021, 0.028, 246.5),
    "SixteenRooms": (0.003, 0.002, 249.8),
    "Ruins": (0.102, 0.113, 234.4),
    "Ruins2": (0.112, 0.111, 233.3),
    "Star": (0.000, 0.000, 350.0),
    "LargeCorridor": (0.021, 0.017, 346.1),
    "Maze1": (0.000, 0.000, 350.0),
    "Maze2": (0.000, 0.000, 350.0),
    "Arena1": (0.102, 0.088, 186.6),
    "Arena2": (0.129, 0.130, 178.3),
    "Corridor1": (0.136, 0.161, 177.4),
    "Corridor2": (0.261, 0.276, 154.1),
}


@jax.jit
def random_play(key, level):
    """One episode on each level with uniform actions: (reward [B, 2], length [B])."""
    num = level.time_limit.shape[0]
    reset_key, key = jax.random.split(key)
    start, _ = jax.vmap(ENV.reset)(jax.random.split(reset_key, num), level)

    def going_on(carry):
        return ~jnp.all(carry[2])

    def step(carry):
        key, state, over, reward, length = carry
        key, action_key, step_key = jax.random.split(key, 3)
        actions = jax.random.randint(action_key, (num, 2), 0, ENV.action.num)
        keys = jax.random.split(step_key, num)
        state, _, gained, terminated, truncated, _ = jax.vmap(ENV.step)(keys, level, state, actions)
        reward += jnp.where(over[:, None], 0, gained)
        length += ~over
        return key, state, over | terminated | truncated, reward, length

    zero = (jnp.zeros(num, bool), jnp.zeros((num, 2)), jnp.zeros(num, jnp.int32))
    _, _, _, reward, length = jax.lax.while_loop(going_on, step, (key, start, *zero))
    return reward, length


def assert_same_rate(name, ours, theirs, num):
    """Within 4 standard errors of the difference of two samples of `num`."""
    error = math.sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / num)
    assert abs(ours - theirs) <= 4 * max(error, 1 / num), (name, ours, theirs)


def assert_same_mean(name, sample, theirs, least=0.0):
    """Within 4 standard errors of the difference, the other sample being as large and as spread as ours."""
    error = np.std(sample) * math.sqrt(2 / len(sample))
    assert abs(np.mean(sample) - theirs) <= 4 * max(error, least), (name, np.mean(sample), theirs)


def of_generated_levels(key):
    """What is measured of 4,000 generated levels and of an episode on each."""
    level_key, play_key = jax.random.split(key)
    level = jax.jit(jax.vmap(ENV.sample_level))(jax.random.split(level_key, NUM_LEVELS))
    measured = dict(jax.jit(jax.vmap(ENV.statistics))(level))
    reward, length = random_play(play_key, level)
    won = reward > 0
    measured |= {"student": won[:, 0], "opponent": won[:, 1], "tagged": won.any(axis=1), "length": length}
    return {name: np.asarray(values, float) for name, values in measured.items()}


def test_4000_generated_levels_and_random_play_on_them_are_as_in_the_original():
    measured = of_generated_levels(jax.random.key(0))
    for name in ("student", "opponent", "tagged", "solvable"):
        assert_same_rate(name, measured[name].mean(), GENERATED[name], NUM_LEVELS)
    for name in ("grid_size", "wall_share", "length"):
        assert_same_mean(name, measured[name], GENERATED[name])
    assert np.median(measured["length"]) == 300
    connected = measured["solvable"] > 0
    assert_same_mean("shortest_path", measured["shortest_path"][connected], GENERATED["shortest_path"])
    tagged = measured["tagged"][connected].mean()
    assert_same_rate("tagged if solvable", tagged, GENERATED["tagged if solvable"], connected.sum())


@pytest.mark.long
def test_1000_random_episodes_on_each_test_level_end_as_in_the_original():
    level = jax.tree.map(lambda *xs: jnp.stack(xs), *[maps.LEVELS.load(name) for name in TEST_LEVELS])
    repeated = jax.tree.map(lambda x: jnp.repeat(x, NUM_EPISODES, axis=0), level)
    reward, length = random_play(jax.random.key(0), repeated)
    rewards = np.asarray(reward).reshape(-1, NUM_EPISODES, 2)
    lengths = np.asarray(length).reshape(-1, NUM_EPISODES)
    for number, (name, (student, opponent, mean_length)) in enumerate(TEST_LEVELS.items()):
        won, timed_out = rewards[number] > 0, (rewards[number] == 0).all(axis=1)
        assert_same_rate(name, won[:, 0].mean(), student, NUM_EPISODES)
        assert_same_rate(name, won[:, 1].mean(), opponent, NUM_EPISODES)
        assert_same_rate(name, timed_out.mean(), 1 - student - opponent, NUM_EPISODES)
        # One tag more moves the mean length by at most the limit over the number of episodes.
        least = int(level.time_limit[number]) / NUM_EPISODES
        assert_same_mean(name, lengths[number], mean_length, least)
