"""One car as Box2D moves it: a rigid body of hull and wheels, four steering joints, four wheels that spin.

Box2D solves hull, wheels and joints as five bodies. What that adds to one rigid body is small but
decides where a car ends up, so each such term is here, with the reason beside it.
"""

import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float

from maestro.trees import Leaf

SIZE = 0.02  # units of the world per unit of the car's drawing
DT = 1 / 50  # seconds per frame
POWER, WHEEL_INERTIA, GRIP, STIFFNESS = (k * SIZE**2 for k in (1e8, 4000, 1e6, 205000))
BRAKE = 15  # radians per second that a full brake takes from a wheel in a frame
GRASS = 0.6  # of the road's grip
LIMIT, SLOP, MOTOR_IMPULSE = 0.4, np.pi / 90, 64.8 * DT  # of a steering joint
MAX_SPEED, MAX_SPIN = 2 / DT, 0.5 * np.pi / DT

WHEEL = np.array([14, 27]) * SIZE  # half width, half length
RADIUS = WHEEL[1]
WHEEL_AT = np.array([(-55, 80), (55, 80), (-55, -82), (55, -82)]) * SIZE  # front left, front right, rear
HULL = tuple(
    np.array(corners) * SIZE  # counter-clockwise; +y is ahead
    for corners in (
        [(60, 110), (60, 130), (-60, 130), (-60, 110)],
        [(20, 20), (15, 120), (-15, 120), (-20, 20)],
        [(20, -90), (50, -40), (50, -10), (25, 20), (-25, 20), (-50, -10), (-50, -40), (-20, -90)],
        [(50, -120), (50, -90), (-50, -90), (-50, -120)],
    )
)


