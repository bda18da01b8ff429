"""The frozen co-players and the results of the student against them (paper, sections 2.2 and 3.2.1)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int

from maestro.trees import Leaf, Tree

MEMORY = 128  # episodes over which a win rate is taken
MOST_GAMES = 2**30  # that are counted; then half of them, a multiple of MEMORY, is forgotten


class Population(PyTreeNode):
    """Slot 0 is the live student and no member; members take slots 1, 2, ... in the order they joined.

    Until the first has joined, slot 1 holds the student's initial parameters.
    """

    params: Tree  # a tree, each leaf [P, ...]
    size: Leaf  # members
    results: Leaf  # [P, 128]; the latest results, 1 won, 0.5 drawn, 0 lost; a ring
    games: Leaf  # int [P]; results ever recorded


def init(student: Any, max_members: int) -> Population:
    """No members yet; slot 0 mirrors the student, slot 1 keeps it as it is now until someone joins."""
    slots = max(1, max_members) + 1
    return Population(
        params=jax.tree.map(lambda x: jnp.zeros((slots, *x.shape), x.dtype).at[:2].set(x), student),
        size=jnp.int32(0),
        results=jnp.zeros((slots, MEMORY)),
        games=jnp.zeros(slots, jnp.int32),
    )


def members(population: Population) -> Bool[Array, " P"]:
    """Which slots hold a member."""
    slot = jnp.arange(population.games.shape[0])
    return (slot >= 1) & (slot <= population.size)


def mirror(population: Population, student: Any) -> Population:
    """Slot 0 follows the student."""
    return population.replace(params=jax.tree.map(lambda p, x: p.at[0].set(x), population.params, student))


def add(population: Population, student: Any, joins: Bool[Array, ""]) -> Population:
    """A frozen copy of the student joins, if `joins`, with no results yet."""
    slots = population.games.shape[0]
    slot = jnp.where(joins, population.size + 1, slots)
    put = jax.tree.map(lambda p, x: p.at[slot].set(x, mode="drop"), population.params, student)
    return population.replace(params=put, size=population.size + joins)


def member(population: Population, slot: Int[Array, "*b"]) -> Any:
    """The parameters in a slot, or in several."""
    return jax.tree.map(lambda p: p[slot], population.params)


def record(population: Population, slot: Int[Array, "*b"], results: Float[Array, "T E"]) -> Population:
    """Results against the co-player in `slot` (of each environment), oldest first; NaN is no result.

    Within a step they count in the order of the environments.
    """
    known = ~jnp.isnan(results)
    if slot.ndim == 0:
        ring, games = remember(population.results[slot], population.games[slot], known, results)
        rings, totals = population.results.at[slot].set(ring), population.games.at[slot].set(games)
    else:
        slots = jnp.arange(population.games.shape[0])[:, None, None]
        mine = known[None] & (slots == slot[None, None, :])
        rings, totals = jax.vmap(remember, in_axes=(0, 0, 0, None))(
            population.results, population.games, mine, results
        )
    return population.replace(results=rings, games=totals)


def remember(ring: Array, games: Array, known: Array, results: Array) -> tuple[Array, Array]:
    """One slot's ring and its number of games, after the known results."""
    chosen = known.ravel()
    number = games + jnp.cumsum(chosen) - 1
    total = games + jnp.sum(chosen)
    place = jnp.where(chosen & (number >= total - MEMORY), number % MEMORY, MEMORY)
    ring = ring.at[place].set(results.ravel(), mode="drop")
    return ring, jnp.where(total < MOST_GAMES, total, total - MOST_GAMES // 2)  # so that no count overflows


def win_rate(population: Population) -> Float[Array, " P"]:
    """Share won against each slot over its memory, a draw counting half; 0.5 without a game."""
    count = jnp.minimum(population.games, MEMORY)
    known = jnp.arange(MEMORY)[None, :] < count[:, None]
    rate = jnp.sum(jnp.where(known, population.results, 0.0), axis=1) / jnp.maximum(count, 1)
    return jnp.where(count > 0, rate, 0.5)
