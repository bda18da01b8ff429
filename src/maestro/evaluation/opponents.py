"""Trained students as players, and their games against fixed opponents."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Key, PRNGKeyArray

from maestro.agents.base import Agent, Params
from maestro.cohort import Cohort
from maestro.config import EvaluationConfig
from maestro.envs.base import Level, Obs
from maestro.envs.players import Player, Sight
from maestro.evaluation.play import both_seats, step_bound
from maestro.evaluation.statistics import shares
from maestro.train import Experiment
from maestro.trees import Tree

FIRST = "first"  # the name of the opponent that is the first member of the student's own population


class Trained(PyTreeNode):
    """A trained agent as a player: it samples its actions and sees what an agent sees."""

    weights: Tree
    params: Tree
    agent: Any = struct.field(pytree_node=False)
    name: str = struct.field(pytree_node=False, default="trained")

    def start(self) -> Any:
        """A zero memory."""
        return jax.tree.map(lambda x: x[0], self.agent.start(1))

    def act(self, key: PRNGKeyArray, memory: Any, obs: Obs, sight: Sight) -> tuple[Any, Array]:
        """An action drawn from the policy."""
        memory, features = self.agent.step(self.weights, *jax.tree.map(lambda x: x[None], (memory, obs)))
        output = self.agent.policy(self.params, features)[0]
        return jax.tree.map(lambda x: x[0], memory), self.agent.distribution.sample(key, output)


def trained(agent: Agent, params: Params) -> Trained:
    """A player with these parameters."""
    return Trained(agent.prepare(params), params, agent)


def first_members(cohort: Cohort) -> Params:
    """The first member of each seed's population; before anyone has joined, the initial student."""
    return jax.tree.map(lambda x: x[:, 1], cohort.seeds.curriculum.population.params)


def seed_keys(key: PRNGKeyArray, first: int, seeds: int) -> Key[Array, " S"]:
    """A key for each seed that depends on its number alone, not on who is trained beside it."""
    return jax.vmap(lambda number: jax.random.fold_in(key, number))(first + jnp.arange(seeds))


def sample_levels(keys: Key[Array, " S"], experiment: Experiment, count: int) -> Level:
    """Levels of the generator for each seed: leaves [S, count, ...]."""
    own = jax.vmap(lambda key: jax.random.split(key, count))(keys)
    return jax.jit(jax.vmap(jax.vmap(experiment.env.sample_level)))(own)


class Evaluation:
    """Games of each student against each opponent, on generated levels of its own, the same every time."""

    def __init__(
        self,
        keys: Key[Array, " S"],
        config: EvaluationConfig,
        experiment: Experiment,
        players: Mapping[str, Player],
    ) -> None:
        levels_key, self.keys = jax.vmap(jax.random.split, out_axes=1)(keys)
        self.experiment = experiment
        self.levels = sample_levels(levels_key, experiment, config.levels)
        self.steps = step_bound(self.levels)
        self.scripted = {name: players[name] for name in config.opponents if name != FIRST}
        self.names = config.opponents

    def __call__(self, cohort: Cohort, levels: Level) -> dict[str, Float[Array, "S 3"]]:
        """Shares won, drawn and lost; can be jitted."""
        agent, env = self.experiment.agent, self.experiment.env

        def one(key: PRNGKeyArray, params: Params, first: Params, levels: Level) -> dict[str, Any]:
            student, opponents = trained(agent, params), {FIRST: trained(agent, first), **self.scripted}
            return {
                name: shares(both_seats(key, env, student, opponents[name], levels, self.steps))
                for name in self.names
            }

        return jax.vmap(one)(self.keys, cohort.seeds.learner.params, first_members(cohort), levels)
