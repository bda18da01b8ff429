"""What a racing driver sees, against recorded frames of multi_car_racing and a slow twin."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import car, raster, track, view
from maestro.envs.racing.track import Track
from oracles import racing_view as twin

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "racing_frames.npz")
AFTER = range(3, len(GOLDEN["time"]))  # the first second zooms in, which this game leaves out
FIELD = 2000 / 6
CLASSES = np.array(  # the recorded frames have 16 bits per pixel: two of three grays of the road are one
    [(0, 0, 0), (99, 207, 99), (99, 231, 99), (99, 101, 99), (107, 105, 107), (255, 255, 255), (255, 0, 0),
     (206, 0, 0), (0, 0, 206), (74, 77, 74)]
)  # fmt: skip
RECORDED = 0.0005  # share of pixels that may differ from recorded ones
ROUNDED = 0.0001  # from exact ones: those whose center is on an edge, but for rounding


def classes(picture):
    """Of the colors, the nearest for each pixel."""
    return np.abs(picture[..., None, :].astype(int) - CLASSES).sum(axis=-1).argmin(axis=-1)


def one_of(cars, i):
    return jax.tree.map(lambda x: x[i], cars)


@jax.vmap
def car_of(state):
    """A car from x, y, angle, velocity, spin, 4 joint angles, 4 wheel spins, 4 phases of its hull."""
    still = car.start(state[:2], state[2]).replace(spin=state[5], steer=state[6:10], phase=state[14:])
    return still.replace(velocity=state[3:5] - car.hull_velocity(still))


def pose_of(state):
    return twin.Pose(state[:2], state[2], state[3:5], state[6:10], state[14:])


def cars_of(states):
    return car_of(jnp.asarray(states, jnp.float32))


@jax.jit
def seen_by(road, visited, half_side, cars, ego):
    return view.view(road, visited, half_side, cars, ego)


@jax.jit
def as_recorded(road, visited, cars, ego):
    scene = view.scene(road, visited, jnp.float32(FIELD), cars)
    return view.picture(scene, one_of(cars, ego), (view.OWN, view.OTHER))


def twin_of(road, visited, half_side, states, ego):
    """The twin's picture of what `view` shows: the other car blue, the own red above it."""
    parts = list(twin.road(np.asarray(road.point, float), np.asarray(road.beta, float), visited))
    poses = [pose_of(states[1 - ego]), pose_of(states[ego])]
    return twin.view(parts, half_side, poses, 1, (twin.BLUE, twin.RED))


def some_states(generator, road, near=6.0):
    """Two cars not far from each other on the road or beside it, anyhow turned, fast or nearly at rest."""
    tile, states = generator.integers(len(road.point)), np.zeros((2, 18))
    for state, number in zip(states, (tile, tile + generator.integers(-4, 5)), strict=True):
        number %= len(road.point)
        state[:2] = np.asarray(road.point[number]) + generator.normal(0, near, 2)
        state[2] = road.beta[number] + generator.normal(0, 0.6)
        state[3:5] = generator.normal(0, generator.choice([0.1, 20]), 2)
        state[5:10] = generator.normal(0, 0.3, 5)
        state[14:] = generator.uniform(0, 100, 4)
    return states


def wave(radii, turns=1):
    """A closed road whose distance from the center goes through the radii, `turns` times around it."""
    angle = np.arange(468) * 2 * np.pi * turns / 468
    along = np.linspace(0, 2 * np.pi, 468, endpoint=False)[:, None]
    harmonics = np.arange(len(radii))[None]
    radius = (np.array(radii)[None] * np.cos(harmonics * along)).sum(axis=1)
    return track.along(
        jnp.asarray(radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1), jnp.float32)
    )


ROADS = {
    "wide": wave([120, 0, 40]),
    "folded at corners": wave([70, 0, 0, 0, 0, 50]),  # the radius of the road is below its half width
    "over itself": wave([90, 60], turns=2),
    "tiny": wave([9, 0, 3], turns=3),  # most tiles lie in the picture
}


def share_of_differences(road, seed, number):
    """Between the picture and the slow one."""
    generator, different = np.random.default_rng(seed), 0
    for _ in range(number):
        states, visited = some_states(generator, road), generator.random(len(road.point)) < 0.3
        half_side, ego = generator.choice([150.0, FIELD]), int(generator.integers(2))
        quick = seen_by(road, jnp.asarray(visited), jnp.float32(half_side), cars_of(states), ego)
        slow = twin_of(road, visited, half_side, states, ego)
        different += (np.asarray(quick) != slow).any(axis=-1).sum()
    return different / (number * 84 * 84)


def test_the_picture_is_that_of_multi_car_racing():
    road = Track(*(jnp.asarray(GOLDEN["track"][:, i], jnp.float32) for i in (slice(2, 4), 1)))
    pictures, slow = [], []
    for t in AFTER:
        visited, states = GOLDEN["visited"][t], GOLDEN["state"][t]
        parts = list(twin.road(GOLDEN["track"][:, 2:], GOLDEN["track"][:, 1], visited))
        for ego in range(2):
            pictures.append(np.asarray(as_recorded(road, jnp.asarray(visited), cars_of(states), ego)))
            poses = [pose_of(state) for state in states]
            slow.append(twin.view(parts, FIELD, poses, ego, (twin.RED, twin.BLUE)))
    recorded = classes(GOLDEN["frames"][AFTER.start :, :, :-12, 6:-6].reshape(-1, 84, 84, 3))
    assert np.mean(classes(np.array(slow)) != recorded) < RECORDED
    assert np.mean(classes(np.array(pictures)) != recorded) < RECORDED


