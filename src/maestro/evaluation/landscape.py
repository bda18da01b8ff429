"""The regret landscape: a student's estimated regret by co-player and level (paper, Table 1)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro import memories, normalizer, population, regret
from maestro.agents.base import Params
from maestro.envs.base import Level
from maestro.rollout import rollout
from maestro.train import Experiment, TrainState
from maestro.trajectory import Trajectory
from maestro.trees import Leaf

LEVELS, ROLLOUTS = 16, 8  # of the paper's figure, and for each cell
AT_ONCE = 1024  # environments that are remembered at the same time, but for those of one member
LOGGED_LEVELS, LOGGED_ROLLOUTS = 8, 4  # fewer, while a run goes on


class Cells(PyTreeNode):
    """The numbers of a landscape: N members x L levels; NaN where no episode has ended."""

    scores: Leaf  # [N, L]; over all rollouts
    halves: Leaf  # [2, N, L]; over either half of them, each with a best return of its own
    episodes: Leaf  # int [N, L]; finished ones, over all rollouts


@dataclass(frozen=True)
class Landscape:
    """A landscape with the names of its student and its rows, and the texts of its columns."""

    student: str
    members: tuple[str, ...]
    levels: tuple[str, ...]
    scores: Float[np.ndarray, "N L"]
    halves: Float[np.ndarray, "2 N L"]
    episodes: Int[np.ndarray, "N L"]


class Marks(PyTreeNode):
    """The cells that the paper marks, each as (member, level)."""

    independent: tuple[Leaf, Leaf]  # highest mean over levels, and highest mean over members: red
    joint: tuple[Leaf, Leaf]  # the highest cell: green


def survey(
    key: PRNGKeyArray,
    experiment: Experiment,
    student: Params,
    members: Params,
    levels: int,
    rollouts: int,
    scale: Float[Array, ""] | None = None,
) -> tuple[Level, Cells]:
    """(levels, cells) on so many fresh levels of the generator; `members` have leaves [N, ...]."""
    level_key, play_key = jax.random.split(key)
    fresh = jax.vmap(experiment.env.sample_level)(jax.random.split(level_key, levels))
    return fresh, measure(play_key, experiment, student, members, fresh, rollouts, scale)


def measure(
    key: PRNGKeyArray,
    experiment: Experiment,
    student: Params,
    members: Params,
    levels: Level,
    rollouts: int,
    scale: Float[Array, ""] | None = None,
) -> Cells:
    """Every cell: `members` have leaves [N, ...], `levels` [L, ...]; `scale` is of the student's rewards.

    All members at once where that is little to remember, otherwise one after another.
    """
    if rollouts < 2 or rollouts % 2:
        raise ValueError(f"{rollouts} rollouts: the two halves need an even number")

    def row(inputs: tuple[Array, Params]) -> Cells:
        number, member = inputs
        trajectory = play(jax.random.fold_in(key, number), experiment, student, member, levels, rollouts)
        scored = judged(experiment, trajectory, scale)
        scores, episodes = pooled(experiment, *scored, (1, rollouts, -1))
        halves, _ = pooled(experiment, *scored, (2, rollouts // 2, -1))
        return Cells(scores[0], halves, episodes[0])

    count, columns = (jax.tree.leaves(x)[0].shape[0] for x in (members, levels))
    few = count * columns * rollouts <= AT_ONCE
    numbered = (jnp.arange(count), members)
    cells = jax.vmap(row)(numbered) if few else jax.lax.map(row, numbered)
    return cells.replace(halves=jnp.moveaxis(cells.halves, 1, 0))


def play(
    key: PRNGKeyArray, experiment: Experiment, student: Params, member: Params, levels: Level, rollouts: int
) -> Trajectory:
    """Rollouts of training length; environment e plays level e % L again and again."""
    count = jax.tree.leaves(levels)[0].shape[0]

    def next_level(key: PRNGKeyArray, env: Array, finished: Array) -> Level:
        return jax.tree.map(lambda x: x[env % count], levels)

    players, steps = (student, member), experiment.ppo.rollout_length
    return rollout(key, experiment.env, experiment.agent, players, next_level, count * rollouts, steps)


def judged(
    experiment: Experiment, trajectory: Trajectory, scale: Float[Array, ""] | None
) -> tuple[Trajectory, Float[Array, "T E"]]:
    """(rollouts, advantages) in the units in which regret is estimated."""
    ppo, learned = experiment.ppo, normalizer.normalized(trajectory, scale)
    advantage = regret.generalized_advantage(learned, ppo.gamma, ppo.gae_lambda)
    return normalizer.in_units(experiment.teacher.config.score_units, trajectory, advantage, scale)


def pooled(
    experiment: Experiment,
    trajectory: Trajectory,
    advantage: Float[Array, "T E"],
    shape: tuple[int, int, int],
) -> tuple[Float[Array, "parts L"], Int[Array, "parts L"]]:
    """(score, episodes) of each level in each part of the rollouts, as a level buffer would have them.

    The environments are of this shape: parts, rollouts of a part, levels.
    """
    name = experiment.teacher.score
    known = remembered(name, trajectory, shape) if name in memories.KINDS else best(trajectory, shape)
    found = regret.SCORES[name](trajectory, advantage, jnp.repeat(known, shape[1], axis=1).reshape(1, -1))
    total, episodes = (x.reshape(shape).sum(axis=1) for x in found)
    return jnp.where(episodes > 0, total / jnp.maximum(episodes, 1), jnp.nan), episodes


def best(trajectory: Trajectory, shape: tuple[int, int, int]) -> Float[Array, "parts 1 L"]:
    """The best return on each level in each part."""
    return regret.best_returns(trajectory, 1).reshape(shape).max(axis=1, keepdims=True)


def remembered(name: str, trajectory: Trajectory, shape: tuple[int, int, int]) -> Float[Array, "parts 1 L"]:
    """The score of an entry that remembers these rollouts alone."""
    entries = regret.of_entries(trajectory, regret.evidence(trajectory), 1)
    seen = jax.tree.map(lambda x: x.reshape(shape).sum(axis=1, keepdims=True), entries)
    return memories.after(memories.KINDS[name].fresh(*seen.episodes.shape), seen)[1]


def known_mean(values: Float[Array, "N L"], axis: int) -> Float[Array, " M"]:
    """Means over what is known; -inf where nothing is."""
    known = ~jnp.isnan(values)
    total, count = jnp.sum(jnp.where(known, values, 0.0), axis=axis), jnp.sum(known, axis=axis)
    return jnp.where(count > 0, total / jnp.maximum(count, 1), -jnp.inf)


def marks(scores: Float[Array, "N L"] | Float[np.ndarray, "N L"]) -> Marks:
    """Where the highest marginal means meet, and the highest cell; of equals the first."""
    values = jnp.asarray(scores)
    row, column = (jnp.argmax(known_mean(values, axis)) for axis in (1, 0))
    joint = jnp.argmax(jnp.where(jnp.isnan(values), -jnp.inf, values))
    return Marks((row, column), (joint // values.shape[1], joint % values.shape[1]))


def compared(chosen: Any, scored: Any) -> dict[str, Float[Array, ""]]:
    """Regret of the cells that are marked by one set of scores, in another; NaN if it is not known there."""
    at, values = marks(chosen), jnp.asarray(scored)
    independent, joint = values[at.independent], values[at.joint]
    return {"independent": independent, "joint": joint, "gap": joint - independent}


def numbers(cells: Cells | Landscape) -> dict[str, Float[Array, ""]]:
    """Independent regret, joint regret and their gap: as they are, and split-half.

    The highest of many noisy cells is too high. Split-half, cells are marked by one half of the rollouts
    and scored by the other, both ways, so that noise alone has no gap; only cells known to both count.
    """
    halves = jnp.asarray(cells.halves)
    halves = jnp.where(jnp.isnan(halves).any(axis=0, keepdims=True), jnp.nan, halves)
    ways = [compared(halves[i], halves[1 - i]) for i in range(2)]
    split = {f"split_{name}": (ways[0][name] + ways[1][name]) / 2 for name in ways[0]}
    return compared(cells.scores, cells.scores) | split


def summary(
    key: PRNGKeyArray,
    experiment: Experiment,
    state: TrainState,
    levels: int = LOGGED_LEVELS,
    rollouts: int = LOGGED_ROLLOUTS,
) -> dict[str, Float[Array, ""]]:
    """The numbers of one seed's state on fresh levels; all NaN without members. Can be jitted and vmapped."""
    everyone = state.curriculum.population
    slots = jax.tree.map(lambda x: x[1:], everyone.params)
    scale = normalizer.scale(state.normalizer)
    _, cells = survey(key, experiment, state.learner.params, slots, levels, rollouts, scale)
    there = population.members(everyone)[1:, None]
    scores, halves = jnp.where(there, cells.scores, jnp.nan), jnp.where(there[None], cells.halves, jnp.nan)
    return numbers(cells.replace(scores=scores, halves=halves))
