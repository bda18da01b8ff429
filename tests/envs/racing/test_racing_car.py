"""A car goes where Box2D's car goes, and where its slow twin goes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import car as model
from oracles import racing_car as twin
from oracles import racing_world as box2d

STEPS = 400


def sequences(generator, number):
    """(start angle, actions, on_road) of road and grass, drawn uniformly and like a driver's, in turn."""
    for i in range(number):
        actions = box2d.held(generator, STEPS, ("uniform", "driver")[i % 2])
        on_road = np.full((STEPS, 4), i // 2 % 2 == 0)
        yield generator.uniform(-np.pi, np.pi), actions, on_road


def errors(angle, actions, on_road):
    """How far the game's car ends from Box2D's: (distance, difference of heading)."""
    real = box2d.place(box2d.world(), (0, 0), angle)
    ours = box2d.run_model(box2d.same_start(real), actions, on_road)
    end = jax.tree.map(lambda x: x[-1], ours)
    expected = box2d.run(real, actions, on_road)[-1]
    return np.hypot(*(np.array(model.origin(end)) - expected[:2])), abs(float(end.heading) - expected[2])


def check_sequences(generator, number):
    distance, heading = np.array([errors(*one) for one in sequences(generator, number)]).T
    print(f"{number} sequences: mean {distance.mean():.5f}, 99 % {np.quantile(distance, 0.99):.5f}, "
          f"largest {distance.max():.5f}; heading 99 % {np.quantile(heading, 0.99):.6f}")  # fmt: skip
    assert distance.mean() < 0.005
    assert np.quantile(distance, 0.99) < 0.05
    assert np.quantile(heading, 0.99) < 0.002


def test_24_drives_of_8_seconds_end_where_box2d_ends_them():
    check_sequences(np.random.default_rng(77001), 24)


@pytest.mark.long
def test_240_drives_of_8_seconds_end_where_box2d_ends_them():
    check_sequences(np.random.default_rng(77002), 240)


def test_masses_and_shapes_are_those_of_box2d():
    real = box2d.place(box2d.world(), (0, 0), 0.0)
    np.testing.assert_allclose(real.hull.mass, model.HULL_MASS, rtol=1e-5)
    np.testing.assert_allclose(real.hull.localCenter, model.HULL_CENTER, atol=1e-6)
    np.testing.assert_allclose(real.wheels[0].mass, model.WHEEL_MASS, rtol=1e-5)
    np.testing.assert_allclose(real.wheels[0].inertia, model.WHEEL_SPIN, rtol=1e-5)
    hull = model.FRAME - model.WHEEL_MASS * (model.ARMS**2).sum()
    hull += model.HULL_MASS * ((model.HULL_CENTER**2).sum() - ((model.HULL_CENTER - model.CENTER) ** 2).sum())
    np.testing.assert_allclose(real.hull.inertia, hull, rtol=1e-5)
    for fixture, corners in zip(real.hull.fixtures, model.HULL, strict=True):
        expected = {tuple(np.round(corner, 4)) for corner in fixture.shape.vertices}
        assert {tuple(np.round(corner, 4)) for corner in corners} == expected


def test_every_number_of_the_car_follows_box2d_through_a_drive():
    generator = np.random.default_rng(77003)
    actions = box2d.held(generator, 200, "driver")
    on_road = np.repeat(generator.random((25, 4)) < 0.7, 8, axis=0)
    real = box2d.place(box2d.world(), (30, -20), 0.7)
    ours = box2d.run_model(box2d.same_start(real), actions, on_road)
    for t in range(200):
        box2d.run(real, actions[t : t + 1], on_road[t : t + 1])
        now = jax.tree.map(lambda x, t=t: x[t], ours)
        centers, angles = model.wheels(now)
        pairs = [
            (model.origin(now), real.hull.position), (now.heading, real.hull.angle),
            (model.hull_velocity(now), real.hull.linearVelocity), (now.spin, real.hull.angularVelocity),
            (now.steer, [wheel.joint.angle for wheel in real.wheels]),
            (now.omega, [wheel.omega for wheel in real.wheels]), (now.gas, real.wheels[2].gas),
            (now.phase, [wheel.phase for wheel in real.wheels]),
            (centers, [wheel.position for wheel in real.wheels]),
            (angles, [wheel.angle for wheel in real.wheels]),
        ]  # fmt: skip
        for mine, expected in pairs:
            np.testing.assert_allclose(np.asarray(mine), np.asarray(expected), atol=0.02, rtol=1e-3)


def test_a_car_equals_its_slow_twin():
    generator = np.random.default_rng(77004)
    for kind in ("uniform", "driver"):
        actions = box2d.held(generator, 100, kind)
        on_road = generator.random((100, 4)) < 0.5
        slow = twin.start((5, 7), 1.0)
        fast = box2d.run_model(model.start(jnp.array([5.0, 7.0]), jnp.float32(1)), actions, on_road)
        for t in range(100):
            twin.step(slow, actions[t], on_road[t])
            now = jax.tree.map(lambda x, t=t: np.asarray(x[t], np.float64), fast)
            for name in twin.Car.__dataclass_fields__:
                expected = getattr(slow, name)
                np.testing.assert_allclose(getattr(now, name), expected, atol=2e-3, rtol=1e-4, err_msg=name)


SCRIPTS = {  # steer, gas, brake by frame
    "straight": lambda t: (0, 1, 0),
    "straight, then brake": lambda t: (0, t < 200, 0.5 * (t >= 200)),
    "constant steer": lambda t: (0.2, 0.5, 0),
    "full lock": lambda t: (-1, 0.3, 0),
    "spin": lambda t: (1, 1, 0),
    "slalom": lambda t: (np.sin(t / 15), 0.6, 0),
    "slalom to the limits": lambda t: (np.sign(np.sin(t / 10)), 0.4, 0),
    "handbrake": lambda t: (0.3, t % 100 < 70, t % 100 >= 80),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripted_drives_on_the_road_end_where_box2d_ends_them(name):
    actions = np.array([SCRIPTS[name](t) for t in range(STEPS)], np.float32)
    distance, heading = errors(0.0, actions, np.full((STEPS, 4), True))
    print(f"{name}: {distance:.4f}, {heading:.5f}")
    assert distance < 0.02 and heading < 0.001


def test_full_gas_dead_straight_on_grass_is_a_knife_edge_for_box2d_too():
    actions = np.tile(np.array([0, 1, 0], np.float32), (200, 1))
    on_road = np.full((200, 4), False)
    nudged = [box2d.run(box2d.place(box2d.world(), (0, 0), a), actions, on_road) for a in (0.0, 1e-4)]
    start = box2d.same_start(box2d.place(box2d.world(), (0, 0), 0.0))
    ours = jax.vmap(model.origin)(box2d.run_model(start, actions, on_road))
    assert np.hypot(*(nudged[0] - nudged[1])[-1, :2]) > 10  # so nothing can be asked at the end
    assert np.hypot(*(np.array(ours) - nudged[0][:, :2])[49]) < 1e-3
    assert np.isfinite(np.array(ours)).all()


def test_speed_and_spin_stay_within_what_a_frame_may_move():
    start = model.start(jnp.zeros(2), jnp.float32(0)).replace(
        velocity=jnp.array([300.0, -400]), spin=jnp.float32(500)
    )
    car = model.move(start)
    np.testing.assert_allclose(np.array(car.velocity), [60, -80], rtol=1e-5)
    np.testing.assert_allclose(float(car.spin), 25 * np.pi, rtol=1e-6)


@pytest.mark.long
def test_many_cars_at_once_are_each_car_by_itself():
    generator = np.random.default_rng(77005)
    actions = jnp.array(np.stack([box2d.held(generator, 60, "driver") for _ in range(3)]))
    on_road = jnp.array(generator.random((3, 60, 4)) < 0.5)
    starts = jax.vmap(model.start)(jnp.zeros((3, 2)), jnp.arange(3.0))
    together = jax.vmap(box2d.run_model)(starts, actions, on_road)
    for i in range(3):
        alone = box2d.run_model(jax.tree.map(lambda x, i=i: x[i], starts), actions[i], on_road[i])
        jax.tree.map(lambda x, y, i=i: np.testing.assert_allclose(x[i], y, atol=1e-3), together, alone)
