"""Box2D itself: gymnasium's cars in its world, with road or grass under their wheels as a test says."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Box2D's wrapper crashes when its own deprecation warnings are errors
    import Box2D
    from gymnasium.envs.box2d.car_dynamics import Car

from maestro.envs.racing import car as model


class Tile:
    """What a wheel on the road has in its set of tiles."""

    road_friction = 1.0


ROAD = Tile()


def world():
    return Box2D.b2World((0, 0))


def place(world, position, angle):
    """A car at rest after Box2D's first step, which puts the wheels where the joints want them."""
    car = Car(world, angle, *map(float, position))
    world.Step(1 / 50, 180, 60)
    return car


def drive(car, action, on_road):
    """Forces of one frame; the world has to step afterwards."""
    car.steer(-float(action[0]))
    car.gas(float(action[1]))
    car.brake(float(action[2]))
    for wheel, on in zip(car.wheels, on_road, strict=True):
        wheel.tiles = {ROAD} if on else set()
    car.step(1 / 50)


def pose(car):
    """Position of the hull's origin and heading."""
    return np.array([*car.hull.position, car.hull.angle])


def same_start(car):
    """The game's car standing as Box2D's does."""
    at = jnp.array(pose(car), jnp.float32)
    steer = jnp.array([wheel.joint.angle for wheel in car.wheels], jnp.float32)
    return model.start(at[:2], at[2]).replace(steer=steer)


def run(car, actions, on_road):
    """Poses after every frame, [T, 3]."""
    poses = []
    for action, on in zip(actions, on_road, strict=True):
        drive(car, action, on)
        car.world.Step(1 / 50, 180, 60)
        poses.append(pose(car))
    return np.array(poses)


@jax.jit
def _run(car, actions, on_road):
    def frame(car, inputs):
        car = model.step(car, *inputs)
        return car, car

    return jax.lax.scan(frame, car, (actions, on_road))[1]


def run_model(car, actions, on_road):
    """The game's car after every frame."""
    return _run(car, jnp.asarray(actions, jnp.float32), jnp.asarray(on_road))


def held(generator, num_steps, kind):
    """Actions that change every 8th frame: drawn uniformly, or like a driver's."""
    num = -(-num_steps // 8)
    if kind == "uniform":
        few = generator.uniform([-1, 0, 0], 1, (num, 3))
    else:
        steer = np.clip(np.cumsum(generator.normal(0, 0.25, num)) * 0.7, -1, 1)
        gas, brakes = generator.uniform(0, 1, num), generator.random(num) < 0.15
        few = np.stack([steer, gas * ~brakes, brakes * generator.uniform(0, 0.8, num)], axis=1)
    return np.repeat(few, 8, axis=0)[:num_steps].astype(np.float32)


def contacts(tiles, centers, angles):
    """Which tiles each wheel touches, bool [wheels, tiles], and how many pairs Box2D looked at."""
    around = world()
    for number, tile in enumerate(tiles):
        body = around.CreateStaticBody(userData=number)
        body.CreateFixture(shape=Box2D.b2PolygonShape(vertices=tile.tolist()), isSensor=True)
    for number, (center, angle) in enumerate(zip(centers.tolist(), angles.tolist(), strict=True)):
        body = around.CreateDynamicBody(position=center, angle=angle, userData=number)
        corners = [(-0.28, 0.54), (0.28, 0.54), (0.28, -0.54), (-0.28, -0.54)]
        body.CreatePolygonFixture(vertices=corners, density=0.1, categoryBits=0x20, maskBits=0x1)
    around.Step(1 / 50, 180, 60)
    found = np.zeros((len(centers), len(tiles)), bool)
    for contact in around.contacts:
        tile, wheel = sorted((contact.fixtureA.body, contact.fixtureB.body), key=lambda body: body.type)
        found[wheel.userData, tile.userData] = contact.touching
    return found, len(around.contacts)


def set_going(world, position, angle, speed):
    """A car that already drives, its wheels where they belong: Box2D's, and the same as the game's."""
    car = Car(world, 0.0, *map(float, position))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    velocity = turn @ (0.0, speed)
    car.hull.transform = (tuple(map(float, position)), float(angle))
    for wheel, at in zip(car.wheels, model.WHEEL_AT, strict=True):
        wheel.transform = ((turn @ at + position).tolist(), float(angle))
        wheel.omega = speed / model.RADIUS
    for body in (car.hull, *car.wheels):
        body.linearVelocity = velocity.tolist()
    omega = jnp.full(4, speed / model.RADIUS, jnp.float32)
    return car, same_start(car).replace(velocity=jnp.array(velocity, jnp.float32), omega=omega)


def pair(cars):
    """Two of the game's cars as one."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *cars)


def run_pair(cars, actions, num_steps):
    """Poses of two of Box2D's cars after every frame, [T, 2, 3], and the first frame in which they touch."""
    poses, first = [], None
    for t in range(num_steps):
        for car, action in zip(cars, actions, strict=True):
            drive(car, action, [True] * 4)
        cars[0].world.Step(1 / 50, 180, 60)
        if first is None and any(contact.manifold.pointCount for contact in cars[0].world.contacts):
            first = t
        poses.append([pose(car) for car in cars])
    return np.array(poses), first


class Touches(Box2D.b2ContactListener):
    """The points at which two of Box2D's cars touch, by the numbers of the shapes."""

    def __init__(self, cars):
        super().__init__()
        self.cars, self.found = cars, {}

    def shape(self, fixture):
        for car in self.cars:
            shapes = [*car.hull.fixtures, *(wheel.fixtures[0] for wheel in car.wheels)]
            if fixture in shapes:
                return shapes.index(fixture)
        raise LookupError

    def PreSolve(self, contact, old):
        number = contact.manifold.pointCount
        if number:
            world = contact.worldManifold  # what it holds lives no longer than it
            places = np.array([tuple(point) for point in world.points[:number]])
            key = self.shape(contact.fixtureA), self.shape(contact.fixtureB)
            self.found[key] = np.array(tuple(world.normal)), places


def touches(cars):
    """{(shape of the first, shape of the second): (normal, points)} of two cars where they stand."""
    listener = Touches(cars)
    cars[0].world.contactListener = listener
    cars[0].world.Step(1e-9, 1, 1)
    return listener.found
