"""A chunk of cycles in pieces: programs that were compiled at the same time, called one after another.

On one GPU XLA works on a whole cycle for most of a minute, on its pieces for a quarter of one; but each
cycle takes some milliseconds longer. So runs of few updates are computed in pieces. $MAESTRO_CHUNK decides
otherwise: `whole` or `pieces`; `auto` is what happens without it.
"""

import os
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from maestro.cohort import Cohort
from maestro.metrics import Metrics
from maestro.settings import SettingsError
from maestro.sharding import Layout
from maestro.train import Experiment
from maestro.trees import is_key, numbers

VARIABLE = "MAESTRO_CHUNK"
FORMS = ("auto", "whole", "pieces")
JUDGED = 2  # the piece that says first of all whether the student learns in the next cycle
LONG = 5_000  # updates from which on a run is computed as a whole


def form(experiment: Experiment, layout: Layout | None = None) -> str:
    """`whole` or `pieces`; `SettingsError` if a run that is to be in pieces cannot be."""
    asked = os.environ.get(VARIABLE) or "auto"
    if asked not in FORMS:
        raise SettingsError([f"${VARIABLE}: {asked!r} is unknown; allowed: {', '.join(FORMS)}"])
    why = obstacle(experiment, layout)
    if asked == "pieces" and why:
        raise SettingsError([f"${VARIABLE}: {why} cannot be computed in pieces; allowed here: auto, whole"])
    few = jax.default_backend() == "gpu" and experiment.schedule.total_updates < LONG
    return "pieces" if asked == "pieces" or (asked == "auto" and few and not why) else "whole"


def obstacle(experiment: Experiment, layout: Layout | None) -> str:
    """What has only one form, or nothing."""
    if layout is not None:
        return "a run on several devices"
    return "a run with exploiters" * (experiment.schedule.exploiters != "none")


@dataclass(frozen=True)
class Pieces:
    """What `cohort.train_steps` computes, but for cycles that do not take place."""

    total: int  # updates of a run
    like: Cohort
    blank: Metrics  # of no cycle
    decide: Any  # leaves of a cohort -> whether it learns now
    cycles: list[list[Any]]  # the programs of a cycle that trains, and of one that only tries new levels

    def __call__(self, known: Cohort, until: Any, cycles: Any) -> tuple[Cohort, Metrics]:
        leaves, updates, most = jax.tree.leaves(raw(known)), int(known.updates), min(int(until), self.total)
        decision = self.decide(leaves)
        rows: list[Metrics] = []
        waiting: list[Metrics] = []
        for _ in range(int(cycles)):
            if updates >= most:
                break
            learns = bool(decision)  # waits for the last cycle's games, so that no more than one is ahead
            leaves, metrics, decision = self.launch(leaves, learns)
            rows += jax.device_get(waiting)  # of the last cycle, while the device has this one to do
            waiting, updates = [metrics], updates + learns
        rows += jax.device_get(waiting)
        return whole(self.like, leaves), stacked(rows or [self.blank])

    def launch(self, leaves: Any, learns: bool) -> tuple[Any, Metrics, Any]:
        """A cycle under way: (the cohort after it, its metrics, whether the next one learns).

        What was played is let go as soon as the last program that reads it is launched: a device computes in
        this order, so that the next cycle's games can have the memory.
        """
        *first, last = self.cycles[0 if learns else 1]
        results: list[Any] = []
        for program in first:
            results.append(program(leaves, *results))
        after, metrics, *decision = last(leaves, *results)
        return after, metrics, decision[0] if decision else results[JUDGED][0]

    def memory_analysis(self) -> Any:
        """What XLA says of the memory of the piece that needs most."""
        every = [program.memory_analysis() for course in self.cycles for program in course]
        return max(every, key=lambda m: m.temp_size_in_bytes + m.argument_size_in_bytes, default=None)


def raw(known: Any) -> Any:
    """A cohort, or some tree, whose keys are numbers: with others JAX calls a program slowly."""
    return jax.tree.map(numbers, known)


def whole(like: Any, leaves: Any) -> Any:
    """It again, from the arrays of `raw`."""

    def leaf(like: Any, x: Any) -> Any:
        return jax.random.wrap_key_data(x, impl=kind(like)) if is_key(like) else x

    shapes, structure = jax.tree.flatten(like)
    return jax.tree.unflatten(structure, [leaf(*both) for both in zip(shapes, leaves, strict=True)])


def kind(like: Any) -> Any:
    """The kind of a key of which only the shape is known."""
    found: list[Any] = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), like)
    return found[0]


def stacked(rows: list[Metrics]) -> Metrics:
    """Metrics of cycles as those of a chunk, [cycles, seeds]."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)
