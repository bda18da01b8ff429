"""The student's value of each observation that followed a step, before any restart.

Where an episode goes on this is its value at the next step, up to rounding. A CPU computes all of them again,
as it always has; elsewhere only those that nobody knows: beyond a time limit, and beyond the last step.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float

from maestro.agents.base import Agent, Params
from maestro.trees import Tree

PIECES = 16  # in which all of them are computed, to bound memory


class Seen(PyTreeNode):
    """What a value is of: an observation, and what was remembered before it."""

    memory: Tree  # leaves [T, E, ...]; after each step's own observation
    last: Tree  # leaves [E, ...]; of the last step: where nothing else is asked for, nothing else is kept
    following: Tree  # leaves [T, E, ...]; the observations that followed


def found(
    agent: Agent,
    student: Params,
    seen: Seen,
    value: Float[Array, "T E"],
    cut: Bool[Array, "T E"],
    cuts: int | None = None,
) -> Float[Array, "T E"]:
    """After steps with these values, of which time limits `cut` off some, at most `cuts` in a column.

    Where the game is over nothing follows, and any number will do.
    """
    where = {"cpu": partial(every, agent), "default": partial(missing, agent, cuts)}
    return jax.lax.platform_dependent(student, seen, value, cut, **where)


def look(agent: Agent, student: Params, weights: Any, memory: Tree, obs: Tree) -> Array:
    """The values of some observations."""
    return agent.value(student, agent.step(weights, memory, obs)[1])


def every(agent: Agent, student: Params, seen: Seen, value: Array, cut: Array) -> Array:
    """All, some steps at a time."""
    (steps, envs), weights = value.shape, agent.prepare(student)
    pieces = next(c for c in range(min(PIECES, steps), 0, -1) if steps % c == 0)
    both = jax.tree.map(lambda x: x.reshape(pieces, -1, *x.shape[2:]), (seen.memory, seen.following))
    return jax.lax.map(lambda x: look(agent, student, weights, *x), both).reshape(steps, envs)


def missing(agent: Agent, cuts: int | None, student: Params, seen: Seen, value: Array, cut: Array) -> Array:
    """The next step's value; what was cut off is looked at, of each environment one after another.

    In a loop of unknown length a GPU's host would wait at each turn.
    """
    of = partial(look, agent, student, agent.prepare(student))

    def one(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        cut, known = carry
        at = jnp.argmax(cut, axis=0), jnp.arange(cut.shape[1])  # the first; if none, step 0 once more
        fresh = of(*jax.tree.map(lambda x: x[at], (seen.memory, seen.following)))
        return cut.at[at].set(False), known.at[at].set(fresh)

    beyond = of(seen.last, jax.tree.map(lambda x: x[-1], seen.following))
    carry = cut, jnp.concatenate([value[1:], beyond[None]])
    if cuts is None:
        return jax.lax.while_loop(lambda carry: carry[0].any(), one, carry)[1]
    return jax.lax.fori_loop(0, cuts, lambda _, carry: one(carry), carry)[1] if cuts else carry[1]
