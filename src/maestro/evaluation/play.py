"""Two players, one level, one episode; many of them at once (paper, appendix D.1, evaluation procedure)."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Int, PRNGKeyArray

from maestro.envs.base import Environment, Level
from maestro.envs.players import Player, Sight
from maestro.regret import accumulated, lead
from maestro.trees import Leaf, Tree

ROUND = 50  # time limits are rounded up to a multiple, so that few programs are compiled


class Episode(PyTreeNode):
    """What happened, T being the time limit rounded up; after the end everything stands still."""

    states: Tree  # [T + 1], the start included
    actions: Leaf  # [T, 2, ...]
    rewards: Leaf  # [T, 2]; 0 after the end
    length: Leaf  # steps until the end
    outcome: Leaf  # 1: the first player won, 0: a draw, -1: the second won


def step_bound(levels: Level) -> int:
    """A static number of steps in which every episode on these levels ends."""
    return -(-int(jnp.max(levels.time_limit)) // ROUND) * ROUND


@partial(jax.jit, static_argnames=("env", "steps"))
def episode(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, steps: int) -> Episode:
    """`a` (the student's seat) against `b` for `steps` steps, of which those after the end change nothing."""
    keys = jax.vmap(lambda t: jax.random.fold_in(key, t))(jnp.arange(steps + 1))  # whatever the bound
    state, obs = env.reset(keys[0], level)

    def turn(carry: Any, key: PRNGKeyArray) -> Any:
        state, obs, memories, done = carry
        *act_keys, step_key = jax.random.split(key, 3)
        seats = range(2)
        views = [jax.tree.map(lambda x, i=i: x[i], obs) for i in seats]
        acted = [
            player.act(act_keys[i], memories[i], views[i], Sight(level, state, i))
            for i, player in zip(seats, (a, b), strict=True)
        ]
        actions = jnp.stack([action for _, action in acted])
        new_state, new_obs, _, terminated, truncated, info = env.step(step_key, level, state, actions)
        new = (new_state, new_obs, tuple(memory for memory, _ in acted), terminated | truncated)
        kept = jax.tree.map(lambda old, fresh: jnp.where(done, old, fresh), carry, new)
        return kept, (kept[0], actions, jnp.where(done, 0, info["score"]), ~done)

    first = (state, obs, (a.start(), b.start()), jnp.bool_(False))
    _, (states, actions, rewards, played) = jax.lax.scan(turn, first, keys[1:])
    total = accumulated(rewards, jnp.zeros(rewards.shape, bool))[-1]
    return Episode(
        states=jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), state, states),
        actions=actions,
        rewards=rewards,
        length=jnp.sum(played),
        outcome=lead(total[0], total[1]).astype(jnp.int32),
    )


@partial(jax.jit, static_argnames=("env", "steps"))
def outcomes(
    keys: Any, env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, " L"]:
    """How one episode on each level ended for `a`, in the student's seat."""
    return jax.vmap(lambda key, level: episode(key, env, level, a, b, steps).outcome)(keys, levels)


def both_seats(
    key: PRNGKeyArray, env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, " L"]:
    """How one episode on each level ended for `a`; on every second level they swap seats."""
    count = jax.tree.leaves(levels)[0].shape[0]
    if count % 2:
        raise ValueError(f"{count} levels: seats are swapped on every second one, the number must be even")
    keys = jax.vmap(lambda i: jax.random.split(jax.random.fold_in(key, i)))(jnp.arange(count // 2))
    even, odd = (jax.tree.map(lambda x, i=i: x[i::2], levels) for i in range(2))
    first = outcomes(keys[:, 0], env, a, b, even, steps)
    second = -outcomes(keys[:, 1], env, b, a, odd, steps)
    return jnp.stack([first, second], axis=1).reshape(-1)
