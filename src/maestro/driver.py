"""The host's side of a run: compiled chunks of cycles, and what happens between them."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from maestro import evaluate, experiment, files, runs, train
from maestro.config import RunConfig
from maestro.keeper import Keeper, Poisoned
from maestro.logbook import Logbook
from maestro.measure import Metrics
from maestro.progress import Progress, measured
from maestro.runs import RunFolder
from maestro.signals import Signals
from maestro.train import TrainState

LENGTH = 32  # cycles in a compiled chunk, at most
CHUNK_SECONDS = 2.0  # how long a chunk should take
CHECKPOINT_SECONDS = 60.0
MAX_SKIPPED = 10  # updates in a row that may be not finite
EVALUATION_KEY = 2**31 - 1  # apart from the key of every seed


class Stopped(Exception):
    """The run ended early: the exit code, and what to tell the user."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


def evaluation_points(config: RunConfig) -> list[int]:
    """Numbers of updates after which the students are evaluated; the last is the end."""
    total, times = config.schedule.total_updates, config.evaluation.times
    return sorted({max(1, round(total * i / times)) for i in range(1, times + 1)}) if times else []


class Driver:
    """One run folder, from its newest checkpoint or its start to its end."""

    def __init__(self, folder: RunFolder, config: RunConfig, progress: Progress, signals: Signals) -> None:
        self.folder, self.config, self.progress, self.signals = folder, config, progress, signals
        self.experiment = experiment.build(config)
        self.logbook = Logbook(folder.metrics, config.schedule.total_updates)
        self.keeper = Keeper(folder, config, self.logbook)
        self.device = ThreadPoolExecutor(1)  # so that signals are heard while it works
        self.status: dict[str, Any] = {"total": config.schedule.total_updates}
        self.saved_at, self.saved_after = time.monotonic(), -1
        initial = partial(train.init, self.experiment, config.seed, config.seeds)
        restored = self.keeper.restore(jax.eval_shape(initial), progress)
        self.state = self.start(initial) if restored is None else restored
        self.began_after = int(self.state.updates)

    def start(self, initial: Callable[[], TrainState]) -> TrainState:
        """The state before training."""
        return jax.jit(initial)()

    def run(self) -> None:
        """Train to the end; `Stopped` if that is not possible now."""
        try:
            self.loop()
            self.save()
            self.keeper.finish()
            self.tell("finished")
        except OSError as error:
            trouble = f"{error.strerror or error}; the last complete checkpoint stands"
            self.fail(f"{self.folder.path}: {trouble}, go on with: {runs.resume_command(self.folder.path)}")
        except Poisoned:
            self.fail("the state holds numbers that are not finite; the last good checkpoint stands")

    def loop(self) -> None:
        """Chunk after chunk, each of as many cycles as fit into a short time."""
        cycles, total = 1, self.config.schedule.total_updates
        self.save()
        self.pause()
        chunk = self.compile() if int(self.state.updates) < total else None
        while (updates := int(self.state.updates)) < total:
            began, before = time.monotonic(), int(self.state.cycles)
            limits = jnp.int32(self.next_stop(updates)), jnp.int32(cycles)
            work = self.device.submit(lambda a=limits: jax.block_until_ready(chunk(self.state, *a)))  # type: ignore[misc]
            if not self.signals.wait(work):
                self.stop("the chunk in progress took too long and is dropped")
            self.state, metrics = work.result()
            seconds = time.monotonic() - began
            self.report(jax.device_get(metrics), seconds)
            self.pause()
            per_cycle = seconds / max(1, int(self.state.cycles) - before)
            cycles = int(min(LENGTH, max(1, CHUNK_SECONDS / per_cycle)))

    def compile(self) -> Any:
        """The compiled chunk."""
        steps = jax.jit(partial(train.train_steps, self.experiment, LENGTH))
        nothing = jnp.int32(0)
        self.progress.say("compiling (once; the result is cached)")
        return self.interruptible(lambda: steps.lower(self.state, nothing, nothing).compile())

    def interruptible(self, work: Callable[[], Any], remark: str = "") -> Any:
        """The result of work that a stop may give up without loss."""
        future = self.device.submit(work)
        if not self.signals.wait(future, 0.0):
            self.stop(remark)
        return future.result()

    def next_stop(self, updates: int) -> int:
        """Where a chunk must not go beyond: an evaluation, a milestone, or the end."""
        interval = self.config.schedule.interval
        points = [p for p in evaluation_points(self.config) if p > updates]
        return min([*points[:1], (updates // interval + 1) * interval, self.config.schedule.total_updates])

    def pause(self) -> None:
        """What is due between two chunks: a stop, an evaluation, a checkpoint."""
        self.keeper.check()
        self.guard()
        if self.signals.received is not None:
            self.stop()
        updates = int(self.state.updates)
        if updates in evaluation_points(self.config) and updates > self.keeper.evaluated:
            self.evaluate(updates)
        due = time.monotonic() - self.saved_at > CHECKPOINT_SECONDS
        if due or (updates % self.config.schedule.interval == 0 and updates != self.saved_after):
            self.save()

    def guard(self) -> None:
        """Stop after too many updates that were not finite; the student is still the last good one.

        A resumed run gets as many attempts again.
        """
        attempts = int(self.state.updates) - self.began_after
        if attempts >= MAX_SKIPPED <= int(jnp.max(self.state.runs.learner.skipped_in_a_row)):
            self.save()
            self.keeper.finish()
            kept = f"{self.folder.path} keeps the last good state"
            self.fail(f"{MAX_SKIPPED} updates in a row were not finite; {kept}")

    def save(self) -> None:
        """Start writing a checkpoint."""
        self.keeper.save(self.state)
        self.saved_at, self.saved_after = time.monotonic(), int(self.state.updates)

    def stop(self, remark: str = "") -> NoReturn:
        """Save what there is, and tell how to go on."""
        updates = int(self.state.updates)
        self.save()
        self.keeper.finish()
        self.tell("stopped")
        parts = f"stopped at update {updates}", remark, f"go on with: {runs.resume_command(self.folder.path)}"
        raise Stopped(self.signals.exit_code, "; ".join(filter(None, parts)))

    def fail(self, message: str) -> NoReturn:
        """Note that the run cannot go on by itself, if that can still be written."""
        with suppress(OSError):
            self.tell("failed")
        raise Stopped(1, message)

    def report(self, metrics: Metrics, seconds: float) -> None:
        """Log a chunk, and show how it goes."""
        self.logbook.add(metrics)
        self.status |= measured(self.config.ppo, metrics, seconds)
        self.progress.show(self.status | {"updates": int(self.state.updates)})
        self.tell("running", pid=os.getpid())

    def tell(self, state: str, **more: Any) -> None:
        """Note in the folder how far the run is."""
        more |= {"updates": int(self.state.updates), "checkpoint": self.keeper.saved}
        runs.write_status(self.folder, **{**self.status, **more, "state": state})

    @cached_property
    def games(self) -> Any:
        """The compiled evaluation of a state."""
        key = jax.random.key(EVALUATION_KEY)
        return jax.jit(partial(evaluate.against_opponents, key, self.config.evaluation, self.experiment))

    def evaluate(self, updates: int) -> None:
        """Games against fixed opponents."""
        result = self.interruptible(lambda: jax.device_get(self.games(self.state)))
        shares = {name: np.round(x.astype(float), 4).tolist() for name, x in result.items()}
        files.append(self.folder.evaluation, {"updates": updates, "won_drawn_lost": shares})
        self.keeper.evaluated = updates
        means = {name: np.mean(x, axis=0) for name, x in shares.items()}
        told = ", ".join(
            name + " " + "/".join(f"{share:.2f}" for share in mean) for name, mean in means.items()
        )
        self.progress.say(f"update {updates}: won/drawn/lost against {told}")
