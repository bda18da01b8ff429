"""Two cars that touch: a frame with the impulses and shifts that keep them out of each other.

Fourteen velocities are solved for: of each car the frame's (hull and the wheels' centers, rigid) and
the spins of its four wheels. Motors hold the wheels on their joints with limited strength, so one
that is hit hard twists.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro.envs.racing import car as model
from maestro.envs.racing import impulse, kernel
from maestro.envs.racing.car import LIMIT, MAX_SPIN, MOTOR_IMPULSE, Car
from maestro.envs.racing.manifold import PAIRS, REACH, Manifold, manifold, pivots


def velocities(cars: Car) -> Float[Array, "14"]:
    """Of each car in turn: its velocity, its spin, its wheels' spins in the world."""
    spins = cars.steer_rate + cars.spin[:, None]
    return jnp.concatenate([cars.velocity, cars.spin[:, None], spins], axis=1).ravel()


def with_velocities(cars: Car, u: Float[Array, "14"]) -> Car:
    """Cars that move so."""
    u = u.reshape(2, 7)
    rate = jnp.clip(u[:, 3:], -MAX_SPIN, MAX_SPIN) - u[:, 2:3]
    return cars.replace(velocity=u[:, :2], spin=u[:, 2], steer_rate=rate)


def places(cars: Car) -> Float[Array, "14"]:
    """What the fourteen velocities change."""
    angles = cars.steer + cars.heading[:, None]
    return jnp.concatenate([cars.position, cars.heading[:, None], angles], axis=1).ravel()


def shifted(cars: Car, by: Float[Array, "14"]) -> Car:
    """Cars put elsewhere."""
    by = by.reshape(2, 7)
    steer = cars.steer + by[:, 3:] - by[:, 2:3]
    return cars.replace(position=cars.position + by[:, :2], heading=cars.heading + by[:, 2], steer=steer)


def cross(a: Array, b: Array) -> Array:
    """Of vectors with their components first."""
    return a[0] * b[1] - a[1] * b[0]


def parting(cars: Car, touch: Manifold, way: Float[Array, "2 K"]) -> Float[Array, "K 2 14"]:
    """How fast the second car leaves the first at each point, along given ways: factors of the velocities."""
    parts = []
    for i, sign in ((0, -1.0), (1, 1.0)):
        car = jax.tree.map(lambda x, i=i: x[i], cars)
        point = touch.point - (car.position - cars.position[0])[:, None, None]
        pivot = pivots(car)[:, touch.shape[i]][:, :, None]
        wheel = touch.shape[i][:, None] == jnp.arange(4, 8)[None]
        arm = jnp.where(wheel.any(axis=1)[None, :, None], pivot, point)
        linear = jnp.broadcast_to(way.T[:, None], (PAIRS, 2, 2))
        spins = cross(point - pivot, way[:, :, None])[:, :, None] * wheel[:, None]
        parts.append(sign * jnp.concatenate([linear, cross(arm, way[:, :, None])[:, :, None], spins], axis=2))
    return jnp.concatenate(parts, axis=2)


def held_wheel(touch: Manifold) -> Float[Array, "K 8"]:
    """Which of the eight wheels takes part in each pair, as ones and zeros; the first one where none does."""
    first, second = touch.shape
    wheel = jnp.where(first >= 4, first - 4, jnp.where(second >= 4, second, 0))
    return jax.nn.one_hot(wheel, 8)


def strength(cars: Car) -> Float[Array, "2 8"]:
    """Least and greatest impulse of each wheel's motor; a joint at its limit yields no further."""
    steer = cars.steer.ravel()
    low = jnp.where(steer >= LIMIT, -impulse.HUGE, -MOTOR_IMPULSE)
    return jnp.stack([low, jnp.where(steer <= -LIMIT, impulse.HUGE, MOTOR_IMPULSE)])


def in_contact(cars: Car, touch: Manifold) -> impulse.Pairs:
    """What impulses at the points of contact act on."""
    across = jnp.stack([touch.normal[1], -touch.normal[0]])
    wheel = held_wheel(touch)
    joint = jnp.sum(wheel[:, :, None] * impulse.JOINTS[None], axis=1)
    rows = [parting(cars, touch, across), parting(cars, touch, touch.normal), joint[:, None]]
    return impulse.Pairs(jnp.concatenate(rows, axis=1), touch.active, wheel, strength(cars))


def touching(cars: Car, fast: Car) -> Car:
    """The rest of a frame for cars that may touch; `fast` are the cars with the velocities of free ones."""
    touch = manifold(cars)
    pairs = in_contact(cars, touch)
    form = kernel if kernel.usable() else impulse
    moved = jax.vmap(model.move)(with_velocities(fast, form.solve(pairs, velocities(fast))))
    gap = touch.gap + jnp.sum(pairs.rows[:, 2:4] * (places(moved) - places(cars))[None, None], axis=-1)
    return shifted(moved, form.separate(pairs, gap))


def touching_if(near: Bool[Array, ""], cars: Car, fast: Car) -> Car:
    """Likewise; a batch in which no two cars are near each other leaves it out."""
    if kernel.usable():
        return touching(cars, fast)  # kernels leave it out themselves, and a GPU need not ask
    # A loop of at most one turn. What its turn uses has to change in it, or it would be computed beforehand.
    _, _, after = jax.lax.while_loop(
        lambda carry: carry[0],
        lambda carry: (jnp.zeros_like(near), carry[2], touching(carry[1], carry[2])),
        (near, cars, fast),
    )
    return after


def step(cars: Car, actions: Float[Array, "2 3"], on_road: Bool[Array, "2 4"]) -> Car:
    """One frame of two cars."""
    fast = jax.vmap(model.accelerate)(cars, actions, on_road)
    away = cars.position[1] - cars.position[0]
    near = jnp.sum(away * away) < REACH * REACH
    after = touching_if(near, cars, fast)
    return jax.tree.map(lambda x, y: jnp.where(near, x, y), after, jax.vmap(model.move)(fast))
