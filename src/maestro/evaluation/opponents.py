"""Trained students as players, and their games against fixed opponents."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from maestro.agents.base import Agent, Params
from maestro.cohort import Cohort
from maestro.config import EvaluationConfig
from maestro.envs.base import Level, Obs
from maestro.envs.players import Player, Sight
from maestro.evaluation.play import alternating, repeated, step_bound
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


def against(
    keys: Key[Array, " S"],
    experiment: Experiment,
    cohort: Cohort,
    player: Player | None,
    levels: Level,
    steps: int,
) -> Int[Array, "S L"]:
    """How each student's games on its levels [S, L] against a player ended; None: its own first co-player."""
    as_players = jax.vmap(partial(trained, experiment.agent))
    students = as_players(cohort.seeds.learner.params)
    others = as_players(first_members(cohort)) if player is None else repeated(player, len(keys))
    return alternating(keys, experiment.env, students, others, levels, steps)


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
        games = partial(against, self.keys, self.experiment, cohort, levels=levels, steps=self.steps)
        return {name: shares(games(self.scripted.get(name))) for name in self.names}
