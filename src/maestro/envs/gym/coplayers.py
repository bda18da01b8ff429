"""Who plays beside the one: a player inside the compiled program, or any function outside of it."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from maestro.envs.base import Environment
from maestro.envs.gym.match import Fixed


def as_coplayer(given: Any) -> Any:
    """A player as a tree of arrays, or a function as it is."""
    if hasattr(given, "start") and hasattr(given, "act"):
        return Fixed(given) if jax.tree_util.all_leaves([given]) else given
    if callable(given):
        return takes_key(given)
    raise TypeError(f"co-player: {given!r} is neither a player nor a function of an observation")


def is_function(coplayer: Any) -> bool:
    """Whether a co-player acts outside of the compiled program."""
    return not hasattr(coplayer, "start")


def takes_key(function: Callable) -> Callable[[np.random.Generator, Any], Any]:
    """A function of (obs), or of (key, obs), as one of (generator, obs)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions in C tell nothing
        parameters = {}.values()
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) < 2:
        return lambda generator, obs: function(obs)
    return lambda generator, obs: function(jax.random.key(int(generator.integers(2**32))), obs)


def other_seats(env: Environment, seat: int) -> tuple[int, ...]:
    """The seats of a co-player beside one."""
    if not 0 <= seat < env.num_agents:
        raise ValueError(f"seat is {seat}; allowed: 0 to {env.num_agents - 1}")
    return tuple(other for other in range(env.num_agents) if other != seat)
