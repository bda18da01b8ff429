"""The clauses of the contract: each yields what it saw broken."""

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs import base
from maestro.envs.base import Box, Discrete
from maestro.envs.contract.trial import (
    MANY_LEVELS,
    NoPlay,
    Trial,
    any_of,
    beyond,
    difference,
    play_eagerly,
    play_long,
    random_actions,
    sample_levels,
    sample_many,
    shapes_of,
)

FIELDS = ("num_agents", "zero_sum", "action", "sample_level", "reset", "step", "statistics")


def interface(trial: Trial) -> Iterator[str]:
    """The fixed fields are there, and the environment can be a static argument."""
    env = trial.env
    if missing := [name for name in FIELDS if not hasattr(env, name)]:
        yield f"{', '.join(missing)}: missing"
    if not (isinstance(env.num_agents, int) and env.num_agents >= 1):
        yield f"num_agents is {env.num_agents!r}, not a positive int"
    if not isinstance(env.action, Discrete | Box):
        yield f"action is {env.action!r}, neither Discrete nor Box"
    if hash(env) != hash(copy.deepcopy(env)):
        yield "two equal instances have different hashes"
    if jnp.shape(trial.levels[0].time_limit) != ():
        yield "level.time_limit is not one number"


def agents_lead(trial: Trial) -> Iterator[str]:
    """Observations and rewards have the agents as leading axis."""
    num = trial.env.num_agents
    for results in trial.played:
        for result in results:
            for leaf in jax.tree.leaves(result[1]):
                if jnp.shape(leaf)[:1] != (num,):
                    yield f"an observation has shape {jnp.shape(leaf)}, not ({num}, ...)"
        for result in results[1:]:
            if jnp.shape(result[2]) != (num,):
                yield f"the reward has shape {jnp.shape(result[2])}, not ({num},)"


def score(trial: Trial) -> Iterator[str]:
    """`info["score"]` holds one number for each agent."""
    for result in trial.played[0][1:]:
        if "score" not in result[5]:
            yield f"info has {sorted(result[5])}, no 'score'"
        elif jnp.shape(result[5]["score"]) != (trial.env.num_agents,):
            yield f"info['score'] has shape {jnp.shape(result[5]['score'])}, not ({trial.env.num_agents},)"


def constant_shapes(trial: Trial) -> Iterator[str]:
    """Levels, states, observations and infos keep their structure, shapes and dtypes."""
    if shapes_of(trial.levels[0]) != shapes_of(trial.levels[1]):
        yield f"levels: {shapes_of(trial.levels[0])}, then {shapes_of(trial.levels[1])}"
    first, second = (shapes_of(trial.played[0][n]) for n in (0, 1))
    for results in trial.played:
        for number, result in enumerate(results):
            now = shapes_of(result)
            if now[:2] != first[:2]:
                yield f"state and obs: {first[:2]} at the reset, then {now[:2]}"
            if number and now != second:
                yield f"step: {second}, then {now}"


def jit_equals_eager(trial: Trial) -> Iterator[str]:
    """Jitted reset and step return what they return without jit."""
    for level, results in zip(trial.levels, trial.played, strict=True):
        if leaf := difference(trial.reset(jax.random.key(1), level), results[0]):
            yield f"reset: {leaf} differs"
        for number, (before, after) in enumerate(pairwise(results)):
            key = jax.random.key(number)
            jitted = trial.step(key, level, before[0], random_actions(key, trial.env))
            if leaf := difference(jitted, after):
                yield f"step: {leaf} differs"


def vmap_equals_a_loop(trial: Trial) -> Iterator[str]:
    """A batch of resets and steps holds what they return one by one."""
    stack = partial(jax.tree.map, lambda *xs: jnp.stack(xs))
    key, levels = jax.random.key(0), stack(*trial.levels)
    starts = [trial.reset(key, level) for level in trial.levels]
    batch = jax.jit(jax.vmap(trial.env.reset, (None, 0)))(key, levels)
    if leaf := difference(batch, stack(*starts)):
        yield f"reset: {leaf} differs"
    actions = random_actions(key, trial.env)
    singles = [
        trial.step(key, level, start[0], actions) for level, start in zip(trial.levels, starts, strict=True)
    ]
    batch = jax.jit(jax.vmap(trial.env.step, (None, 0, 0, None)))(key, levels, stack(*starts)[0], actions)
    if leaf := difference(batch, stack(*singles)):
        yield f"step: {leaf} differs"


def reset_forgets(trial: Trial) -> Iterator[str]:
    """A reset after play, and on another level in between, is the first reset."""
    for level, results in zip(trial.levels, trial.played, strict=True):
        play_eagerly(trial.env, level)
        if leaf := difference(trial.env.reset(jax.random.key(1), level), results[0], exact=True):
            yield f"{leaf} of the same reset differs after some play"


def can_be_scanned(trial: Trial) -> Iterator[str]:
    """Play with resets can be one jitted loop."""
    try:
        _ = trial.long_play
    except NoPlay as error:
        yield str(error).splitlines()[0]


def same_key_same_steps(trial: Trial) -> Iterator[str]:
    """Two instances play the same steps from the same keys."""
    other = copy.deepcopy(trial.env)
    if leaf := difference(sample_levels(other), trial.levels, exact=True):
        yield f"sample_level: {leaf} differs"
    elif leaf := difference(sample_many(other), trial.many, exact=True):
        yield f"sample_level: {leaf} differs for one of {MANY_LEVELS} keys"
    differs = trial.long_play["digest"] != play_long(other, trial.many)["digest"]
    if differs.any():
        yield f"two instances differ first in step {int(differs.any(0).argmax()) + 1}"


