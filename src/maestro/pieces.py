"""A cycle in pieces: one program after another, where `cohort.train_step` is one program.

A compiler works on all of them at the same time, so that a run begins sooner.

Whether the student learns in the next cycle is told before it learns in this one, which changes nothing
about it: so the next cycle's programs can be handed to a GPU while this one's still run.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool

from maestro import cohort, train
from maestro.cohort import Cohort
from maestro.curriculum import Task
from maestro.metrics import Metrics
from maestro.train import Collected, Experiment, Judged, Plan, TrainState
from maestro.trajectory import Trajectory
from maestro.trees import Leaf

Piece = Callable[..., Any]  # of a cohort, and of what the pieces before it have given
Told = tuple[Cohort, Metrics]  # the cohort after a cycle, and its metrics


class Weighed(PyTreeNode):
    """What a cycle's games have shown, and what follows for the next cycle."""

    learns: Leaf  # whether the student learns in it; the first of all, where a chunk looks for it
    judged: Judged


def of_cycle(experiment: Experiment, plan: Plan) -> dict[str, Piece]:
    """The pieces of a cycle by name, in order; the third also decides on the next, the last is `Told`."""
    known: list[Any] = [ask, judge, improve, conclude] if plan.learns else [explore, explored]
    first, *others = [(piece.__name__, partial(piece, experiment, plan)) for piece in known]
    return dict([first, ("play", partial(play, experiment)), *others])


def decide(experiment: Experiment, known: Cohort) -> Bool[Array, ""]:
    """Whether the student learns in this cycle."""
    return cohort.trains(experiment, known, cohort.keys_of(known))


def ask(experiment: Experiment, plan: Plan, known: Cohort) -> Task:
    """What every seed is to play, against the co-player that it draws."""

    def one(state: TrainState, keys: Array) -> Task:
        coplayer = cohort.draw_coplayers(keys[0], experiment, state, plan)
        return train.ask(train.purposes(keys[1])[0], experiment, plan, state, coplayer)

    return jax.vmap(one)(known.seeds, cohort.keys_of(known))


def play(experiment: Experiment, known: Cohort, task: Task) -> Trajectory:
    """`train.play` of every seed."""

    def one(state: TrainState, keys: Array, task: Task) -> Trajectory:
        return train.play(train.purposes(keys[1])[1], experiment, state, task)

    return jax.vmap(one)(known.seeds, cohort.keys_of(known), task)


def judge(experiment: Experiment, plan: Plan, known: Cohort, task: Task, trajectory: Trajectory) -> Weighed:
    """`train.judge` of every seed; the members' parameters, which stay as they are, are left out."""
    judged = jax.vmap(partial(train.judge, experiment))(known.seeds, Collected(task, trajectory))
    judged = judged.replace(teacher=with_members(judged.teacher, None))
    return Weighed(foresee(experiment, plan, known, judged.teacher), judged)


def foresee(experiment: Experiment, plan: Plan, known: Cohort, teacher: Any) -> Bool[Array, ""]:
    """What `decide` will say of the next cycle: it asks who has joined by then, not for parameters."""
    teacher = jax.vmap(lambda own: train.followed(experiment, plan, own, None, known.updates))(teacher)
    after = counted(plan, known)
    return decide(experiment, after.replace(seeds=known.seeds.replace(curriculum=teacher)))


def counted(plan: Plan, known: Cohort) -> Cohort:
    """The same, one cycle later by its numbers."""
    return known.replace(updates=known.updates + plan.learns, cycles=known.cycles + 1)


def improve(
    experiment: Experiment, plan: Plan, known: Cohort, task: Task, trajectory: Trajectory, weighed: Weighed
) -> Any:
    """`train.improve` of every seed."""

    def one(keys: Array, state: TrainState, collected: Collected, judged: Judged) -> Any:
        return train.improve(train.purposes(keys[1])[2], experiment, plan, state, collected, judged)

    return jax.vmap(one)(cohort.keys_of(known), known.seeds, Collected(task, trajectory), weighed.judged)


def conclude(
    experiment: Experiment, plan: Plan, known: Cohort, _: Task, __: Trajectory, weighed: Weighed, learned: Any
) -> Told:
    """`train.conclude` of every seed."""
    members, judged = known.seeds.curriculum.population.params, weighed.judged
    judged = judged.replace(teacher=with_members(judged.teacher, members))
    one = partial(train.conclude, experiment, plan, updates=known.updates)
    seeds, metrics = jax.vmap(one)(known.seeds, judged, learned)
    return counted(plan, known).replace(seeds=seeds), metrics


def explore(experiment: Experiment, plan: Plan, known: Cohort) -> Task:
    """What to play where new levels are only tried."""
    return ask(experiment, plan, known)


def explored(
    experiment: Experiment, plan: Plan, known: Cohort, task: Task, trajectory: Trajectory
) -> tuple[Cohort, Metrics, Array]:
    """All that follows the games of a cycle in which nobody learns, and whether the next is another kind."""
    weighed = judge(experiment, plan, known, task, trajectory)
    learned = improve(experiment, plan, known, task, trajectory, weighed)
    return *conclude(experiment, plan, known, task, trajectory, weighed, learned), weighed.learns


def with_members(teacher: Any, params: Any) -> Any:
    """The teacher with other parameters of the members, or with none."""
    return teacher.replace(population=teacher.population.replace(params=params))
