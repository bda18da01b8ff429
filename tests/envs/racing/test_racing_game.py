"""The rules of racing: who gets what for a tile, what costs, when it ends, what is seen."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.base import judged
from maestro.envs.racing import car, place, track
from maestro.envs.racing.game import COST, LOST, Racing, controls, tile_rewards
from maestro.envs.racing.levels import Level

ENV = Racing()
RESET, STEP = jax.jit(ENV.reset), jax.jit(ENV.step)
GAS = jnp.array([[0.5, 0.4, 0.0]] * 2)
REST = jnp.array([[0.5, 0.0, 0.0]] * 2)
KEY = jax.random.key(3)


def ring(radius: float = 100.0, frames: int = 1000) -> Level:
    """A round track, driven counter-clockwise."""
    angle = np.linspace(0, 2 * np.pi, 468, endpoint=False)
    center = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Level(jnp.asarray(center, jnp.float32), jnp.float32(333.0), jnp.int32(frames))


def put(state, seat: int, position, angle: float):
    """A car somewhere else, at rest."""
    moved = car.start(jnp.asarray(position, jnp.float32), jnp.float32(angle))
    return state.replace(cars=jax.tree.map(lambda all, one: all.at[seat].set(one), state.cars, moved))


def test_an_action_is_steering_gas_and_brake():
    actions = jnp.array([[0.0, 0.25, 1.0], [1.5, -1.0, 0.5]])
    np.testing.assert_allclose(controls(actions), [[-1, 0.25, 1], [1, 0, 0.5]])


def test_the_first_on_a_tile_gets_all_and_the_second_half():
    visited = jnp.array([[True, False, False, False], [False, True, False, False]])
    new = jnp.array([[False, True, True, False], [True, False, False, False]])
    for first in (False, True):
        np.testing.assert_allclose(tile_rewards(visited, new, jnp.bool_(first)), [125 + 250, 125])


def test_in_a_tie_one_of_the_two_was_first():
    none, new = jnp.zeros((2, 4), bool), jnp.array([[True, False, False, False]] * 2)
    np.testing.assert_allclose(tile_rewards(none, new, jnp.bool_(False)), [250, 125])
    np.testing.assert_allclose(tile_rewards(none, new, jnp.bool_(True)), [125, 250])


def test_the_cars_start_beside_the_first_tile_and_face_along_the_road():
    level, sides = ring(), set()
    for number in range(8):
        state, _ = RESET(jax.random.key(number), level)
        places = np.asarray(jax.vmap(car.origin)(state.cars))
        np.testing.assert_allclose(np.sort(places[:, 0]), [97, 103], atol=1e-4)
        np.testing.assert_allclose(places[:, 1], 0, atol=1e-4)
        np.testing.assert_allclose(np.sin(state.cars.heading), 0, atol=1e-3)
        assert np.asarray(state.touching).all() and not np.asarray(state.visited).any()
        sides.add(bool(places[0, 0] > places[1, 0]))
    assert sides == {False, True}


def test_driving_on_is_rewarded_and_standing_costs():
    level = ring()
    state, _ = RESET(KEY, level)
    moving = resting = state
    total, costs = np.zeros(2), np.zeros(2)
    for _ in range(12):
        moving, *_, info = STEP(KEY, level, moving, GAS)
        total += info["score"]
        resting, *_, idle = STEP(KEY, level, resting, REST)
        costs += idle["score"]
    under = np.asarray(resting.visited).sum()
    np.testing.assert_allclose(costs.sum(), -2 * 12 * 8 * COST + 1000 / 468 * 0.75 * under, atol=1e-3)
    assert (total > costs + 5).all()
    tiles = np.asarray(moving.visited).sum(axis=1)
    assert (tiles > 5).all() and (tiles < 60).all()


def test_what_is_scored_is_not_shaped():
    level = ring()
    state, _ = RESET(KEY, level)
    state = put(state, 1, (0.0, 0.0), 0.0)  # on grass
    _, _, reward, *_, info = STEP(KEY, level, state, REST)
    assert info["grass"].tolist() == [0, 8]
    np.testing.assert_allclose(reward[0], info["score"][0])
    np.testing.assert_allclose(reward[1], info["score"][1] - 8 * ENV.grass_penalty, rtol=1e-5)
    np.testing.assert_allclose(info["score"][1], -8 * COST, rtol=1e-5)


def test_the_wrong_way_costs_in_training():
    level = ring()
    state, _ = RESET(KEY, level)
    state = put(state, 0, (100.0, 0.0), np.pi)
    _, _, reward, *_, info = STEP(KEY, level, state, REST)
    assert info["backwards"].tolist() == [8, 0]
    np.testing.assert_allclose(reward - info["score"], [-8 * ENV.backwards_penalty, 0], atol=1e-4)


def test_who_leaves_the_field_loses_a_hundred_and_ends_the_game():
    level = ring()
    state, _ = RESET(KEY, level)
    state = put(state, 1, (340.0, 0.0), 0.0)
    after, _, _, terminated, truncated, info = STEP(KEY, level, state, REST)
    assert terminated and not truncated and int(after.frame) == 1
    np.testing.assert_allclose(info["score"][1], LOST)
    assert info["score"][0] > -1


def test_the_lap_ends_when_every_tile_was_driven_over_by_someone():
    level = ring()
    state, _ = RESET(KEY, level)
    half = jnp.arange(468) % 2 == 0
    _, _, _, terminated, *_ = STEP(KEY, level, state.replace(visited=jnp.stack([half, ~half])), REST)
    assert terminated
    most = jnp.ones(468, bool).at[200].set(False)
    _, _, _, terminated, *_ = STEP(KEY, level, state.replace(visited=jnp.stack([most, ~half])), REST)
    assert terminated == bool(~half[200])
    _, _, _, terminated, *_ = STEP(KEY, level, state.replace(visited=jnp.stack([most, half & most])), REST)
    assert not terminated


def test_training_ends_early_on_grass_and_a_judged_game_does_not():
    level = ring()
    state, _ = RESET(KEY, level)
    lost = put(state, 0, (0.0, 0.0), 0.0).replace(astray=jnp.array([95, 0]))
    after, _, _, terminated, *_ = STEP(KEY, level, lost, REST)
    assert terminated and int(after.frame) == 5
    other = put(state, 1, (0.0, 0.0), 0.0).replace(astray=jnp.array([0, 95]))
    assert not STEP(KEY, level, other, REST)[3]  # only the student's car ends it
    calm = judged(ENV)
    assert calm == replace(ENV, grass_penalty=0.0, backwards_penalty=0.0, most_astray=0)
    after, _, reward, terminated, *_, info = jax.jit(calm.step)(KEY, level, lost, REST)
    assert not terminated and int(after.frame) == 8
    np.testing.assert_array_equal(reward, info["score"])


@pytest.mark.parametrize(("frames", "decisions"), [(1, 1), (8, 1), (20, 3), (24, 3)])
def test_the_time_limit_ends_within_a_decision(frames, decisions):
    level = ring(frames=frames)
    assert int(level.time_limit) == decisions
    state, _ = RESET(KEY, level)
    for number in range(decisions):
        state, _, _, terminated, truncated, info = STEP(KEY, level, state, REST)
        assert not terminated and bool(truncated) == (number == decisions - 1)
    assert int(state.frame) == frames
    last = (frames - 1) % 8 + 1
    earned = 750 * np.asarray(info["tiles"]).sum()  # every tile under one is under the other
    np.testing.assert_allclose(np.asarray(info["score"]).sum(), earned - 2 * last * COST, atol=1e-3)


def test_an_observation_is_four_pictures_the_newest_last():
    level = ring()
    state, obs = RESET(KEY, level)
    assert obs.shape == (2, 84, 84, 12) and obs.dtype == jnp.uint8
    for i in range(1, 4):
        np.testing.assert_array_equal(obs[..., :3], obs[..., 3 * i : 3 * i + 3])
    for _ in range(5):
        before = obs
        state, obs, *_ = STEP(KEY, level, state, GAS)
        np.testing.assert_array_equal(obs[..., :9], before[..., 3:])
    assert (np.asarray(obs[..., 9:]) != np.asarray(obs[..., 6:9])).any()


def test_everyone_sees_themselves_red_and_the_other_blue():
    _, obs = RESET(KEY, ring())
    for seat in range(2):
        seen = np.asarray(obs[seat, ..., 9:])
        red = (seen == (204, 0, 0)).all(axis=-1)
        rows, columns = np.nonzero(red)
        assert 55 < rows.mean() < 80 and 38 < columns.mean() < 46
        assert (seen == (0, 0, 204)).all(axis=-1).any()


def test_flags_are_those_of_where_a_frame_ended():
    level = ring()
    state, _ = RESET(KEY, level)
    road = track.along(level.center)
    after, *_, info = STEP(KEY, level, state, GAS)
    here = jax.vmap(car.origin)(after.cars)
    assert (
        not jax.vmap(place.on_grass, (None, 0))(place.surface(road), here).any() and info["grass"].sum() == 0
    )


def test_progress_adds_up_to_the_share_of_tiles():
    level = ring()
    state, _ = RESET(KEY, level)
    total = np.zeros(2)
    for _ in range(10):
        state, *_, info = STEP(KEY, level, state, GAS)
        total += info["tiles"]
    np.testing.assert_allclose(total, np.asarray(state.visited).mean(axis=1), atol=1e-6)
