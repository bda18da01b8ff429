"""How LaserTag's bolts fly: all of them at once, as if one after the other, newest first.

The code of a bolt is (1 + place) << 3 | owner << 2 | direction, so a smaller code is processed
earlier. Shots of this step have places 0 and 1, and every step adds two. A bolt lives for at
most 14 steps, so the code fits in a byte.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int, UInt8

from maestro.envs.lasertag.levels import DELTA, SIDE, Level, wall_grid

NO_BOLT = 255  # larger than the code of every bolt
AGE = 16  # what one step adds to the code of a bolt: two places in the processing order
Codes = UInt8[Array, "289"]  # the grid row by row; a bolt is never in an outer row or column


def fired(facing: Int[Array, "2"], first: Any) -> UInt8[Array, "2"]:
    """The codes of the bolts that the players fire in this step."""
    player = jnp.arange(2)
    return ((1 + (player != first)) << 3 | player << 2 | facing).astype(jnp.uint8)


def arriving(bolts: Codes, standing: Codes) -> list[Codes]:
    """For each direction, the code of the bolt that gets into each cell, 255 for none.

    A bolt dies where something with a larger code stands.
    """
    padded = jnp.pad(bolts, SIDE)
    codes = []
    for direction, (y, x) in enumerate(DELTA):
        start = SIDE - y * SIDE - x
        code = padded[start : start + SIDE * SIDE]
        code = jnp.where((code > 0) & (code & 3 == direction), code, NO_BOLT).astype(jnp.uint8)
        codes.append(jnp.where(standing > code, NO_BOLT, code).astype(jnp.uint8))
    return codes


def two_smallest(a: Codes, b: Codes, c: Codes, d: Codes) -> tuple[Codes, Codes]:
    """In each cell, the smallest and the second smallest of four codes."""
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    low2, high2 = jnp.minimum(c, d), jnp.maximum(c, d)
    second = jnp.minimum(jnp.maximum(low, low2), jnp.minimum(high, high2))
    return jnp.minimum(low, low2), second


def fly(
    level: Level, bolts: UInt8[Array, "17 17"], agents: Int[Array, "2"], shots: Int[Array, "2"], codes: Any
) -> tuple[UInt8[Array, "17 17"], UInt8[Array, "2"]]:
    """Every older bolt is processed once, in order; (bolts, the bolt that hit each agent or 255).

    A bolt dies at a wall and at a bolt that has not moved yet or was fired in this step. Of
    those entering one cell the first gets it; if an agent stands there, the first hits it,
    and the second enters the emptied cell. Agents and shots are numbers of cells.
    """
    older = jnp.where(bolts > 0, bolts + jnp.uint8(AGE), 0).astype(jnp.uint8).ravel()
    cells = jnp.arange(SIDE * SIDE)
    fresh = [cells == shots[p] for p in range(2)]
    closed = wall_grid(level).ravel() | fresh[0] | fresh[1]
    standing = jnp.where(closed, NO_BOLT, older).astype(jnp.uint8)
    earliest, second = two_smallest(*arriving(older, standing))
    entering = jnp.where((cells == agents[0]) | (cells == agents[1]), second, earliest)
    after = jnp.where(entering == NO_BOLT, 0, entering).astype(jnp.uint8)
    for p in range(2):
        after = jnp.where(fresh[p], codes[p], after)
    return after.reshape(SIDE, SIDE), earliest[agents]
