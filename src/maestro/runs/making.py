"""The programs of a cycle's pieces: lowered one after another, the longest first, compiled side by side."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import jax
import numpy as np

from maestro import cohort, pieces, sharding
from maestro.cohort import Cohort
from maestro.envs.base import Environment, observation_shape
from maestro.runs import effort, programs
from maestro.runs.chunks import Pieces, raw, whole
from maestro.runs.programs import UNHEARD, Traced
from maestro.train import Experiment, Plan
from maestro.trajectory import is_large

Own = tuple[str, str]  # what a program is known by: a piece, and the shapes that it is for
LONGEST = ("improve", "play", "judge", "explored")  # what XLA works on longest, in order


class Making:
    """Programs from and to lists of arrays; who waits is told as soon as the longest is under way."""

    def __init__(self, folder: Path | None, experiment: Experiment, known: Cohort, under_way: Event) -> None:
        self.folder, self.experiment, self.under_way = folder, experiment, under_way
        self.like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), known)
        self.leaves = jax.tree.leaves(jax.eval_shape(raw, self.like))
        self.crew, self.tried = ThreadPoolExecutor(), worth_trying(experiment)
        self.traced: dict[Own, Traced] = {}
        self.begun: dict[Own, Future[Any]] = {}

    def trace(self, name: str, function: Callable[..., Any], *shapes: Any) -> tuple[Own, Any]:
        """(what a program is known by, the shapes of its results)."""
        own = name, str(shapes)
        if own not in self.traced:
            known = (self.experiment, name), (self.like, shapes)
            self.traced[own] = programs.traced(self.folder, known, function, *shapes)
        if self.traced[own].kept:
            self.under_way.set()  # there is nothing to trace that others should wait for
        results = self.traced[own].results
        return own, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), results)

    def begin(self, own: Own) -> Future[Any]:
        """A program under way."""
        if own not in self.begun:
            options = effort.options(self.experiment.effort, own[0] in self.tried)
            self.begun[own] = self.crew.submit(self.traced[own].lower().compile, options)
        return self.begun[own]

    def course(self, plan: Plan) -> tuple[list[Own], Any]:
        """(what the programs of one kind of cycle are known by, the shapes of what the last one gives)."""
        every = pieces.of_cycle(self.experiment, plan)
        course = Course(self.like, [jax.jit(piece, inline=True) for piece in every.values()])
        shapes, found = [self.leaves], []
        for number, name in enumerate(every):
            own, results = self.trace(name, partial(course.flat, number), *shapes)
            found.append(own)
            shapes.append(results)
        self.begin(min(self.traced, key=rank))  # the longest of all is among the first
        self.under_way.set()
        return found, shapes[-1]

    def all(self) -> tuple[list[tuple[list[Future[Any]], Any]], Future[Any]]:
        """(the courses of all kinds of cycles, the program that decides between them)."""
        courses = [self.course(plan) for plan in cohort.plans(self.experiment)]
        decide, _ = self.trace(
            "decide", lambda leaves: pieces.decide(self.experiment, whole(self.like, leaves)), self.leaves
        )
        for own in sorted(self.traced, key=rank):
            self.begin(own)
        return [([self.begin(own) for own in found], last) for found, last in courses], self.begin(decide)


def rank(own: Own) -> int:
    """Which programs are compiled first: those that XLA works on longest."""
    return (*LONGEST, own[0]).index(own[0])


def worth_trying(experiment: Experiment) -> tuple[str, ...]:
    """The pieces whose products a GPU is to try out: most time goes into them, or into convolutions."""
    pictures = is_large(observed(experiment.env)) or not effort.MODELS_COSTS
    return ("improve", "play") if pictures else ("improve",)


def observed(env: Environment) -> Any:
    """The shape of one observation of one environment."""
    one = observation_shape(env)
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((1, 1, *x.shape), x.dtype), one)


@dataclass(frozen=True)
class Course:
    """The pieces of a cycle, each of which is traced but once."""

    like: Cohort
    pieces: list[Any]

    def flat(self, number: int, *leaves: Any) -> Any:
        """A piece, from and to lists of arrays; what the last one tells stays what it is."""
        trees: list[Any] = [self.like]
        for before in self.pieces[:number]:
            trees.append(jax.eval_shape(before, *trees))
        pairs = zip(trees[1:], leaves[1:], strict=True)
        given = [jax.tree.unflatten(jax.tree.structure(tree), x) for tree, x in pairs]
        result = self.pieces[number](whole(self.like, leaves[0]), *given)
        if number + 1 < len(self.pieces):
            return jax.tree.leaves(result)
        return jax.tree.leaves(raw(result[0])), *result[1:]


def compiled(folder: Path | None, experiment: Experiment, known: Cohort, begun: Event = UNHEARD) -> Pieces:
    """The pieces of a run's cycles for such a cohort; traced only if they are not kept in the folder."""
    making = Making(folder, experiment, known, begun)
    with making.crew:
        courses, decide = sharding.at_ease(making.all)
    blank = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), courses[0][1][-1])
    cycles = [[program.result() for program in found] for found, _ in courses]
    return Pieces(experiment.schedule.total_updates, making.like, blank, decide.result(), cycles)
