"""What the contract's clauses look at: a game's levels, a few steps without jit, a long jitted play."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.base import Discrete, observation_bounds
from maestro.trees import numbers

NUM_STEPS = 500  # steps that two instances must share
NUM_LEVELS = 2  # played without jit, step by step
MANY_LEVELS = 128  # played in one jitted program: a game may break on some levels only
NEAR = {"rtol": 1e-5, "atol": 1e-6}  # rounding that jit and vmap may add to reals


class NoPlay(Exception):
    """The game cannot be played at all."""


@dataclass(frozen=True)
class Trial:
    """A game and what was seen of it, computed when first asked for."""

    env: Any
    to_text: Any
    from_text: Any

    @cached_property
    def levels(self) -> list[Any]:
        return sample_levels(self.env)

    @cached_property
    def played(self) -> list[list[tuple]]:
        """Without jit, on each level: the reset as (state, obs), then three steps."""
        return [play_eagerly(self.env, level) for level in self.levels]

    @cached_property
    def reset(self) -> Any:
        """The jitted reset."""
        return jax.jit(lambda key, level: self.env.reset(key, level))

    @cached_property
    def step(self) -> Any:
        """The jitted step."""
        return jax.jit(lambda *args: self.env.step(*args))

    @cached_property
    def many(self) -> Any:
        """Many levels as one tree, each leaf [levels, ...]."""
        return sample_many(self.env)

    @cached_property
    def long_play(self) -> dict[str, np.ndarray]:
        """Some hundred jitted steps on each of many levels, longer than their limits; see `play_long`."""
        try:
            return play_long(self.env, self.many)
        except Exception as error:
            raise NoPlay(f"raised {type(error).__name__}: {error}") from error


def sample_levels(env: Any) -> list[Any]:
    """The generator's levels for the first few keys."""
    sample = jax.jit(lambda key: env.sample_level(key))  # a trace of its own for every call
    return [sample(jax.random.key(number)) for number in range(NUM_LEVELS)]


def sample_many(env: Any) -> Any:
    """The generator's levels for many keys."""
    keys = jnp.stack([jax.random.key(number) for number in range(MANY_LEVELS)])
    return jax.jit(jax.vmap(lambda key: env.sample_level(key)))(keys)


def random_actions(key: Any, env: Any) -> Any:
    """Uniform actions of all agents."""
    if isinstance(env.action, Discrete):
        return jax.random.randint(key, (env.num_agents,), 0, env.action.num)
    shape = (env.num_agents, env.action.size)
    return jax.random.uniform(key, shape, minval=env.action.low, maxval=env.action.high)


def play_eagerly(env: Any, level: Any) -> list[tuple]:
    """A reset and three steps without jit."""
    results: list[tuple] = [env.reset(jax.random.key(1), level)]
    for number in range(3):
        key = jax.random.key(number)
        results.append(env.step(key, level, results[-1][0], random_actions(key, env)))
    return results


def digest(tree: Any) -> Any:
    """A number that changes, nearly surely, when any entry of the tree does."""
    total = jnp.uint32(0)
    for number, leaf in enumerate(map(jnp.asarray, jax.tree.leaves(tree))):
        leaf = numbers(leaf)
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            leaf = jax.lax.bitcast_convert_type(leaf.astype(jnp.float32), jnp.uint32)
        bits = jnp.ravel(leaf).astype(jnp.uint32)
        weight = 2 * jnp.arange(bits.size, dtype=jnp.uint32) + 2 * number + 1
        total = total * 31 + jnp.sum(bits * weight, dtype=jnp.uint32)
    return total


def any_of(tree: Any, odd: Any) -> Any:
    """Whether any real number in the tree is `odd`: `jnp.isnan` or `jnp.isinf`."""
    reals = [x for x in map(jnp.asarray, jax.tree.leaves(tree)) if jnp.issubdtype(x.dtype, jnp.inexact)]
    return jnp.any(jnp.array([jnp.any(odd(x)) for x in reals] or [False]))


def beyond(bounds: Any, obs: Any) -> Any:
    """Whether any number of an observation is beyond what the game has declared, None being no bounds."""
    if isinstance(obs, dict):
        inner = bounds if isinstance(bounds, dict) else dict.fromkeys(obs, bounds)
        return jnp.any(jnp.array([beyond(inner.get(name), part) for name, part in obs.items()]))
    low, high = (-jnp.inf, jnp.inf) if bounds is None else bounds
    return jnp.any(jnp.array([jnp.any((x < low) | (x > high)) for x in jax.tree.leaves(obs)]))


def play_long(env: Any, levels: Any) -> dict[str, np.ndarray]:
    """Arrays [levels, steps, ...]: reward, ends, age of the episode, NaN and the like, a digest of it all."""
    num_steps = max(NUM_STEPS, int(jnp.max(levels.time_limit)) + 1)

    def step(level: Any, carry: Any, key: Any) -> Any:
        state, age = carry
        action_key, step_key, reset_key = jax.random.split(key, 3)
        result = env.step(step_key, level, state, random_actions(action_key, env))
        done = result[3] | result[4]
        seen = {"digest": digest(result), "reward": result[2], "age": age + 1}
        seen |= {"nan": any_of(result, jnp.isnan), "infinite": any_of((*result[1:3], result[5]), jnp.isinf)}
        seen |= {"terminated": result[3], "truncated": result[4]}
        seen |= {"beyond": beyond(observation_bounds(env), result[1])}
        state = jax.tree.map(partial(jnp.where, done), env.reset(reset_key, level)[0], result[0])
        return (state, jnp.where(done, 0, age + 1)), seen

    @jax.jit
    def play(levels: Any, key: Any) -> Any:
        def one(level: Any) -> Any:
            first, _ = env.reset(key, level)
            return jax.lax.scan(partial(step, level), (first, 0), jax.random.split(key, num_steps))[1]

        return jax.vmap(one)(levels)

    return jax.tree.map(np.asarray, play(levels, jax.random.key(0)))


def shapes_of(tree: Any) -> Any:
    """The tree with each array's shape and dtype in its place."""
    return jax.tree.map(lambda x: (jnp.shape(x), str(jnp.asarray(x).dtype)), tree)


def difference(one: Any, other: Any, exact: bool = False) -> str | None:
    """The first leaf in which two trees differ, reals beyond rounding unless `exact`."""
    if str(jax.tree.structure(one)) != str(jax.tree.structure(other)):
        return "the structure of the tree"
    pairs = zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(other), strict=True)
    for (path, a), b in pairs:
        a, b = numbers(a), numbers(b)
        real = jnp.issubdtype(jnp.asarray(a).dtype, jnp.inexact) and not exact
        nan = jnp.issubdtype(jnp.asarray(a).dtype, jnp.inexact)  # equal to itself: another clause names it
        same = np.allclose(a, b, equal_nan=True, **NEAR) if real else np.array_equal(a, b, equal_nan=nan)
        if shapes_of(a) != shapes_of(b) or not same:
            return f"leaf {jax.tree_util.keystr(path) or 'itself'}"
    return None
