"""LaserTag levels: their arrays, the random generator (paper, appendix C.1) and what is measured of them."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from maestro.trees import Leaf

MAX_SIZE = 15  # cells along the longest side of a level, the outer wall not counted
SIDE = MAX_SIZE + 2  # with the outer wall
MIN_SIZE = 5
MAX_CLUTTER = 0.5
TIME_LIMIT = 300
SWEEPS = 16  # steps along all paths between two looks whether one has arrived
AT_ONCE = 5  # such steps in one turn of a loop without looks

UP, RIGHT, DOWN, LEFT = range(4)
DELTA = ((-1, 0), (0, 1), (1, 0), (0, -1))  # (row, column) of one step ahead, by facing


class Level(PyTreeNode):
    """A map inside its outer wall, which takes row 0 and column 0; inner cells start at 1."""

    walls: Leaf  # uint32 [17]; bit x of entry y: cell (y, x) is wall, the outer wall included
    height: Leaf  # inner rows, up to 15
    width: Leaf  # inner columns, up to 15
    position: Leaf  # [2, 2]; (row, column) where each agent starts
    facing: Leaf  # [2]; 0 up, 1 right, 2 down, 3 left
    time_limit: Leaf  # steps


def wall_grid(level: Level) -> Bool[Array, "17 17"]:
    """The walls, one truth value per cell, the outer wall included."""
    return (level.walls[:, None] >> jnp.arange(SIDE, dtype=jnp.uint32)[None, :]) & 1 == 1


def pack(grid: Any) -> UInt32[Array, "17"]:
    """The inverse of `wall_grid`."""
    bits = jnp.asarray(grid).astype(jnp.uint32) << jnp.arange(SIDE, dtype=jnp.uint32)[None, :]
    return jnp.sum(bits, axis=1, dtype=jnp.uint32)


def outer_wall(height: Any, width: Any) -> Bool[Array, "17 17"]:
    """The ring of wall cells around `height` x `width` inner cells; beyond it there is nothing."""
    y, x = jnp.arange(SIDE)[:, None], jnp.arange(SIDE)[None, :]
    within = (y <= height + 1) & (x <= width + 1)
    return within & ((y == 0) | (x == 0) | (y == height + 1) | (x == width + 1))


def inner_cells(height: Any, width: Any) -> Bool[Array, "17 17"]:
    """The cells inside the outer wall."""
    y, x = jnp.arange(SIDE)[:, None], jnp.arange(SIDE)[None, :]
    return (y >= 1) & (x >= 1) & (y <= height) & (x <= width)


def random_cells(key: PRNGKeyArray, size: Any, num_walls: Any) -> tuple[Any, Bool[Array, "17 17"]]:
    """Two distinct inner cells [2, 2], and `num_walls` of the others as a grid, all equally likely.

    Each cell draws 24 random bits, and its number is put behind them, so that no two are equal and
    sorting is enough: the two smallest are the starts, the next ones walls. Cells beyond the level come last.
    """
    cells = jnp.arange(MAX_SIZE * MAX_SIZE, dtype=jnp.uint32)
    inside = (cells // MAX_SIZE < size) & (cells % MAX_SIZE < size)
    noise = jnp.where(inside, jax.random.bits(key, cells.shape, jnp.uint32), jnp.uint32(0xFFFFFFFF))
    noise = (noise >> 8 << 8) | cells
    order = jnp.sort(noise)
    starts = (order[:2] & 0xFF).astype(jnp.int32)
    walls = (noise > order[1]) & (noise <= order[1 + num_walls])
    position = jnp.stack([1 + starts // MAX_SIZE, 1 + starts % MAX_SIZE], axis=1)
    return position, jnp.pad(walls.reshape(MAX_SIZE, MAX_SIZE), 1)


def sample_level(key: PRNGKeyArray, min_size: int = MIN_SIZE, max_size: int = MAX_SIZE) -> Level:
    """A random square level: size, two starts, and clutter on the remaining cells."""
    size_key, cells_key, facing_key, clutter_key = jax.random.split(key, 4)
    size = jax.random.randint(size_key, (), min_size, max_size + 1)
    rate = jax.random.uniform(clutter_key, (), maxval=MAX_CLUTTER)
    num_walls = ((size * size - 2) * rate).astype(jnp.int32)
    position, walls = random_cells(cells_key, size, num_walls)
    return Level(
        walls=pack(walls | outer_wall(size, size)),
        height=size,
        width=size,
        position=position,
        facing=jax.random.randint(facing_key, (2,), 0, 4),
        time_limit=jnp.int32(TIME_LIMIT),
    )


def flood(free: UInt32[Array, "17"], reached: UInt32[Array, "17"]) -> UInt32[Array, "17"]:
    """The free cells reached after one more step from those already reached."""
    above, below = jnp.roll(reached, 1), jnp.roll(reached, -1)
    return free & (reached | above | below | (reached << 1) | (reached >> 1))


def cell_bit(position: Int[Array, "2"]) -> UInt32[Array, "17"]:
    """One cell as a map of bits."""
    return jnp.where(jnp.arange(SIDE) == position[0], jnp.uint32(1) << position[1].astype(jnp.uint32), 0)


def shortest_path(level: Level) -> Int[Array, ""]:
    """Steps from one start to the other, 0 if there is no way."""
    free = pack(inner_cells(level.height, level.width)) & ~level.walls
    start, goal = (cell_bit(position) for position in level.position)
    reached, steps = jax.lax.platform_dependent(free, start, goal, cpu=until_there, default=everywhere)
    return jnp.sum(jnp.where(reached & goal != 0, steps, 0))


Spread = tuple[Array, Array]  # cells reached, and steps of each row, as if the goal lay there


def sweep(free: Array, goal: Array, spread: Spread) -> Spread:
    """One more step along all paths."""
    reached, steps = spread
    return flood(free, reached), steps + (reached & goal == 0)


def until_there(free: Array, start: Array, goal: Array) -> Spread:
    """As far as needed, with a look now and then."""

    def some(spread: Spread) -> Spread:
        return jax.lax.fori_loop(0, SWEEPS, lambda _, now: sweep(free, goal, now), spread)

    def going_on(spread: Spread) -> Array:
        reached, _ = spread
        return jnp.any(flood(free, reached) != reached) & ~jnp.any(reached & goal)

    return jax.lax.while_loop(going_on, some, some((start, jnp.zeros(SIDE, jnp.int32))))


def everywhere(free: Array, start: Array, goal: Array) -> Spread:
    """To the end of the longest path that there can be: a GPU's host would wait at each look."""
    begun = start, jnp.zeros(SIDE, jnp.int32)
    return jax.lax.fori_loop(0, MAX_SIZE**2, lambda _, now: sweep(free, goal, now), begun, unroll=AT_ONCE)


def statistics(level: Level) -> dict[str, Float[Array, ""]]:
    """Share of inner cells that are wall, size, and whether and how far the agents are connected."""
    cells = (level.height * level.width).astype(jnp.float32)
    inner = pack(inner_cells(level.height, level.width))
    steps = shortest_path(level)
    return {
        "wall_share": jnp.bitwise_count(level.walls & inner).sum() / cells,
        "grid_size": (level.height + level.width) / 2,
        "solvable": (steps > 0).astype(jnp.float32),
        "shortest_path": steps.astype(jnp.float32),
    }
