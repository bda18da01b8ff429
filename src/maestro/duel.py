"""Two players, one level, one episode: play it, or play many and count."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Int, PRNGKeyArray

from maestro.envs.base import Environment, Level
from maestro.envs.lasertag.players import Player, Sight

ROUND = 50  # time limits are rounded up to a multiple, so that few programs are compiled


class Episode(PyTreeNode):
    """What happened, T being the time limit rounded up; after the end everything stands still."""

    states: Any  # [T + 1], the start included
    actions: Any  # [T, 2]
    rewards: Any  # [T, 2]; 0 after the end
    length: Any  # steps until the end
    outcome: Any  # 1: the first player won, 0: a draw, -1: the second won


class Tally(PyTreeNode):
    """Episodes by their outcome for the first player."""

    wins: Any
    draws: Any
    losses: Any


def duel(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player) -> Episode:
    """One episode of `a` (the student's seat) against `b`."""
    return episode(key, env, level, a, b, _bound(level))


def duel_many(key: PRNGKeyArray, env: Environment, levels: Level, a: Player, b: Player) -> Tally:
    """One episode on each of a batch of levels, counted."""
    keys = jax.random.split(key, len(levels.time_limit))
    outcome = _outcomes(keys, env, levels, a, b, _bound(levels))
    return Tally(wins=jnp.sum(outcome > 0), draws=jnp.sum(outcome == 0), losses=jnp.sum(outcome < 0))


def _bound(level: Level) -> int:
    """A static number of steps in which every episode ends."""
    return -(-int(jnp.max(level.time_limit)) // ROUND) * ROUND


@partial(jax.jit, static_argnames=("env", "steps"))
def episode(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, steps: int) -> Episode:
    """`steps` steps, of which those after the end change nothing."""
    keys = jax.random.split(key, steps + 1)
    state, obs = env.reset(keys[0], level)

    def turn(carry, key):
        state, obs, memories, done = carry
        a_key, b_key, step_key = jax.random.split(key, 3)
        a_memory, a_action = a.act(a_key, memories[0], obs[0], Sight(level, state, 0))
        b_memory, b_action = b.act(b_key, memories[1], obs[1], Sight(level, state, 1))
        actions = jnp.stack([a_action, b_action])
        new_state, new_obs, _, terminated, truncated, info = env.step(step_key, level, state, actions)
        new = (new_state, new_obs, (a_memory, b_memory), terminated | truncated)
        kept = jax.tree.map(lambda old, fresh: jnp.where(done, old, fresh), carry, new)
        return kept, (kept[0], actions, jnp.where(done, 0, info["score"]), ~done)

    first = (state, obs, (a.start(), b.start()), jnp.bool_(False))
    _, (states, actions, rewards, played) = jax.lax.scan(turn, first, keys[1:])
    total = jnp.sum(rewards, axis=0)
    return Episode(
        states=jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), state, states),
        actions=actions,
        rewards=rewards,
        length=jnp.sum(played),
        outcome=jnp.sign(total[0] - total[1]).astype(jnp.int32),
    )


@partial(jax.jit, static_argnames=("env", "steps"))
def _outcomes(
    keys: Any, env: Environment, levels: Level, a: Player, b: Player, steps: int
) -> Int[Array, " levels"]:
    """The outcomes of one episode on each level."""
    return jax.vmap(lambda key, level: episode(key, env, level, a, b, steps).outcome)(keys, levels)
