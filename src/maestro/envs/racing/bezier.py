"""The generator of tracks: a closed Bezier curve through 12 random control points (paper, appendix C.2)."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from maestro.envs.racing.track import TILES

CONTROL = 12  # points that a curve goes through
SAMPLES = TILES // CONTROL  # points on each of its segments, of which the next one's first is not counted
SIDE = 2000 / 6  # of the square in which control points are drawn
SPACING = 0.7 / CONTROL  # of the square's side; how far apart neighbors are at least
DRAWS, ROUNDS = 8, 25  # at once; at most. One draw in nine is spaced: 200 have never been too few
HANDLE = 0.2  # of a chord: how far its curve keeps to the tangents at its ends
LEAN = (
    math.atan(0.2) / math.pi + 0.5
)  # share of the chord that leaves in a tangent; the rest is the one before


def bearings(points: Float[Array, "n 2"]) -> Float[Array, " n"]:
    """The angle of each point as seen from their mean, clockwise from above, between -pi and pi."""
    offset = points - points.mean(axis=0, keepdims=True)
    return jnp.arctan2(offset[:, 0], offset[:, 1])


def spaced(points: Float[Array, "n 2"]) -> Bool[Array, ""]:
    """Whether neighbors in the order of bearings differ enough in x + y; last and first may be close."""
    bearing, total = bearings(points), points.sum(axis=1)
    rank = jnp.sum(bearing[None, :] < bearing[:, None], axis=1)  # many times faster than sorting
    neighbors = rank[None, :] == rank[:, None] + 1
    return jnp.all(~neighbors | (jnp.abs(total[None, :] - total[:, None]) >= SPACING))


def uniform(key: PRNGKeyArray, num: int, disc: bool = False) -> Float[Array, "num 12 2"]:
    """Control points drawn anywhere in the unit square, or in the disc inside it."""
    draw = jax.random.uniform(key, (num, CONTROL, 2))
    if not disc:
        return draw
    radius, angle = jnp.sqrt(draw[..., 0]) / 2, 2 * jnp.pi * draw[..., 1]
    return 0.5 + radius[..., None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def sample_control(key: PRNGKeyArray, disc: bool = False) -> Float[Array, "12 2"]:
    """Random control points that keep apart; after many draws whatever was drawn last."""

    def going_on(carry: Any) -> Any:
        _, _, found, rounds = carry
        return ~found & (rounds < ROUNDS)

    def draw(carry: Any) -> Any:
        key, _, _, rounds = carry
        key, draw_key = jax.random.split(key)
        points = uniform(draw_key, DRAWS, disc)
        passes = jax.vmap(spaced)(points)
        return key, points[jnp.argmax(passes)], passes.any(), rounds + 1

    nothing = (key, jnp.zeros((CONTROL, 2)), jnp.bool_(False), jnp.int32(0))
    return SIDE * jax.lax.while_loop(going_on, draw, nothing)[1]


def tangents(chords: Float[Array, "n 2"]) -> Float[Array, "n 2"]:
    """The way the curve leads at each control point, between the chord before and the one that leaves."""
    angle = jnp.arctan2(chords[:, 1], chords[:, 0]) % (2 * jnp.pi)
    before = jnp.roll(angle, 1)
    wrapped = jnp.where(jnp.abs(angle - before) > jnp.pi, jnp.pi, 0.0)
    blend = LEAN * angle + (1 - LEAN) * before + wrapped
    return jnp.stack([jnp.cos(blend), jnp.sin(blend)], axis=-1)


def center_line(control: Float[Array, "12 2"]) -> Float[Array, "468 2"]:
    """The closed curve through control points in any order, centered, in driving order: counter-clockwise."""
    first = control[jnp.argsort(bearings(control))]
    last = jnp.roll(first, -1, axis=0)
    way = tangents(last - first)
    handle = HANDLE * jnp.linalg.norm(last - first, axis=1, keepdims=True)
    hull = jnp.stack([first, first + handle * way, last - handle * jnp.roll(way, -1, axis=0), last])
    t = jnp.arange(SAMPLES) / SAMPLES
    weights = jnp.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    line = jnp.einsum("ks,kid->isd", weights, hull, precision="highest").reshape(TILES, 2)
    middle = (line.min(axis=0, keepdims=True) + line.max(axis=0, keepdims=True)) / 2
    return jnp.roll((line - middle)[::-1], 1, axis=0)  # the first control point stays in front
