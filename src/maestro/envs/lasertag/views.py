"""What LaserTag's players see, in two forms that are always equal: whole rows for CPUs, cells for GPUs.

A view is turned so that its player looks up: (row, column, agent | bolt | wall). Its own cell is [4, 2].
Walls hide nothing; beyond the outer wall all channels are 0, and so is everything for a tagged player.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8, UInt32

from maestro.envs.lasertag.levels import SIDE, Level
from maestro.envs.lasertag.state import State

VIEW = 5  # an agent sees 5 columns and 5 rows: its own and the four ahead
CORNER = ((-4, -2), (-2, 0), (0, -2), (-2, -4))  # by facing: from an agent to the top left of what it sees
_BY_ROWS = np.arange(VIEW * VIEW, dtype=np.uint32).reshape(VIEW, VIEW)
# By facing: which bit of each of a view's three words is shown in each cell when the agent looks up.
TURNED = np.stack([np.rot90(np.stack([_BY_ROWS, _BY_ROWS.T, _BY_ROWS], axis=-1), way) for way in range(4)])
View = UInt8[Array, "5 5 3"]
Views = UInt8[Array, "2 5 5 3"]


def observe(level: Level, state: State) -> Views:
    """Both players' views."""
    return jax.lax.platform_dependent(level, state, cpu=by_words, default=by_cells)


def by_cells(level: Level, state: State) -> Views:
    """Every cell of a view looks at the map by itself: many threads, each with little to do."""

    def view(position: Int[Array, "2"], facing: Int[Array, ""], alive: Bool[Array, ""]) -> View:
        y, x = seen(position, facing)
        row, column = (jnp.clip(line, 0, SIDE - 1) for line in (y, x))
        agents = [
            alive & (y == place[0]) & (x == place[1])
            for place, alive in zip(state.position, state.alive, strict=True)
        ]
        wall = level.walls[row] >> column.astype(jnp.uint32) & 1 > 0
        held = jnp.stack([agents[0] | agents[1], state.bolts[row, column] > 0, wall], axis=-1)
        return (held & ((row == y) & (column == x) & alive)[..., None]).astype(jnp.uint8)

    return jax.vmap(view)(state.position, state.facing, state.alive)


def seen(position: Int[Array, "2"], facing: Int[Array, ""]) -> tuple[Int[Array, "5 5"], Int[Array, "5 5"]]:
    """(row, column) on the map of each cell of a view."""
    down = jnp.where(facing % 2 == 0, facing - 1, 0)  # what one step ahead adds to a row, and to a column
    right = jnp.where(facing % 2 == 1, 2 - facing, 0)
    ahead, aside = VIEW - 1 - jnp.arange(VIEW)[:, None], jnp.arange(VIEW)[None] - VIEW // 2
    return position[0] + ahead * down + aside * right, position[1] + ahead * right - aside * down


def by_words(level: Level, state: State) -> Views:
    """Rows and columns of the map as words, of which views are cut out: few instructions in all."""
    flying = columns(state.bolts)
    return jnp.stack([view_by_words(level, state, flying, player) for player in range(2)])


def columns(grid: UInt8[Array, "17 17"]) -> UInt32[Array, "17"]:
    """A word for each column of the grid: bit y says whether the cell in row y holds anything."""
    # Row after row: XLA fuses one sum with the flight of the bolts into a loop without vectors.
    bits = [jnp.where(grid[y] > 0, jnp.uint32(1 << y), jnp.uint32(0)) for y in range(SIDE)]
    return sum(bits, jnp.uint32(0))


def window(words: UInt32[Array, "17"], corner: Int[Array, "2"]) -> UInt32[Array, ""]:
    """5 bits, from bit corner[1] on, of each of 5 words, from word corner[0] on; 0 beyond the map."""
    margin = VIEW - 1
    padded = jnp.pad(words << margin, margin)
    shift = (corner[1] + margin).astype(jnp.uint32)
    fives = [padded[corner[0] + margin + i] >> shift & (1 << VIEW) - 1 for i in range(VIEW)]
    return sum([five << VIEW * i for i, five in enumerate(fives)], jnp.uint32(0))


def view_by_words(level: Level, state: State, flying: UInt32[Array, "17"], player: int) -> View:
    """What a player sees; `flying` are the bolts by columns."""
    facing = state.facing[player]
    corner = state.position[player] + jnp.array(CORNER, jnp.int32)[facing]
    offset = state.position - corner[None]
    within = (offset >= 0) & (offset < VIEW)
    near = within[:, 0] & within[:, 1] & state.alive
    agents = jnp.where(near, jnp.uint32(1) << (offset[:, 0] * VIEW + offset[:, 1]).astype(jnp.uint32), 0)
    words = [agents[0] | agents[1], window(flying, corner[::-1]), window(level.walls, corner)]
    seen = jnp.where(state.alive[player], jnp.stack(words), 0)
    return (seen[None, None] >> jnp.array(TURNED)[facing] & 1).astype(jnp.uint8)
