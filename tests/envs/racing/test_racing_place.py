"""Where a car is on its track: on the grass or not, with the road or against it."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import car, place, track
from maestro.envs.racing.track import Track
from oracles import racing_view as twin

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "racing_frames.npz")
ANGLE = np.arange(468) * 2 * np.pi / 468


def around(radius):
    """A road counter-clockwise around the center at a distance that depends on the angle."""
    line = radius[:, None] * np.stack([np.cos(ANGLE), np.sin(ANGLE)], 1)
    return track.along(jnp.asarray(line, jnp.float32))


CIRCLE, STAR = around(np.full(468, 100.0)), around(80 + 50 * np.cos(5 * ANGLE))
grassy = jax.jit(lambda track, at: jax.vmap(place.on_grass, (None, 0))(place.surface(track), at))
against = jax.jit(place.backwards)


def going(at, heading, velocity=(0.0, 0.0)):
    """A car with its hull's origin at a place."""
    still = car.start(jnp.asarray(at, jnp.float32), jnp.float32(heading))
    return still.replace(velocity=jnp.asarray(velocity, jnp.float32))


def test_grass_begins_at_the_edge_of_the_road():
    distances = np.array([0, 92, 93.2, 93.5, 100, 106.5, 106.8, 108, 130])
    places = distances[:, None] * np.array([[np.cos(1.0), np.sin(1.0)]])
    grass = grassy(CIRCLE, jnp.asarray(places, jnp.float32))
    assert grass.tolist() == [True, True, True, False, False, False, True, True, True]


@pytest.mark.parametrize("road", [CIRCLE, STAR], ids=["circle", "star with folded corners"])
def test_grass_is_where_no_tile_and_no_curb_is(road):
    generator = np.random.default_rng(6)
    around = np.asarray(road.point)[generator.integers(0, 468, 600)]
    places = around + generator.normal(0, 6, (600, 2))
    parts = list(twin.road(np.asarray(road.point, float), np.asarray(road.beta, float), np.zeros(468)))
    covered = np.any([twin.in_hull(places, corners) for corners, _ in parts], axis=0)
    assert 0.1 < covered.mean() < 0.9
    np.testing.assert_array_equal(grassy(road, jnp.asarray(places, jnp.float32)), ~covered)


def test_a_curb_is_not_grass():
    bend = around(np.full(468, 20.0))
    sharp = Track(bend.point[::9], bend.beta[::9])  # every tile turns by 0.12
    assert track.curbed(sharp).all()
    places = jnp.array([[12.5, 0.0], [11.5, 0.0], [27.0, 0.0]])  # on the curb, inside of it, outside
    assert grassy(sharp, places).tolist() == [False, True, True]


def test_the_nearest_tile_is_the_one_that_ends_nearest():
    places = np.random.default_rng(7).normal(0, 80, (50, 2)).astype(np.float32)
    expected = [np.hypot(*(np.asarray(STAR.point) - p).T).argmin() for p in places]
    found = jax.vmap(place.nearest, (None, 0))(STAR, jnp.asarray(places))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("number", [0, 100, 250, 400])
def test_a_car_that_moves_goes_where_it_moves_and_one_at_rest_where_it_points(number):
    at, beta = CIRCLE.point[number], CIRCLE.beta[number]
    along = np.array([-np.sin(beta), np.cos(beta)])
    for turn, wrong in ((0.0, False), (1.5, False), (-1.5, False), (1.65, True), (-1.65, True), (3.1, True)):
        assert bool(against(CIRCLE, going(at, beta + turn))) == wrong
        assert bool(against(CIRCLE, going(at, beta + turn, 0.4 * along))) == wrong
    assert not against(CIRCLE, going(at, beta + 3.0, 0.6 * along))  # it slides the right way
    assert against(CIRCLE, going(at, beta, -0.6 * along))
    assert against(CIRCLE, going(1.5 * at, beta, -20 * along))  # on the grass too


def test_whoever_drives_along_in_the_recorded_game_is_not_going_backwards():
    road = Track(*(jnp.asarray(GOLDEN["track"][:, i], jnp.float32) for i in (slice(2, 4), 1)))
    other_way = Track(road.point, road.beta + np.pi)
    for state, flag in zip(GOLDEN["state"].reshape(-1, 18), GOLDEN["backward"].ravel(), strict=True):
        one = going(state[:2], state[2], state[3:5])
        assert bool(against(road, one)) == flag and bool(against(other_way, one)) != flag
