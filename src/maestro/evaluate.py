"""Games between players, outside training (paper, appendix D.1, evaluation procedure)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro.agents.base import Agent, Params
from maestro.envs.base import Environment, Level
from maestro.envs.lasertag.players import Player, Sight


class Trained(PyTreeNode):
    """A trained agent as a player: it samples its actions and sees what an agent sees."""

    weights: Any
    agent: Any = struct.field(pytree_node=False)
    name: str = struct.field(pytree_node=False, default="trained")

    def start(self) -> Any:
        """A zero memory."""
        return jax.tree.map(lambda x: x[0], self.agent.start(1))

    def act(self, key: PRNGKeyArray, memory: Any, obs: Array, sight: Sight) -> tuple[Any, Array]:
        """An action drawn from the policy."""
        batched = jax.tree.map(lambda x: x[None], memory)
        memory, features = self.agent.step(self.weights, batched, obs[None])
        output = self.agent.policy(self.weights, features)[0]
        return jax.tree.map(lambda x: x[0], memory), self.agent.distribution.sample(key, output)


def trained(agent: Agent, params: Params) -> Trained:
    """A player with these parameters."""
    return Trained(agent.prepare(params), agent)


def outcome(key: PRNGKeyArray, env: Environment, players: Any, level: Level, steps: int) -> Int[Array, ""]:
    """1 if the first of two players wins an episode of at most `steps` steps, -1 if it loses, else 0."""

    def turn(carry: Any, t: Array) -> tuple[Any, None]:
        state, obs, memories, lead, over = carry
        a_key, b_key, step_key = jax.random.split(jax.random.fold_in(key, t), 3)
        a_memory, a_action = players[0].act(a_key, memories[0], obs[0], Sight(level, state, 0))
        b_memory, b_action = players[1].act(b_key, memories[1], obs[1], Sight(level, state, 1))
        actions = jnp.stack([a_action, b_action])
        state, obs, _, terminated, truncated, info = env.step(step_key, level, state, actions)
        lead = lead + jnp.where(over, 0.0, info["score"][0] - info["score"][1])
        return (state, obs, (a_memory, b_memory), lead, over | terminated | truncated), None

    state, obs = env.reset(key, level)
    start = (state, obs, (players[0].start(), players[1].start()), jnp.float32(0), jnp.bool_(False))
    (_, _, _, lead, _), _ = jax.lax.scan(turn, start, jnp.arange(1, steps + 1))
    return jnp.sign(lead).astype(jnp.int32)


def outcomes(
    key: PRNGKeyArray, env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, " L"]:
    """`a` against `b` once on each level; on every second level they swap seats."""
    count = jax.tree.leaves(levels)[0].shape[0]

    def pair(i: Array, first: Level, second: Level) -> Array:
        keys = jax.random.split(jax.random.fold_in(key, i))
        return jnp.stack(
            [outcome(keys[0], env, (a, b), first, steps), -outcome(keys[1], env, (b, a), second, steps)]
        )

    halves = (jax.tree.map(lambda x: x[::2], levels), jax.tree.map(lambda x: x[1::2], levels))
    return jax.vmap(pair)(jnp.arange(count // 2), *halves).reshape(-1)


def shares(outcomes: Int[Array, "*b L"]) -> Float[Array, "*b 3"]:
    """Shares won, drawn and lost."""
    kinds = [outcomes > 0, outcomes == 0, outcomes < 0]
    return jnp.stack([jnp.mean(kind.astype(jnp.float32), axis=-1) for kind in kinds], axis=-1)
