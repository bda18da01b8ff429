"""What an observation and an action can be, in Gymnasium's words, and which actions are refused."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from maestro.envs.base import Discrete, Environment


def observation_space(shape: Any, bounds: Any = None) -> spaces.Space:
    """The space of one agent's observation, an array or a dict of arrays, given its shapes and bounds."""
    if isinstance(shape, dict):
        inner = bounds if isinstance(bounds, Mapping) else dict.fromkeys(shape, bounds)
        return spaces.Dict({name: observation_space(part, inner.get(name)) for name, part in shape.items()})
    if not isinstance(shape, jax.ShapeDtypeStruct):
        raise TypeError(f"observation is a {type(shape).__name__}; allowed: an array, or a dict of arrays")
    dtype = np.dtype(shape.dtype)
    if np.issubdtype(dtype, np.bool_):
        return spaces.MultiBinary(shape.shape)
    low, high = usual_bounds(dtype) if bounds is None else bounds
    return spaces.Box(low, high, shape.shape, dtype.type)


def usual_bounds(dtype: np.dtype) -> tuple[int | float, int | float]:
    """The smallest and the largest number of a type, where the game says nothing."""
    if np.issubdtype(dtype, np.integer):
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return -np.inf, np.inf


def action_space(env: Environment) -> spaces.Space:
    """The space of one agent's action."""
    if isinstance(env.action, Discrete):
        return spaces.Discrete(env.action.num)
    return spaces.Box(env.action.low, env.action.high, (env.action.size,), np.float32)


def check_actions(env: Environment, given: Any, whose: str, games: int | None = None) -> np.ndarray:
    """One action, or one for each of many games, as the game takes it; anything else is refused."""
    discrete = isinstance(env.action, Discrete)
    lead = () if games is None else (games,)
    shape = lead if isinstance(env.action, Discrete) else (*lead, env.action.size)
    try:
        actions = np.asarray(given)
    except ValueError:  # lists of different lengths
        actions = np.asarray(None)
    if actions.dtype.kind not in ("iu" if discrete else "iuf") or actions.shape != shape:
        raise ValueError(f"{whose}: {given!r} is not allowed; {allowed(env, shape)}")
    low, high = (
        (0, env.action.num - 1) if isinstance(env.action, Discrete) else (env.action.low, env.action.high)
    )
    legal = (actions >= low) & (actions <= high)  # NaN is neither
    if not legal.all():
        place = tuple(int(i) for i in np.argwhere(~legal)[0])
        which = f"{whose}{list(place)}" if place else whose
        raise ValueError(f"{which}: {actions[place]} is not allowed; {allowed(env, shape)}")
    return actions.astype(np.int32 if discrete else np.float32)


def allowed(env: Environment, shape: tuple[int, ...]) -> str:
    """What to say of the actions that a game takes."""
    if isinstance(env.action, Discrete):
        kind = f"integers from 0 to {env.action.num - 1}"
    else:
        kind = f"numbers from {env.action.low:g} to {env.action.high:g}"
    return f"allowed: {kind}" + (f", in an array of shape {shape}" if shape else "")
