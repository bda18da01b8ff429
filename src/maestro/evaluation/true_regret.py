"""True regret on stored levels: what a best response trained on them alone earns more than the student."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro import cohort, exploiters, level_buffer, normalizer, population, regret
from maestro.agents.base import Params
from maestro.cohort import Cohort
from maestro.curriculum import Curriculum
from maestro.envs.base import Level
from maestro.evaluation import best_response, landscape
from maestro.evaluation.best_response import Report
from maestro.evaluation.exploitability import players
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import games, repeated, step_bound
from maestro.evaluation.statistics import interval
from maestro.level_buffer import LevelBuffer
from maestro.train import Experiment, TrainState

KINDS = ("top", "middle", "random")
Start = Literal["student", "scratch"]
Chunk = Callable[[Level, Cohort, Array, Array], Any]


def shared(known: Curriculum) -> bool:
    """Whether all co-players have one buffer in common."""
    assert known.buffers is not None
    return known.buffers.size.shape[0] == 1


def buffer_of(known: Curriculum, slot: int) -> LevelBuffer:
    """The buffer that goes with the co-player in a slot."""
    return jax.tree.map(lambda x: x[0 if shared(known) else slot], known.buffers)


def served(known: Curriculum) -> Int[np.ndarray, " P"]:
    """How much each slot was played against: levels started through its buffer, or games in all."""
    assert known.buffers is not None
    counts = known.population.games if shared(known) else known.buffers.clock
    return np.asarray(jnp.where(known.buffers.size > 0, counts, 0))


def picked(buffer: LevelBuffer, count: int, dice: np.random.Generator) -> dict[str, Int[np.ndarray, " n"]]:
    """Slots of the highest scores, of those around the median, and of any stored level alike.

    Each kind has `count` of them, or all where fewer are stored; a level can be of several kinds.
    """
    size = int(buffer.size)
    order = np.argsort(-np.asarray(buffer.score)[:size], kind="stable")
    count = min(count, size)
    first = (size - count) // 2
    drawn = dice.choice(size, count, replace=False)
    return dict(zip(KINDS, (order[:count], order[first : first + count], drawn), strict=True))


def on(experiment: Experiment, levels: Level) -> Experiment:
    """The same experiment, whose generator draws from some levels, each alike."""
    count = jax.tree.leaves(levels)[0].shape[0]

    def generate(key: PRNGKeyArray) -> Level:
        number = jax.random.randint(key, (), 0, count)
        return jax.tree.map(lambda x: x[number], levels)

    return replace(experiment, teacher=replace(experiment.teacher, generate=generate, num_levels=None))


def first_state(experiment: Experiment, seed: int, state: TrainState, member: Params, start: Start) -> Cohort:
    """A response that begins as the student, or fresh; its only co-player is the member."""
    begin = None if start == "scratch" else state.learner.params
    first = cohort.init(experiment, seed, 1, begin)
    known = first.seeds.curriculum
    params = jax.tree.map(lambda p, x: p.at[:, 1].set(x), known.population.params, member)
    own = known.replace(population=known.population.replace(params=params))
    first = first.replace(seeds=first.seeds.replace(curriculum=own))
    if start == "scratch" or state.normalizer is None:
        return first
    scale = jax.tree.map(lambda x: x[None], state.normalizer)
    return first.replace(seeds=first.seeds.replace(normalizer=scale))


class Responder:
    """Trains best responses with a budget of updates; compiled once for all levels and members."""

    def __init__(self, experiment: Experiment, seed: int, updates: int, start: Start = "student") -> None:
        self.experiment = exploiters.against(experiment, updates)
        self.updates = updates
        self.first = jax.jit(lambda state, member: first_state(self.experiment, seed, state, member, start))
        self.chunk: Chunk = jax.jit(
            lambda levels, *now: cohort.train_steps(on(self.experiment, levels), cohort.LENGTH, *now)
        )

    @property
    def steps(self) -> int:
        """Of the game, in the training of one response."""
        return self.updates * self.experiment.ppo.workers * self.experiment.ppo.rollout_length

    def train(self, state: TrainState, member: Params, levels: Level, report: Report | None = None) -> Params:
        """A response to the member on these levels [L, ...], in the student's seat."""
        last, _ = best_response.trained_to_the_end(
            self.experiment, self.first(state, member), report, lambda *now: self.chunk(levels, *now)
        )
        return jax.tree.map(lambda x: x[0], last.seeds.learner.params)


