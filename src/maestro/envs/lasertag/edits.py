"""LaserTag levels that differ a little from others: walls flipped, agents moved or turned."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from maestro.envs.lasertag.levels import SIDE, Level, cell_bit, inner_cells, wall_grid

CHANGES = 5  # of an edit
FLIP, MOVE = 0.8, 0.1  # chances of a change; the rest turns an agent


def random_cell(key: PRNGKeyArray, allowed: Bool[Array, "17 17"]) -> Int[Array, "2"]:
    """(row, column) of one of the allowed cells, all alike; the first of the grid if there is none."""
    upto = jnp.cumsum(allowed.ravel())
    number = jax.random.randint(key, (), 0, jnp.maximum(upto[-1], 1))
    cell = jnp.argmax(upto > number).astype(jnp.int32)
    return jnp.stack([cell // SIDE, cell % SIDE])


def unoccupied(level: Level) -> Bool[Array, "17 17"]:
    """The inner cells that no agent stands on, walls among them."""
    taken = cell_bit(level.position[0]) | cell_bit(level.position[1])
    return inner_cells(level.height, level.width) & ~wall_grid(level.replace(walls=taken))


def flip(key: PRNGKeyArray, level: Level) -> Level:
    """A wall becomes free or a free cell wall, where no agent stands."""
    allowed = unoccupied(level)
    bit = cell_bit(random_cell(key, allowed))
    return level.replace(walls=jnp.where(allowed.any(), level.walls ^ bit, level.walls))


def move(key: PRNGKeyArray, level: Level) -> Level:
    """An agent starts on another cell, which is free."""
    who_key, cell_key = jax.random.split(key)
    allowed = unoccupied(level) & ~wall_grid(level)
    who = jax.random.randint(who_key, (), 0, 2)
    moved = level.position.at[who].set(random_cell(cell_key, allowed).astype(level.position.dtype))
    return level.replace(position=jnp.where(allowed.any(), moved, level.position))


def turn(key: PRNGKeyArray, level: Level) -> Level:
    """An agent looks another way."""
    who_key, way_key = jax.random.split(key)
    who = jax.random.randint(who_key, (), 0, 2)
    way = (level.facing[who] + jax.random.randint(way_key, (), 1, 4)) % 4
    return level.replace(facing=level.facing.at[who].set(way.astype(level.facing.dtype)))


def change(key: PRNGKeyArray, level: Level) -> Level:
    """One change: a flip, a move or a turn."""
    kind_key, own_key = jax.random.split(key)
    chance: Float[Array, ""] = jax.random.uniform(kind_key)
    kind = (chance >= FLIP).astype(jnp.int32) + (chance >= FLIP + MOVE)
    return jax.lax.switch(kind, [flip, move, turn], own_key, level)


def edit(key: PRNGKeyArray, level: Level, changes: int = CHANGES) -> Level:
    """A level nearby: a few changes, one after another; size and time limit stay."""
    keys = jax.random.split(key, changes)
    return jax.lax.fori_loop(0, changes, lambda i, changed: change(keys[i], changed), level)
