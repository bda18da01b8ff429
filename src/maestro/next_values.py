"""The student's value of each observation that followed a step, before any restart.

Where an episode goes on this is its value at the next step, up to rounding. A CPU computes all of them again,
as it always has; elsewhere only those that nobody knows: beyond a time limit, and beyond the last step.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro.agents.base import Agent, Memory, Params
from maestro.envs.base import Obs

PIECES = 16  # in which all of them are computed, to bound memory


def found(
    agent: Agent,
    student: Params,
    seen: tuple[Memory, Obs],
    value: Float[Array, "T E"],
    terminated: Bool[Array, "T E"],
    truncated: Bool[Array, "T E"],
) -> Float[Array, "T E"]:
    """After steps with these values; what was `seen`, memories and what followed, has leaves [T, E, ...].

    Where the game is over nothing follows, and any number will do.
    """
    unknown = (truncated & ~terminated).at[-1].set(True)
    where = {"cpu": partial(every, agent), "default": partial(missing, agent)}
    return jax.lax.platform_dependent(student, seen, value, unknown, **where)


def look(agent: Agent, student: Params, weights: Any, seen: tuple[Memory, Obs]) -> Array:
    """The values of some observations."""
    return agent.value(student, agent.step(weights, *seen)[1])


def every(agent: Agent, student: Params, seen: tuple[Memory, Obs], value: Array, unknown: Array) -> Array:
    """All, some steps at a time."""
    (steps, envs), weights = value.shape, agent.prepare(student)
    pieces = next(c for c in range(min(PIECES, steps), 0, -1) if steps % c == 0)
    split = jax.tree.map(lambda x: x.reshape(pieces, -1, *x.shape[2:]), seen)
    return jax.lax.map(partial(look, agent, student, weights), split).reshape(steps, envs)


def missing(agent: Agent, student: Params, seen: tuple[Memory, Obs], value: Array, unknown: Array) -> Array:
    """The next step's value; where that is unknown, of each environment one after another.

    The first ones without a loop, for which a GPU's host would wait at each turn: often there are no others.
    """
    weights, envs = agent.prepare(student), jnp.arange(value.shape[1])

    def one(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        unknown, known = carry
        at = jnp.argmax(unknown, axis=0), envs  # the first; if there is none, that of step 0 once more
        fresh = look(agent, student, weights, jax.tree.map(lambda x: x[at], seen))
        return unknown.at[at].set(False), known.at[at].set(fresh)

    later = jnp.concatenate([value[1:], value[-1:]])
    return jax.lax.while_loop(lambda carry: carry[0].any(), one, one((unknown, later)))[1]