@pytest.mark.parametrize("name", ROADS)
def test_the_picture_is_that_of_the_slow_twin(name):
    assert share_of_differences(ROADS[name], seed=list(ROADS).index(name), number=12) < ROUNDED


@pytest.mark.long
def test_the_picture_is_that_of_the_slow_twin_on_many_generated_tracks():
    from maestro.envs.racing import bezier

    control = np.random.default_rng(5).uniform(0, FIELD, (60, 12, 2)).astype(np.float32)
    roads = [track.along(bezier.center_line(jnp.asarray(points))) for points in control]
    assert np.mean([share_of_differences(road, i, 10) for i, road in enumerate(roads)]) < ROUNDED


def straight(x=0.0):
    """Two cars side by side on a straight piece of road, facing up, at rest."""
    states = np.zeros((2, 18))
    states[:, 0], states[:, 14:] = [x - 3, x + 3], 0.5  # no stripe is seen
    center = np.stack([np.full(468, x), np.arange(468) * 2.5 - 100], 1)
    return track.along(jnp.asarray(center, jnp.float32)), states


def shown(road, states, ego, visited=None, half_side=FIELD):
    visited = np.zeros(len(road.point), bool) if visited is None else visited
    return np.asarray(seen_by(road, jnp.asarray(visited), jnp.float32(half_side), cars_of(states), ego))


def test_the_own_car_is_red_and_in_the_same_place_and_the_other_is_blue():
    road, states = straight()
    for ego, side in ((0, 1), (1, -1)):
        picture = shown(road, states, ego)
        rows, columns = np.nonzero((picture == view.OWN).all(axis=-1))
        assert abs(rows.mean() - 71.5) < 1.5 and abs(columns.mean() - 41.5) < 0.1
        other = np.nonzero((picture == view.OTHER).all(axis=-1))[1]
        assert abs(other.mean() - (41.5 + side * 6 * 1.5552)) < 0.6


def test_either_seat_sees_the_same_from_the_same_place():
    generator = np.random.default_rng(3)
    for _ in range(4):
        states = some_states(generator, ROADS["wide"], near=1.0)  # the cars may overlap
        np.testing.assert_array_equal(shown(ROADS["wide"], states, 0), shown(ROADS["wide"], states[::-1], 1))


def test_a_fast_car_looks_where_it_goes_and_a_slow_one_where_it_points():
    road, states = straight()
    upright = shown(road, states, 0)
    assert (upright[0, :, 0] == upright[0, :, 1]).sum() == 21  # the road leads up: 13.3 units wide
    for speed, ahead in ((0.4, True), (0.6, False)):
        states[0, 3:5] = speed, 0
        assert np.array_equal(shown(road, states, 0), upright) == ahead
    sideways = shown(road, states, 0)
    assert (sideways[0, :, 0] == sideways[0, :, 1]).sum() == 0  # now it leads across


def test_a_visited_tile_becomes_the_darkest_gray_and_nothing_else_changes():
    road, states = straight()
    visited = np.zeros(468, bool)
    visited[50] = True  # from 22.5 to 25 units up
    before, after = shown(road, states, 0), shown(road, states, 0, visited)
    changed = (before != after).any(axis=-1)
    assert (before[changed] == 107).all() and (after[changed] == 102).all()
    assert changed.sum(axis=1).nonzero()[0].tolist() == [23, 24, 25, 26, 27] and changed.sum() == 5 * 21


def test_beyond_the_field_all_is_black():
    road, states = straight(x=300.0)
    picture = shown(road, states, 1, half_side=310.0)
    assert (picture[:, 53:] == 0).all() and (picture[:20, :50] > 0).all()


def test_a_stripe_turns_with_its_wheel():
    ends, seen = view.stripes(jnp.array([0.5, 3.5, 6.0, 2.5]))
    assert seen.tolist() == [False, True, True, True]
    np.testing.assert_allclose(ends[1], np.cos([3.5, 4.7]), atol=1e-6)
    np.testing.assert_allclose(ends[2], [np.cos(6.0), 1.0], atol=1e-6)  # its end is under the wheel
    np.testing.assert_allclose(ends[3], [-1.0, np.cos(3.7)], atol=1e-6)


def test_many_views_at_once_are_those_one_by_one():
    generator, road = np.random.default_rng(4), ROADS["folded at corners"]
    states = np.array([some_states(generator, road) for _ in range(5)])
    visited = generator.random((5, 468)) < 0.5
    many = jax.vmap(view.view, (None, 0, None, 0, None))
    cars = jax.vmap(car_of)(jnp.asarray(states, jnp.float32))
    at_once = np.asarray(jax.jit(many)(road, jnp.asarray(visited), jnp.float32(FIELD), cars, 0))
    one_by_one = np.array([shown(road, s, 0, v) for s, v in zip(states, visited, strict=True)])
    assert np.mean((at_once != one_by_one).any(axis=-1)) < 1e-4


@pytest.mark.parametrize("number", [1, 60])
def test_the_last_of_all_shapes_that_cover_a_pixel_is_on_top(number):
    generator = np.random.default_rng(number)
    middle = generator.uniform(-20, 104, (number, 1, 2))  # many reach out of the picture, some lie outside
    shapes = (middle + generator.normal(0, 12, (number, 4, 2))).astype(np.float32)
    codes = generator.integers(0, 16, number)
    expected = np.zeros((84, 84), int)
    pixels = np.stack(np.mgrid[:84, :84], axis=-1)
    for shape, code in zip(shapes, codes, strict=True):
        if code:
            expected[twin.in_hull(pixels, shape)] = code
    found = raster.topmost(jnp.asarray(shapes), jnp.asarray(codes, jnp.int32))
    assert np.mean(np.asarray(found) != expected) < ROUNDED
