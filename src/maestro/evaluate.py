"""Games between players, outside training (paper, appendix D.1, evaluation procedure)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro.agents.base import Agent, Params
from maestro.config import EvaluationConfig
from maestro.duel import episode
from maestro.envs.base import Environment, Level
from maestro.envs.lasertag.levels import TIME_LIMIT
from maestro.envs.lasertag.players import Player, Sight, named
from maestro.train import Experiment, TrainState


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


def outcomes(
    key: PRNGKeyArray, env: Environment, a: Player, b: Player, levels: Level, steps: int
) -> Int[Array, " L"]:
    """`a` against `b` once on each level; on every second level they swap seats."""
    count = jax.tree.leaves(levels)[0].shape[0]
    if count % 2:
        raise ValueError(f"{count} levels: seats are swapped on every second one, the number must be even")

    def pair(i: Array, first: Level, second: Level) -> Array:
        keys = jax.random.split(jax.random.fold_in(key, i))
        return jnp.stack(
            [
                episode(keys[0], env, first, a, b, steps).outcome,
                -episode(keys[1], env, second, b, a, steps).outcome,
            ]
        )

    halves = (jax.tree.map(lambda x: x[::2], levels), jax.tree.map(lambda x: x[1::2], levels))
    return jax.vmap(pair)(jnp.arange(count // 2), *halves).reshape(-1)


def shares(outcomes: Int[Array, "*b L"]) -> Float[Array, "*b 3"]:
    """Shares won, drawn and lost."""
    kinds = [outcomes > 0, outcomes == 0, outcomes < 0]
    return jnp.stack([jnp.mean(kind.astype(jnp.float32), axis=-1) for kind in kinds], axis=-1)


def wilson(successes: float, games: int) -> tuple[float, float]:
    """A 95 % confidence interval of a share."""
    z, share = 1.96, successes / games
    centre = share + z * z / (2 * games)
    spread = z * (share * (1 - share) / games + z * z / (4 * games * games)) ** 0.5
    return (centre - spread) / (1 + z * z / games), (centre + spread) / (1 + z * z / games)


def first_coplayers(state: TrainState) -> Params:
    """The first member of each seed's population."""
    return jax.tree.map(lambda x: x[:, 1], state.runs.curriculum.population.params)


def against_opponents(
    key: PRNGKeyArray, config: EvaluationConfig, experiment: Experiment, state: TrainState
) -> dict[str, Float[Array, "S 3"]]:
    """Shares won, drawn and lost by each student against each opponent, on the same generated levels."""
    keys = jax.random.split(jax.random.fold_in(key, 0), config.levels)
    generated = jax.vmap(experiment.env.sample_level)(keys)
    play_key = jax.random.fold_in(key, 1)

    def one(params: Any, first: Any) -> dict[str, Any]:
        student = trained(experiment.agent, params)
        opponents = {
            name: trained(experiment.agent, first) if name == "first" else named(name)
            for name in config.opponents
        }
        return {
            name: shares(outcomes(play_key, experiment.env, student, opponent, generated, TIME_LIMIT))
            for name, opponent in opponents.items()
        }

    return jax.vmap(one)(state.runs.learner.params, first_coplayers(state))