def _mass(corners: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Of a polygon of density 1: mass, mass times center, moment of inertia about the origin."""
    after = np.roll(corners, -1, axis=0)
    cross = corners[:, 0] * after[:, 1] - after[:, 0] * corners[:, 1]
    moment = (corners * corners + corners * after + after * after).sum(1) @ cross / 12
    return cross.sum() / 2, (corners + after).T @ cross / 6, moment


_parts = [_mass(corners) for corners in HULL]
HULL_MASS = sum(mass for mass, _, _ in _parts)
HULL_CENTER = np.sum([moment for _, moment, _ in _parts], axis=0) / HULL_MASS
_hull_spin = sum(spin for _, _, spin in _parts) - HULL_MASS * HULL_CENTER @ HULL_CENTER
WHEEL_MASS = 0.1 * 4 * WHEEL.prod()
WHEEL_SPIN = WHEEL_MASS * (WHEEL @ WHEEL) / 3  # moment of inertia, about its center
MASS = HULL_MASS + 4 * WHEEL_MASS
CENTER = (HULL_MASS * HULL_CENTER + WHEEL_MASS * WHEEL_AT.sum(0)) / MASS  # of mass, from the hull's origin
ARMS = WHEEL_AT - CENTER
_ORBIT = WHEEL_MASS * (ARMS**2).sum()  # the wheels' part of the moment of inertia
FRAME = _hull_spin + HULL_MASS * ((HULL_CENTER - CENTER) ** 2).sum() + _ORBIT  # without the wheels' own
INERTIA = FRAME + 4 * WHEEL_SPIN
_KAPPA = _ORBIT / (_hull_spin + _ORBIT)
_WINDING = 180 / (1 / WHEEL_SPIN + 1 / _hull_spin)  # what a motor winds up in a frame, per rad/s


class Car(PyTreeNode):
    """How a car stands and moves; two cars are one Car with a leading axis."""

    position: Leaf  # [2]; of the center of mass of hull and wheels
    heading: Leaf  # [];  the car faces (-sin, cos)
    heading_before: Leaf  # []; in the frame before
    velocity: Leaf  # [2]
    spin: Leaf  # []; rad/s
    steer: Leaf  # [4]; angles of the joints
    steer_rate: Leaf  # [4]
    omega: Leaf  # [4]; how fast each wheel rolls, rad/s
    gas: Leaf  # []; in effect
    phase: Leaf  # [4]; how far each wheel has rolled, rad
    windup: Leaf  # [4]; impulse that a motor has built up against its joint's limit


def turned(angle: Float[Array, ""], points: Float[Array, "*n 2"]) -> Float[Array, "*n 2"]:
    """Points or directions turned about the origin."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return jnp.stack([c * x - s * y, s * x + c * y], axis=-1)


def crossed(spin: Float[Array, ""], arms: Float[Array, "*n 2"]) -> Float[Array, "*n 2"]:
    """The velocities that a spin gives at the ends of arms."""
    return spin * jnp.stack([-arms[..., 1], arms[..., 0]], axis=-1)


def start(position: Float[Array, "2"], angle: Float[Array, ""]) -> Car:
    """A car at rest, its hull's origin at a position."""
    angle, four, none = jnp.float32(angle), jnp.zeros(4, jnp.float32), jnp.float32(0)
    center = position + turned(angle, jnp.asarray(CENTER, jnp.float32))
    return Car(center, angle, angle, jnp.zeros(2, jnp.float32), none, four, four, four, none, four, four)


def origin(car: Car) -> Float[Array, "2"]:
    """The hull's origin, which the game calls the car's position."""
    return car.position - turned(car.heading, jnp.asarray(CENTER, jnp.float32))


def hull_velocity(car: Car) -> Float[Array, "2"]:
    """Of the hull's own center of mass; like all velocities it was left as the last frame's pose made it."""
    arm = turned(car.heading_before, jnp.asarray(HULL_CENTER - CENTER, jnp.float32))
    return car.velocity + crossed(car.spin, arm)


def wheels(car: Car) -> tuple[Float[Array, "4 2"], Float[Array, "4"]]:
    """Centers and angles of the wheels."""
    arms = turned(car.heading, jnp.asarray(ARMS, jnp.float32))
    return car.position[None] + arms, car.heading + car.steer


def rolled(omega: Float[Array, "4"], gas: Float[Array, ""], brake: Float[Array, ""]) -> Float[Array, "4"]:
    """The wheels' spins after engine (rear wheels only) and brake."""
    drive = gas * jnp.array([0, 0, 1, 1], jnp.float32)
    omega = omega + DT * POWER / WHEEL_INERTIA * drive / (jnp.abs(omega) + 5)
    slower = omega - jnp.sign(omega) * jnp.minimum(BRAKE * brake, jnp.abs(omega))
    return jnp.where(brake >= 0.9, 0, jnp.where(brake > 0, slower, omega))


def tires(
    car: Car, omega: Float[Array, "4"], on_road: Bool[Array, "4"]
) -> tuple[Float[Array, "4 2"], Float[Array, "4"]]:
    """The force on each wheel, and the part of it that works against the wheel's rolling."""
    angle = car.heading + car.steer
    side = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    ahead = jnp.stack([-side[:, 1], side[:, 0]], axis=-1)
    # Box2D turns poses, not velocities: a wheel still moves along the circle of the last frame's pose.
    arms = turned(car.heading_before, jnp.asarray(ARMS, jnp.float32))
    velocity = car.velocity[None] + crossed(car.spin, arms)
    along = (omega * RADIUS - jnp.sum(ahead * velocity, axis=-1)) * STIFFNESS
    across = -jnp.sum(side * velocity, axis=-1) * STIFFNESS
    size = jnp.sqrt(along * along + across * across)
    limit = jnp.where(on_road, GRIP, GRASS * GRIP)
    share = jnp.where(size > limit, limit / jnp.maximum(size, 1e-6), 1)
    return (share * along)[:, None] * ahead + (share * across)[:, None] * side, share * along


def steered(car: Car, target: Float[Array, ""]) -> tuple[Float[Array, "4"], Float[Array, "4"]]:
    """Rates of the steering joints, and what their motors have wound up.

    A motor meets its speed exactly, until the joint is at its limit. There it goes on winding up, and
    has to unwind before the wheel comes off the limit again.
    """
    speed = jnp.clip(50 * (target * jnp.array([1, 1, 0, 0], jnp.float32) - car.steer), -3, 3)
    side = jnp.where(jnp.abs(car.steer) >= LIMIT, jnp.sign(car.steer), 0)
    windup = jnp.minimum(car.windup + side * _WINDING * speed, MOTOR_IMPULSE)
    held = (side != 0) & (windup >= 0)
    return jnp.where(held, 0, speed), jnp.where(held, windup, 0)


def accelerate(car: Car, action: Float[Array, "3"], on_road: Bool[Array, "4"]) -> Car:
    """The first half of a frame, new velocities; an action is (steer, gas, brake)."""
    gas = car.gas + jnp.minimum(jnp.clip(action[1], 0, 1) - car.gas, 0.1)
    omega = rolled(car.omega, gas, action[2])
    force, braking = tires(car, omega, on_road)
    rate, windup = steered(car, -action[0])
    arms = turned(car.heading, jnp.asarray(ARMS, jnp.float32))
    torque = jnp.sum(arms[:, 0] * force[:, 1] - arms[:, 1] * force[:, 0])
    # The joints pull the wheels' velocities, still on the tangent of the frame before, onto the new one.
    half = jnp.sin((car.heading - car.heading_before) / 2)
    lost = 2 * _ORBIT * half * half * car.spin
    turn = DT * torque - WHEEL_SPIN * jnp.sum(rate - car.steer_rate) - lost
    return car.replace(
        heading_before=car.heading,
        velocity=car.velocity + DT / MASS * jnp.sum(force, axis=0),
        spin=car.spin + turn / INERTIA,
        steer_rate=rate,
        omega=omega - DT * RADIUS / WHEEL_INERTIA * braking,
        gas=gas,
        phase=car.phase + DT * omega,
        windup=windup,
    )


def move(car: Car) -> Car:
    """The second half of a frame, a new pose."""
    speed = jnp.sqrt(jnp.sum(car.velocity * car.velocity))
    velocity = car.velocity * jnp.where(speed > MAX_SPEED, MAX_SPEED / jnp.maximum(speed, 1), 1)
    spin = jnp.clip(car.spin, -MAX_SPIN, MAX_SPIN)
    turn = DT * spin
    # Wheels leave their circle along the tangent; pulling them back turns the hull a little.
    back = -_KAPPA / 3 * turn**3
    # A joint's limit is put right only if the joint was at it when the frame began.
    most = jnp.where(car.steer >= LIMIT, LIMIT + SLOP, jnp.inf)
    least = jnp.where(car.steer <= -LIMIT, -LIMIT - SLOP, -jnp.inf)
    return car.replace(
        position=car.position + DT * velocity,
        heading=car.heading + turn + back,
        velocity=velocity,
        spin=spin,
        steer=jnp.clip(car.steer + DT * car.steer_rate - back, least, most),
    )


def step(car: Car, action: Float[Array, "3"], on_road: Bool[Array, "4"]) -> Car:
    """One frame of a car that nothing touches."""
    return move(accelerate(car, action, on_road))
