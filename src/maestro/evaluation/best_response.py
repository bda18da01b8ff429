"""Best responses: PPO against frozen agents with a stated budget; `exploitability` says what they win."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from maestro import cohort, ppo
from maestro.agents.base import Params
from maestro.cohort import Cohort
from maestro.evaluation.statistics import finite_mean
from maestro.exploiters import against
from maestro.train import Experiment

Start = Literal["agent", "scratch"]
Report = Callable[[int, float | None], None]  # (updates so far, the mean return of the last chunk)
Chunk = Callable[[Cohort, Array, Array], tuple[Cohort, Any]]  # (state, until, cycles) -> (state, metrics)


@dataclass(frozen=True)
class Response:
    """Best responses as they were trained, S of them side by side."""

    params: Params  # leaves [S, ...]
    updates: int
    steps: int  # of the game, for each of them
    start: Start
    curve: Float[np.ndarray, "U S"]  # mean return of the episodes of each update's rollout; NaN without any
    skipped: int  # updates that were not finite and left no trace, of the one with the most


def first_state(experiment: Experiment, seed: int, frozen: Params, start: Start) -> Cohort:
    """Responses, one to each agent, that begin with its parameters or fresh ones; it is their only member."""
    state = cohort.init(experiment, seed, len(jax.tree.leaves(frozen)[0]))
    seeds, population = state.seeds, state.seeds.curriculum.population
    params = jax.tree.map(lambda p, x: p.at[:, 1].set(x), population.params, frozen)
    teacher = seeds.curriculum.replace(population=population.replace(params=params))
    learner = seeds.learner
    if start == "agent":
        learner = jax.vmap(partial(ppo.init, state.key, experiment.ppo, experiment.agent))(frozen)
    return state.replace(seeds=seeds.replace(curriculum=teacher, learner=learner))


def train(
    seed: int,
    experiment: Experiment,
    frozen: Params,
    updates: int,
    start: Start = "agent",
    report: Report | None = None,
) -> Response:
    """A best response to each of the agents [S] by PPO, in the student's seat, with a budget of updates."""
    game = against(experiment, updates)
    state = jax.jit(partial(first_state, game, seed, start=start))(frozen=frozen)
    state, curve = trained_to_the_end(game, state, report)
    steps = updates * game.ppo.workers * game.ppo.rollout_length
    skipped = int(jnp.max(state.seeds.learner.skipped))
    return Response(state.seeds.learner.params, updates, steps, start, curve, skipped)


def trained_to_the_end(
    experiment: Experiment, state: Cohort, report: Report | None = None, chunk: Chunk | None = None
) -> tuple[Cohort, Float[np.ndarray, "U S"]]:
    """(the state after all updates, the mean return in each), in chunks of a few seconds.

    `chunk` is what trains, `cohort.train_steps` of up to `LENGTH` cycles; it is compiled here if not given.
    """
    updates, curve, cycles = experiment.schedule.total_updates, [], 1
    limits = jnp.int32(updates), jnp.int32(0)
    if chunk is None:
        steps = partial(cohort.train_steps, experiment, cohort.LENGTH)
        chunk = jax.jit(steps).lower(state, *limits).compile()
    while (done := int(state.updates)) < updates:
        began = time.monotonic()
        state, metrics = jax.block_until_ready(chunk(state, limits[0], jnp.int32(cycles)))
        found = np.asarray(metrics.student_return, float)[: int(state.updates) - done]
        cycles = cohort.fitting((time.monotonic() - began) / len(found))
        curve.append(found)
        if report is not None:
            report(int(state.updates), finite_mean(found))
    return state, np.concatenate(curve)
