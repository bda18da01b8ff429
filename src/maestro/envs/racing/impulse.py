"""Impulses at points of contact, one pair of shapes after the other, again and again, as Box2D does it.

The fourteen velocities are those of collision.py. A pair of shapes has five unknown impulses: friction
at its two points, what keeps its two points apart, and the motor of the wheel that takes part. The
last three are solved at once: a wheel is so light that one after the other would take hundreds of sweeps.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Float

from maestro.envs.racing.car import FRAME, MASS, WHEEL_MASS, WHEEL_SPIN
from maestro.envs.racing.manifold import PAIRS
from maestro.trees import Leaf

FRICTION = 0.2
SWEEPS = 12
SLOP, SHARE, LARGEST = 0.005, 0.2, 0.2  # of an overlap: left alone; put right in a turn; at most
TURNS, BOX2D_TURNS = 20, 60  # at most, of putting overlaps right
HUGE = 1e6
LIGHTNESS = np.tile([1 / MASS, 1 / MASS, 1 / FRAME, *[1 / WHEEL_SPIN] * 4], 2).astype(np.float32)
JOINT_MASS = 1 / (1 / WHEEL_SPIN + 1 / FRAME)  # the impulse that makes a wheel turn by 1 rad/s on its joint
WHEELS = np.array([3, 4, 5, 6, 10, 11, 12, 13])  # places of their spins among the velocities
JOINTS = np.eye(14, dtype=np.float32)[WHEELS] - np.eye(14, dtype=np.float32)[np.repeat([2, 9], 4)]


class Pairs(PyTreeNode):
    """Pairs of shapes in contact: what their impulses act on."""

    rows: Leaf  # [K, 5, 14]; the speeds in question (friction twice, apart twice, joint) from the velocities
    active: Leaf  # bool [K, 2]; whether a point is in contact
    wheel: Leaf  # [K, 8]; 1 for the wheel that takes part
    strength: Leaf  # [2, 8]; least and greatest impulse of every wheel's motor


def turning(u: Float[Array, "14"]) -> Float[Array, "8"]:
    """How fast each wheel turns on its joint."""
    u = u.reshape(2, 7)
    return (u[:, 3:] - u[:, 2:3]).ravel()


def twist(impulses: Float[Array, "8"]) -> Float[Array, "14"]:
    """What impulses of the motors do to the velocities."""
    impulses = impulses.reshape(2, 4)
    frame = -jnp.sum(impulses, axis=1, keepdims=True) / FRAME
    return jnp.concatenate([jnp.zeros((2, 2)), frame, impulses / WHEEL_SPIN], axis=1).ravel()


def pressed(k11: Any, k12: Any, k22: Any, b1: Any, b2: Any) -> tuple[Array, Array]:
    """Two impulses x >= 0 that leave speeds k x + b >= 0, a speed being 0 wherever an impulse is not."""
    det = k11 * k22 - k12 * k12
    safe = jnp.where(det > 0, det, 1)
    x1, x2 = (k12 * b2 - k22 * b1) / safe, (k12 * b1 - k11 * b2) / safe
    y1, y2 = -b1 / k11, -b2 / k22
    both = (x1 >= 0) & (x2 >= 0) & (k11 * k11 < 1000 * det)  # else too much alike to be told apart
    first = (y1 >= 0) & (k12 * y1 + b2 >= 0)
    second = (y2 >= 0) & (k12 * y2 + b1 >= 0)
    one = jnp.where(both, x1, jnp.where(first, y1, 0))
    return one, jnp.where(both, x2, jnp.where(first, 0, jnp.where(second, y2, 0)))


def rubbed(k: Any, free: Any, x: list, i: int, grip: Any, motor: Any) -> list:
    """The five impulses with new friction at point i: as if the motor held, then with what it has."""
    others = [j for j in range(4) if j != i]
    b, turn = (free[r] + sum(k[r, j] * x[j] for j in others) for r in (i, 4))
    c = k[i, 4] / k[4, 4]
    guess = jnp.clip(-(b - c * turn) / (k[i, i] - c * k[i, 4]), -grip, grip)
    hold = jnp.clip(-(turn + k[i, 4] * guess) / k[4, 4], *motor)
    rub = jnp.clip(-(b + k[i, 4] * hold) / k[i, i], -grip, grip)
    return [hold if j == 4 else rub if j == i else x[j] for j in range(5)]


def parted(k: Any, free: Any, x: list, active: Any, motor: Any) -> list:
    """The five impulses with new ones that keep both points apart: likewise."""
    b = [jnp.where(active[i], free[2 + i] + k[2 + i, 0] * x[0] + k[2 + i, 1] * x[1], HUGE) for i in (0, 1)]
    turn = free[4] + k[4, 0] * x[0] + k[4, 1] * x[1]
    c = k[2, 4] / k[4, 4], k[3, 4] / k[4, 4]
    stiff = k[2, 2] - c[0] * k[2, 4], k[2, 3] - c[0] * k[3, 4], k[3, 3] - c[1] * k[3, 4]
    guess = pressed(*stiff, b[0] - c[0] * turn, b[1] - c[1] * turn)
    hold = jnp.clip(-(turn + k[4, 2] * guess[0] + k[4, 3] * guess[1]) / k[4, 4], *motor)
    push = pressed(k[2, 2], k[2, 3], k[3, 3], b[0] + k[2, 4] * hold, b[1] + k[3, 4] * hold)
    return [x[0], x[1], *push, hold]


def solve(pairs: Pairs, before: Float[Array, "14"]) -> Float[Array, "14"]:
    """The velocities after all impulses."""
    weights = pairs.rows * LIGHTNESS[None, None]
    k = jnp.sum(pairs.rows[:, :, None] * weights[:, None], axis=-1)
    motor = jnp.sum(pairs.wheel[:, None] * pairs.strength[None], axis=-1)
    goals = turning(before)  # motors have reached their speeds
    goal = jnp.sum(pairs.wheel * goals[None], axis=-1)[:, None] * np.eye(5, dtype=np.float32)[4:]

    def pair(n, carry):
        u, impulses, motors = carry
        i = n % PAIRS
        old = [*impulses[i], jnp.sum(pairs.wheel[i] * motors)]
        speed = jnp.sum(pairs.rows[i] * u[None], axis=-1) - goal[i]
        # Barriers: else XLA computes all of this again for each of the fourteen.
        free = jax.lax.optimization_barrier(speed - sum(k[i][:, j] * old[j] for j in range(5)))
        new = old
        for point in range(2):
            new = rubbed(k[i], free, new, point, FRICTION * old[2 + point], motor[i])
        after = jnp.stack(parted(k[i], free, new, pairs.active[i], motor[i]))
        change = jax.lax.optimization_barrier(after - jnp.stack(old))
        u = u + jnp.sum(change[:, None] * weights[i], axis=0)
        motors = motors + change[4] * pairs.wheel[i]
        hold = jnp.clip(motors - JOINT_MASS * (turning(u) - goals), *pairs.strength)
        return u + twist(hold - motors), impulses.at[i].set(after[:4]), hold

    start = before, jnp.zeros((PAIRS, 4)), jnp.zeros(8)
    return jax.lax.fori_loop(0, SWEEPS * PAIRS, pair, start)[0]


def separate(pairs: Pairs, gap: Float[Array, "K 2"]) -> Float[Array, "14"]:
    """How both cars are shifted out of each other, in turns, until no gap is worse than three slops.

    Box2D shifts a wheel by itself and lets the joint pull the car after it, which is slow.
    """
    along = pairs.rows[:, 2:4]
    push = along * LIGHTNESS[None, None]
    give, both = jnp.sum(along * push, axis=-1), jnp.sum(along[:, 0] * push[:, 1], axis=-1)
    slow = TURNS / BOX2D_TURNS * (give + 1 / WHEEL_MASS)
    with_wheel = jnp.any(along[:, :, WHEELS] != 0, axis=(1, 2))
    share = jnp.where(pairs.active, SHARE / jnp.where(with_wheel[:, None], slow, give), 0)
    most = share * LARGEST / SHARE

    def deep(carry):
        gaps = gap + jnp.sum(along * carry[1][None, None], axis=-1)
        return (carry[0] < TURNS) & jnp.any((gaps < -3 * SLOP) & pairs.active)

    def pair(i, by):
        over = -SLOP - gap[i] - jnp.sum(along[i] * by[None], axis=-1)
        first = jnp.clip(share[i, 0] * over[0], 0, most[i, 0])
        second = jnp.clip(share[i, 1] * (over[1] - both[i] * first), 0, most[i, 1])
        first, second = jax.lax.optimization_barrier((first, second))
        return by + first * push[i, 0] + second * push[i, 1]

    def turn(carry):
        return carry[0] + 1, jax.lax.fori_loop(0, PAIRS, pair, carry[1])

    return jax.lax.while_loop(deep, turn, (0, jnp.zeros(14)))[1]