def played(
    key: PRNGKeyArray, experiment: Experiment, who: list[Params], member: Params, levels: Level, count: int
) -> tuple[Float[np.ndarray, "A L N"], Float[np.ndarray, "A L N"]]:
    """(returns, outcomes) of so many games on each level, for each of A agents in the student's seat."""
    number = jax.tree.leaves(levels)[0].shape[0]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *who)
    agents, other = players(experiment.agent, stacked), repeated(trained(experiment.agent, member), len(who))
    each = repeated(jax.tree.map(lambda x: jnp.repeat(x, count, axis=0), levels), len(who))
    dice = jax.random.split(key, (len(who), number * count))
    found = jax.device_get(games(experiment.env, agents, other, each, dice, step_bound(levels)))
    shape = (len(who), number, count)
    return found.score[..., 0].reshape(shape).astype(float), found.outcome.reshape(shape).astype(float)


def scorers(experiment: Experiment) -> dict[str, Experiment]:
    """The experiment with every score of `regret.SCORES` that it can use, by name."""
    teacher, found = experiment.teacher, {}
    method = replace(teacher.method, score=None)  # which may have one of its own
    for name in regret.SCORES:
        score: Any = name
        config = replace(teacher.config, score=score, prioritization="rank")
        with suppress(ValueError):
            found[name] = replace(experiment, teacher=replace(teacher, config=config, method=method))
    return found


def estimates(
    key: PRNGKeyArray, experiment: Experiment, state: TrainState, member: Params, levels: Level, rollouts: int
) -> dict[str, Float[Array, " L"]]:
    """Every score on these levels, from the same fresh rollouts; NaN where no episode ended."""
    trajectory = landscape.play(key, experiment, state.learner.params, member, levels, rollouts)
    scored = landscape.judged(experiment, trajectory, normalizer.scale(state.normalizer))
    return {
        name: landscape.pooled(own, *scored, (1, rollouts, -1))[0][0]
        for name, own in scorers(experiment).items()
    }


def mean_ends(returns: Float[np.ndarray, "L N"], bound: float) -> Float[np.ndarray, "L 2"]:
    """A 95 % interval of each level's mean return, which lies between -bound and bound; games are the units.

    Wilson's, with as many games as vary as much; where all games end alike it still has a width.
    """
    return interval((returns + bound) / (2 * bound), 1) * 2 * bound - bound


def difference(
    response: Float[np.ndarray, "L N"], student: Float[np.ndarray, "L M"], bound: float
) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    """(true regret, low, high): the two means' intervals are joined as by Newcombe (1998, method 10)."""
    mean, other = response.mean(axis=1), student.mean(axis=1)
    own, theirs = mean_ends(response, bound), mean_ends(student, bound)
    below = np.hypot(mean - own[:, 0], theirs[:, 1] - other)
    above = np.hypot(own[:, 1] - mean, other - theirs[:, 0])
    return mean - other, mean - other - below, mean - other + above


def member_of(state: TrainState, slot: int) -> Params:
    """The co-player in a slot; slot 0 is the student itself."""
    return population.member(state.curriculum.population, jnp.int32(slot))


def levels_at(buffer: LevelBuffer, slots: Int[np.ndarray, " n"]) -> Level:
    """The levels in some slots of a buffer."""
    return level_buffer.take(buffer, jnp.asarray(slots, jnp.int32))
