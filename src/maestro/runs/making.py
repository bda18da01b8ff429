"""The programs of a cycle's pieces: traced one after another, compiled at the same time."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from maestro import cohort, pieces, sharding
from maestro.cohort import Cohort
from maestro.runs import effort, programs
from maestro.runs.chunks import Pieces, raw, whole
from maestro.train import Experiment, Plan


class Making:
    """Programs from and to lists of arrays."""

    def __init__(self, folder: Path | None, experiment: Experiment, known: Cohort) -> None:
        self.folder, self.experiment = folder, experiment
        self.like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), known)
        self.leaves = jax.tree.leaves(jax.eval_shape(raw, self.like))
        self.crew, self.options = ThreadPoolExecutor(), effort.options(experiment.effort)
        self.begun: dict[str, tuple[Future[Any], Any]] = {}

    def begin(self, name: str, function: Callable[..., Any], *shapes: Any) -> tuple[Future[Any], Any]:
        """(the program to be, the shapes of its results); one for all cycles that play alike."""
        own = f"{name} {shapes}"
        if own not in self.begun:
            known = (self.experiment, name), (self.like, shapes)
            traced = sharding.at_ease(lambda: programs.lowered(self.folder, known, function, *shapes))
            results = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), traced.out_info)
            self.begun[own] = self.crew.submit(traced.compile, self.options), results
        return self.begun[own]

    def course(self, plan: Plan) -> tuple[list[Future[Any]], Any]:
        """(the programs of one kind of cycle, the shapes of what the last one gives)."""
        every = pieces.of_cycle(self.experiment, plan)
        course = Course(self.like, [jax.jit(piece, inline=True) for piece in every.values()])
        shapes, found = [self.leaves], []
        for number, name in enumerate(every):
            program, results = self.begin(name, partial(course.flat, number), *shapes)
            found.append(program)
            shapes.append(results)
        return found, shapes[-1]


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


def compiled(folder: Path | None, experiment: Experiment, known: Cohort) -> Pieces:
    """The pieces of a run's cycles for such a cohort; traced only if they are not kept in the folder."""
    making = Making(folder, experiment, known)
    with making.crew:
        courses = [making.course(plan) for plan in cohort.plans(experiment)]
        decide, _ = making.begin(
            "decide", lambda leaves: pieces.decide(experiment, whole(making.like, leaves)), making.leaves
        )
    blank = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), courses[0][1][-1])
    cycles = [[program.result() for program in found] for found, _ in courses]
    return Pieces(experiment.schedule.total_updates, making.like, blank, decide.result(), cycles)
