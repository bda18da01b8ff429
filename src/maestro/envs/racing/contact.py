"""Which tiles the wheels of a car touch, as Box2D finds it: those at most two skins away.

Coordinates are kept as separate arrays whose last axis is the tiles', which a processor runs through fastest.
"""

import itertools

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro.envs.racing.car import WHEEL

SKIN = 0.02  # two polygons' radii
PAIRS = tuple(itertools.combinations(range(4), 2))  # every edge of a tile's hull, even of a bow tie


def touched(
    tiles: Float[Array, "N 4 2"], centers: Float[Array, "4 2"], angles: Float[Array, "4"]
) -> Bool[Array, "4 N"]:
    """Which tiles each wheel touches: no direction separates the two (the separating axis theorem)."""
    x, y = ([tiles[:, i, axis][None] - centers[:, axis][:, None] for i in range(4)] for axis in range(2))
    c, s = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    gap = jnp.maximum(
        _gap([c * x[i] + s * y[i] for i in range(4)], WHEEL[0]),
        _gap([c * y[i] - s * x[i] for i in range(4)], WHEEL[1]),
    )
    for i, j in PAIRS:
        dx, dy = (tiles[:, j] - tiles[:, i]).T
        scale = 1 / jnp.maximum(jnp.sqrt(dx * dx + dy * dy), 1e-6)
        nx, ny = (-dy * scale)[None], (dx * scale)[None]
        reach = WHEEL[0] * jnp.abs(c * nx + s * ny) + WHEEL[1] * jnp.abs(c * ny - s * nx)
        others = [k for k in range(4) if k != j]  # corners i and j are at the same place
        gap = jnp.maximum(gap, _gap([nx * x[k] + ny * y[k] for k in others], reach))
    return gap <= SKIN


def _gap(places: list[Array], reach: float | Array) -> Array:
    """How far points on a line are from everything within reach of its origin; negative if they are not."""
    low = high = places[0]
    for place in places[1:]:
        low, high = jnp.minimum(low, place), jnp.maximum(high, place)
    return jnp.maximum(low, -high) - reach
