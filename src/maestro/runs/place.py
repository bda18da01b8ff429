"""Where a run computes: on one device, on a mesh of them, and with other processes that take part."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils

from maestro import cohort, sharding
from maestro.cohort import Cohort
from maestro.runs import checkpoint, chunks, effort, making, programs
from maestro.runs.first import First
from maestro.runs.other import Other
from maestro.runs.signals import FOR_EVER, Signals
from maestro.sharding import Layout
from maestro.train import Experiment

UNTIL_NOTICED = 45.0  # seconds after which it is known that another process is gone
PIECE = 2**26  # bytes that are broadcast at once


@dataclass(frozen=True)
class Place:
    """Devices, and the others if there are any: what all must do at once is told only here."""

    layout: Layout | None = None
    crew: First | None = None

    def tell(self, do: str, **details: Any) -> None:
        """Let the others do it too."""
        if self.crew is not None:
            self.crew.order(do, **details)

    def shared(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The result of what others do too; if one of them is gone, that is why it failed."""
        try:
            return work(*arguments)
        except Exception:
            if self.crew is not None and self.crew.lost.wait(UNTIL_NOTICED):
                self.crew.check()
            raise

    def put(self, state: Cohort) -> Cohort:
        """A state of this process's own, onto all devices."""
        if self.crew is not None:
            self.tell("put")
            self.shared(broadcast, checkpoint.flatten(state))
        return sharding.put(self.layout, state)

    def compiled(
        self, experiment: Experiment, state: Cohort, begun: Event = programs.UNHEARD
    ) -> Callable[..., Any]:
        """A chunk of cycles, from a state and two limits to a state and metrics.

        `begun` is set as soon as what takes longest is under way, on one device.
        """
        self.tell("compile")
        chunk = self.shared(compiled, self.layout, experiment, state, begun)

        def run(state: Cohort, until: Any, cycles: Any) -> tuple[Cohort, Any]:
            self.tell("chunk", until=int(until), cycles=int(cycles))
            return self.shared(ran, chunk, state, until, cycles)

        return run

    def whole(self, state: Cohort) -> Cohort:
        """A state as this process alone can use it."""
        if self.layout is None:
            return state
        self.tell("fetch")
        return self.shared(sharding.fetch, state)


def compiled(
    layout: Layout | None, experiment: Experiment, state: Cohort, begun: Event = programs.UNHEARD
) -> Any:
    """The program of a chunk."""
    if chunks.form(experiment, layout) == "pieces":
        return making.compiled(programs.folder(), experiment, state, begun)
    steps, options = partial(cohort.train_steps, experiment, cohort.LENGTH), effort.options(experiment.effort)
    limits = np.int32(0), np.int32(0)
    if layout is None:
        return programs.compiled(
            programs.folder(), experiment, steps, state, *limits, options=options, begun=begun
        )
    return sharding.compiled(layout, steps, state, *limits, options=options)


def ran(chunk: Any, state: Cohort, until: int, cycles: int) -> tuple[Cohort, Any]:
    """A chunk to its end; its metrics are those of all processes."""
    state, metrics = jax.block_until_ready(chunk(state, np.int32(until), np.int32(cycles)))
    return state, jax.tree.map(sharding.local, metrics)


def broadcast(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays of the first process, in all; theirs need only have the same shapes and types."""
    whole = np.concatenate([np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in arrays.values()])
    size = min(len(whole), PIECE)  # one program for all pieces
    padded = np.pad(whole, (0, -len(whole) % size))
    pieces = [multihost_utils.broadcast_one_to_all(part) for part in padded.reshape(-1, size)]
    bounds = np.cumsum([x.nbytes for x in arrays.values()])
    parts = np.split(np.concatenate(pieces)[: len(whole)], bounds[:-1])
    known = zip(arrays.items(), parts, strict=True)
    return {name: part.view(like.dtype).reshape(like.shape) for (name, like), part in known}


def empty(like: Any) -> dict[str, np.ndarray]:
    """Arrays of the shapes of a state, by their names."""
    raw = jax.eval_shape(lambda tree: jax.tree.map(checkpoint.raw, tree), like)
    paths = jax.tree_util.tree_flatten_with_path(raw)[0]
    return {checkpoint.path_name(path): np.zeros(x.shape, x.dtype) for path, x in paths}


class Follower:
    """A process that is not the first does what it is told, for ever; the end of the first is its end."""

    def __init__(
        self, crew: Other, layout: Layout, experiment: Experiment, like: Any, signals: Signals
    ) -> None:
        self.crew, self.layout, self.experiment, self.like = crew, layout, experiment, like
        self.signals = signals
        self.state: Any = None
        self.chunk: Any = None

    def follow(self) -> NoReturn:
        """One order after the other."""
        known: dict[str, Callable[..., None]] = {
            "put": self.put,
            "compile": self.compile,
            "chunk": self.train,
            "fetch": self.fetch,
        }
        while True:
            order = self.signals.run(self.crew.orders.get, FOR_EVER)
            work = known[order.pop("do")]
            self.signals.run(partial(self.obey, work, **order), FOR_EVER)

    def obey(self, work: Callable[..., None], **order: Any) -> None:
        """Do as told; what fails may do so as another process is gone, which the first is about to say."""
        try:
            work(**order)
        except Exception:
            time.sleep(UNTIL_NOTICED)
            raise

    def put(self) -> None:
        """Take the state of the first process."""
        arrays = broadcast(empty(self.like))
        self.state = sharding.put(self.layout, checkpoint.unflatten(self.like, arrays))

    def compile(self) -> None:
        """The same program as in the first process."""
        self.chunk = compiled(self.layout, self.experiment, self.state)

    def train(self, until: int, cycles: int) -> None:
        """A chunk of cycles."""
        self.state, _ = ran(self.chunk, self.state, until, cycles)

    def fetch(self) -> None:
        """Hand over what this process has of the state."""
        sharding.fetch(self.state)