def first_step(seen: np.ndarray) -> str:
    """Where something was seen first: on how many levels, in which step."""
    levels = int(seen.any(axis=1).sum())
    return f"in step {int(seen.any(axis=0).argmax()) + 1}, on {levels} of {len(seen)} levels"


def finite(trial: Trial) -> Iterator[str]:
    """Nothing that is returned is NaN; observations, rewards and infos are not infinite."""
    resets = [results[0] for results in trial.played]
    if any_of((trial.levels, trial.many, resets), jnp.isnan):
        yield "NaN in a level or a reset"
    if any_of([obs for _, obs in resets], jnp.isinf):
        yield "an infinite number in the observation of a reset"
    for name, what in (("nan", "NaN"), ("infinite", "an infinite number")):
        if trial.long_play[name].any():
            yield f"{what} {first_step(trial.long_play[name])}"


def observation_bounds(trial: Trial) -> Iterator[str]:
    """Observations keep to `observation_bounds`, where a game declares them."""
    bounds = base.observation_bounds(trial.env)
    if any(beyond(bounds, results[0][1]) for results in trial.played):
        yield f"the observation of a reset is beyond {bounds}"
    if trial.long_play["beyond"].any():
        yield f"an observation is beyond {bounds} {first_step(trial.long_play['beyond'])}"


def time_limit(trial: Trial) -> Iterator[str]:
    """No episode is longer than its level's limit, and none is truncated before."""
    limits, age = np.asarray(trial.many.time_limit)[:, None], trial.long_play["age"]
    if (age > limits).any():
        limit = int(limits[(age > limits).any(axis=1)][0, 0])
        yield f"an episode goes on after {limit} steps, the limit of its level"
    early = trial.long_play["truncated"].astype(bool).reshape(age.shape) & (age < limits)
    if early.any():
        limit = int(limits[early.any(axis=1)][0, 0])
        yield f"an episode is truncated after {int(age[early][0])} steps; the limit of its level is {limit}"


def one_end(trial: Trial) -> Iterator[str]:
    """`terminated` and `truncated` are single truth values, never both true."""
    for name in ("terminated", "truncated"):
        seen = trial.long_play[name]
        if seen.dtype != bool or seen.ndim != 2:
            yield f"{name} is {seen.dtype}{list(seen.shape[2:])}, not one bool"
    if (trial.long_play["terminated"] & trial.long_play["truncated"]).any():
        yield "terminated and truncated are both true in one step"


def zero_sum(trial: Trial) -> Iterator[str]:
    """Rewards sum to zero where `zero_sum` says so."""
    reward = trial.long_play["reward"]
    off = np.abs(reward.sum(-1)).max()
    if trial.env.zero_sum and off > 1e-5 * max(1.0, np.abs(reward).max()):
        yield f"zero_sum is true, but the rewards of a step sum to {off:g}"


def statistics(trial: Trial) -> Iterator[str]:
    """Each statistic of a level is one finite number."""
    for name, value in trial.env.statistics(trial.levels[0]).items():
        if jnp.shape(value) != ():
            yield f"{name!r} is {value}, not one number"
    for name, values in jax.jit(jax.vmap(trial.env.statistics))(trial.many).items():
        if not np.isfinite(values).all():
            yield f"{name!r} is not finite on {int((~np.isfinite(values)).sum())} of {MANY_LEVELS} levels"


def edits(trial: Trial) -> Iterator[str]:
    """Edited levels look like others, depend on nothing but key and level, and can be begun and measured."""
    keys = jax.random.split(jax.random.key(0), MANY_LEVELS)
    edit = jax.jit(jax.vmap(lambda key, level: trial.env.edit(key, level)))
    changed = edit(keys, edit(keys, trial.many))
    if shapes_of(changed) != shapes_of(trial.many):
        yield f"levels: {shapes_of(trial.many)}, edited: {shapes_of(changed)}"
        return
    again = jax.jit(jax.vmap(lambda key, level: copy.deepcopy(trial.env).edit(key, level, 5)))
    if leaf := difference(again(keys, again(keys, trial.many)), changed, exact=True):
        yield f"{leaf} differs when the same edit of five changes is made again"
    _, obs = jax.jit(jax.vmap(trial.env.reset))(keys, changed)
    if any_of((changed, obs), jnp.isnan) or any_of(obs, jnp.isinf):
        yield "a number that is not finite on an edited level"
    if beyond(base.observation_bounds(trial.env), obs):
        yield f"an observation on an edited level is beyond {base.observation_bounds(trial.env)}"
    measured = jax.jit(jax.vmap(trial.env.statistics))(changed)
    if odd := [name for name, values in measured.items() if not np.isfinite(values).all()]:
        yield f"{', '.join(odd)}: not finite on an edited level"


def round_trip(trial: Trial) -> Iterator[str]:
    """A level that is written and read again is the same."""
    for level in trial.levels:
        if leaf := difference(trial.from_text(trial.to_text(level)), level):
            yield f"{leaf} differs after writing and reading"


ROUND_TRIP = "levels round-trip"
EDITS = "edits"
CLAUSES: dict[str, Callable[[Trial], Iterator[str]]] = {
    "interface": interface,
    "agents lead": agents_lead,
    "score": score,
    "constant shapes": constant_shapes,
    "jit equals eager": jit_equals_eager,
    "vmap equals a loop": vmap_equals_a_loop,
    "reset forgets": reset_forgets,
    "can be scanned": can_be_scanned,
    "same key, same steps": same_key_same_steps,
    "finite": finite,
    "observation bounds": observation_bounds,
    "time limit": time_limit,
    "one end": one_end,
    "zero sum": zero_sum,
    "statistics": statistics,
    EDITS: edits,
    ROUND_TRIP: round_trip,
}
