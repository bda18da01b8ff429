"""The host's side of a run: compiled chunks of cycles, and what happens between them."""

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from maestro import evaluate, experiment, runs, train
from maestro.config import RunConfig
from maestro.keeper import Keeper, Poisoned
from maestro.logbook import Logbook
from maestro.progress import Progress
from maestro.runs import RunFolder
from maestro.signals import Signals

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
        self.status: dict[str, Any] = {"total": config.schedule.total_updates, "updates": 0}
        self.saved_at = time.monotonic()
        initial = partial(train.init, self.experiment, config.seed, config.seeds)
        restored = self.keeper.restore(jax.eval_shape(initial), progress)
        self.state = jax.jit(initial)() if restored is None else restored

    def run(self) -> None:
        """Train to the end; `Stopped` if that is not possible now."""
        try:
            self.loop(self.compile())
            self.save()
            self.keeper.finish()
        except OSError as error:
            trouble = f"{self.folder.path}: {error.strerror}; the last complete checkpoint stands"
            raise Stopped(1, f"{trouble}, go on with: maestro resume {self.folder.path}") from None
        except Poisoned:
            raise Stopped(1, "the student is not finite; the last good checkpoint stands") from None
        self.tell("finished")

    def loop(self, chunk: Any) -> None:
        """Chunk after chunk, each of as many cycles as fit into a short time."""
        cycles = 1
        while (updates := int(self.state.updates)) < self.config.schedule.total_updates:
            began, before = time.monotonic(), int(self.state.cycles)
            limits = jnp.int32(self.next_stop(updates)), jnp.int32(cycles)
            work = self.device.submit(lambda a=limits: jax.block_until_ready(chunk(self.state, *a)))  # type: ignore[misc]
            if not self.signals.wait(work):
                self.stop("the chunk in progress took too long and is dropped")
            self.state, metrics = work.result()
            seconds = time.monotonic() - began
            self.report(metrics, updates, seconds)
            self.pause()
            per_cycle = seconds / max(1, int(self.state.cycles) - before)
            cycles = int(min(LENGTH, max(1, CHUNK_SECONDS / per_cycle)))

    def compile(self) -> Any:
        """The compiled chunk."""
        steps = jax.jit(partial(train.train_steps, self.experiment, LENGTH))
        nothing = jnp.int32(0)
        self.save()
        self.progress.say("compiling (once; the result is cached)")
        return self.interruptible(
            self.device.submit(lambda: steps.lower(self.state, nothing, nothing).compile())
        )

    def interruptible(self, work: Future[Any]) -> Any:
        """The result of work that a stop may give up without loss."""
        while not work.done():
            if self.signals.received is not None:
                self.stop()
            time.sleep(0.02)
        return work.result()

    def next_stop(self, updates: int) -> int:
        """Where a chunk must not go beyond: an evaluation, a milestone, or the end."""
        interval = self.config.schedule.interval
        points = [p for p in evaluation_points(self.config) if p > updates]
        return min([*points[:1], (updates // interval + 1) * interval, self.config.schedule.total_updates])

    def pause(self) -> None:
        """What is due between two chunks: a stop, an evaluation, a checkpoint."""
        self.guard()
        if self.signals.received is not None:
            self.stop()
        updates = int(self.state.updates)
        if updates in evaluation_points(self.config) and updates > self.keeper.evaluated:
            self.evaluate(updates)
        due = time.monotonic() - self.saved_at > CHECKPOINT_SECONDS
        if due or (updates and updates % self.config.schedule.interval == 0):
            self.save()

    def guard(self) -> None:
        """Stop after too many updates that were not finite; the state is still the last good one."""
        if int(jnp.max(self.state.runs.learner.skipped_in_a_row)) >= MAX_SKIPPED:
            self.save()
            self.keeper.finish()
            self.tell("failed")
            kept = f"{self.folder.path} keeps the last good state"
            raise Stopped(1, f"{MAX_SKIPPED} updates in a row were not finite; {kept}")

    def save(self) -> None:
        """Start writing a checkpoint."""
        self.keeper.save(self.state)
        self.saved_at = time.monotonic()

    def stop(self, remark: str = "") -> NoReturn:
        """Save what there is, and tell how to go on."""
        self.save()
        self.keeper.finish()
        self.tell("stopped")
        parts = [
            f"stopped at update {int(self.state.updates)}",
            remark,
            f"go on with: maestro resume {self.folder.path}",
        ]
        raise Stopped(self.signals.exit_code, "; ".join(part for part in parts if part))

    def report(self, metrics: Any, before: int, seconds: float) -> None:
        """Log a chunk, and show how it goes."""
        self.logbook.add(metrics)
        metrics = jax.device_get(metrics)
        active = metrics.active[:, 0]
        updates = int(self.state.updates)
        per_update = self.config.ppo.workers * self.config.ppo.rollout_length * self.config.seeds
        if updates > before:
            self.status["speed"] = (updates - before) / seconds
            self.status["steps_per_second"] = self.status["speed"] * per_update
        self.status |= {
            "updates": updates,
            "replay": float(metrics.trained[active].mean()),
            "coplayer": int(np.bincount(metrics.coplayer[active].ravel()).argmax()),
            "skipped": int(metrics.skipped[active].max()),
            "return": finite_mean(metrics.student_return[active]),
            "fill": finite_mean(metrics.buffer_fill[active]),
        }
        self.progress.show(self.status)
        self.tell("running", pid=os.getpid())

    def tell(self, state: str, **more: Any) -> None:
        """Note in the folder how far the run is."""
        runs.write_status(self.folder, state=state, checkpoint=self.keeper.saved, **self.status, **more)

    @cached_property
    def games(self) -> Any:
        """The compiled evaluation of a state."""
        key = jax.random.key(EVALUATION_KEY)
        return jax.jit(partial(evaluate.against_opponents, key, self.config.evaluation, self.experiment))

    def evaluate(self, updates: int) -> None:
        """Games against fixed opponents."""
        result = self.interruptible(self.device.submit(lambda: jax.device_get(self.games(self.state))))
        shares = {name: np.round(x.astype(float), 4).tolist() for name, x in result.items()}
        runs.append(self.folder.evaluation, {"updates": updates, "won_drawn_lost": shares})
        self.keeper.evaluated = updates
        means = {name: np.mean(x, axis=0) for name, x in shares.items()}
        told = ", ".join(
            name + " " + "/".join(f"{share:.2f}" for share in mean) for name, mean in means.items()
        )
        self.progress.say(f"update {updates}: won/drawn/lost against {told}")


def finite_mean(x: np.ndarray) -> float | None:
    """The mean of what is finite."""
    known = x[np.isfinite(x)]
    return float(known.mean()) if known.size else None
