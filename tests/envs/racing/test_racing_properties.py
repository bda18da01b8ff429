"""What must hold of racing whatever the track and the drive."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.base import judged
from maestro.envs.racing.game import COST, LAP, Racing
from maestro.envs.racing.levels import is_drivable

ENV = judged(Racing())
TRACKS, STEPS = 4, 4
sample = jax.jit(jax.vmap(ENV.sample_level))


def drive(keys, level, state, actions):
    """One game: (states, what all steps returned but for them), actions [T, 2, 3]."""

    def step(state, given):
        key, action = given
        state, *told = ENV.step(key, level, state, action)
        return state, (state, *told)

    return jax.lax.scan(step, state, (keys, actions))[1]


drive_one, drive_all = jax.jit(drive), jax.jit(jax.vmap(drive))
reset_one, reset_all = jax.jit(ENV.reset), jax.jit(jax.vmap(ENV.reset))


@pytest.fixture(scope="module")
def games():
    """Random drives: (levels, first states, keys, actions, what came of them), each [TRACKS, ...]."""
    level_keys, reset_keys, step_keys, action_key = jax.random.split(jax.random.key(5), 4)
    levels = sample(jax.random.split(level_keys, TRACKS))
    states, _ = reset_all(jax.random.split(reset_keys, TRACKS), levels)
    keys = jax.random.split(step_keys, (TRACKS, STEPS))
    actions = (
        jax.random.uniform(action_key, (TRACKS, STEPS, 2, 3)) * jnp.array([1.0, 1.0, 0.1])[None, None, None]
    )
    return levels, states, keys, actions, jax.device_get(drive_all(keys, levels, states, actions))


def same(one, other, **tolerance):
    """Whether two trees hold the same numbers."""
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, **tolerance), one, other)


def test_the_same_key_gives_the_same_drive_to_the_bit(games):
    levels, states, keys, actions, played = games
    again = jax.device_get(drive_all(keys, levels, states, actions))
    jax.tree.map(np.testing.assert_array_equal, played, again)


def test_many_games_at_once_are_each_game_by_itself(games):
    levels, states, keys, actions, played = games
    for i in range(2):
        level, state = jax.tree.map(lambda x, i=i: x[i], (levels, states))
        after, obs, *rest = jax.device_get(drive_one(keys[i], level, state, actions[i]))
        whole, pictures, *others = jax.tree.map(lambda x, i=i: x[i], played)
        same(after.replace(seen=()), whole.replace(seen=()), atol=1e-3)
        same(rest, others, atol=1e-3)
        assert np.mean(obs != pictures) < 1e-3  # rounding may move an edge by a pixel


def exchanged(state):
    """The same moment with the two players in each other's seats."""
    seats = jax.tree.map(lambda x: x[::-1], state.replace(frame=()))
    return seats.replace(frame=state.frame)


def test_exchanged_players_exchange_what_happens(games):
    levels, states, keys, actions, _ = games
    level, state = jax.tree.map(lambda x: x[0], (levels, states))
    coins = np.asarray(jax.vmap(jax.random.bernoulli)(keys.ravel()))
    heads, tails = (keys.ravel()[np.flatnonzero(coins == side)[:1].repeat(STEPS)] for side in (True, False))
    before, obs, reward, *ends, info = drive_one(heads, level, state, actions[0])
    # Who wins a tie is exchanged, too.
    after, seen, gained, *over, told = drive_one(tails, level, exchanged(state), actions[0][:, ::-1])
    np.testing.assert_allclose(before.cars.position, after.cars.position[:, ::-1], atol=1e-3)
    np.testing.assert_array_equal(before.visited, after.visited[:, ::-1])
    assert np.asarray(before.visited)[-1].any()
    np.testing.assert_allclose(reward, gained[:, ::-1], atol=1e-3)
    same(ends, over)
    same(info, {name: x[:, ::-1] for name, x in told.items()}, atol=1e-3)
    assert np.mean(np.asarray(obs) != np.asarray(seen)[:, ::-1]) < 1e-3


def test_tiles_pay_once_to_the_first_and_half_to_the_second_whatever_happens(games):
    *_, (states, _, reward, terminated, truncated, info) = games
    visited, frames = states.visited[:, -1], states.frame[:, -1]
    assert not terminated.any() and not truncated.any() and (frames == 8 * STEPS).all()
    paid = info["score"].sum(axis=(1, 2)) + 2 * COST * frames
    share = visited.any(axis=1).mean(axis=1) + visited.all(axis=1).mean(axis=1) / 2
    np.testing.assert_allclose(paid, LAP * share, atol=1e-2)
    np.testing.assert_allclose(info["tiles"].sum(axis=1), visited.mean(axis=2), atol=1e-5)
    np.testing.assert_array_equal(reward, info["score"])


def test_what_a_step_tells_has_always_the_same_names_and_is_finite_and_in_bounds(games):
    *_, (states, obs, _, _, _, info) = games
    assert set(info) == {"score", "tiles", "grass", "backwards"}
    for name, values in info.items():
        assert values.shape == (TRACKS, STEPS, 2) and np.isfinite(values).all(), name
    for name, most in (("tiles", 1), ("grass", 8), ("backwards", 8)):
        assert (info[name] >= 0).all() and (info[name] <= most).all()
    assert obs.dtype == np.uint8
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(states.cars))


def test_edited_tracks_of_edited_tracks_are_drivable_and_can_be_measured():
    levels = sample(jax.random.split(jax.random.key(8), 64))
    edit = jax.jit(jax.vmap(ENV.edit))
    for generation in range(6):
        edited = edit(jax.random.split(jax.random.key(generation), 64), levels)
        assert jax.tree.map(lambda x: (x.shape, x.dtype), edited) == jax.tree.map(
            lambda x: (x.shape, x.dtype), levels
        )
        assert (np.asarray(edited.center) != np.asarray(levels.center)).any(axis=(1, 2)).all()
        levels = edited
    assert jax.vmap(is_drivable)(levels.center, levels.half_side).all()
    measured = jax.jit(jax.vmap(ENV.statistics))(levels)
    for name, values in measured.items():
        assert values.shape == (64,) and np.isfinite(values).all(), name
    state, obs = reset_one(jax.random.key(1), jax.tree.map(lambda x: x[0], levels))
    assert np.asarray(state.touching).all() and obs.dtype == np.uint8
