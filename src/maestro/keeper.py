"""Checkpoints of one run: restored at its start, written in the background while it goes on."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

from maestro import checkpoint, runs, settings
from maestro.checkpoint import CheckpointError
from maestro.config import RunConfig
from maestro.logbook import Logbook
from maestro.progress import Progress
from maestro.runs import RunFolder
from maestro.train import TrainState

NEWEST = 3  # checkpoints kept, besides those at milestones


class Poisoned(Exception):
    """The state holds numbers that are not finite, and is not saved."""


class Keeper:
    """Saves and restores the state, the log's incomplete window, and where the files of the log stood."""

    def __init__(self, folder: RunFolder, config: RunConfig, logbook: Logbook) -> None:
        self.folder, self.config, self.logbook = folder, config, logbook
        self.digest = settings.digest(config)
        self.thread = ThreadPoolExecutor(1)
        self.saving: Future[None] | None = None
        self.saved: int | None = None  # updates of the newest complete checkpoint
        self.evaluated = 0  # updates of the last evaluation

    def restore(self, like: Any, progress: Progress) -> TrainState | None:
        """The newest good checkpoint, bad ones being named and set aside; None if there is none."""
        for path in reversed(checkpoint.found(self.folder.checkpoints)):
            try:
                state, waiting, about = checkpoint.load(path, like, self.digest)
                self.go_on(waiting, about)
            except CheckpointError as error:
                progress.say(f"checkpoint {path.name}: {error}; set aside")
                checkpoint.set_aside(path)
                continue
            progress.say(f"resuming at update {about['updates']}")
            return state
        self.forget_after(0, 0)
        return None

    def go_on(self, waiting: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Put the log back to where it stood."""
        names = ("updates", "evaluated", "metrics_bytes", "evaluation_bytes")
        if not all(isinstance(about.get(name), int) for name in names):
            raise CheckpointError("the manifest does not say where the log stood")
        self.logbook.restore(about["updates"], waiting)
        self.saved, self.evaluated = about["updates"], about["evaluated"]
        self.forget_after(about["metrics_bytes"], about["evaluation_bytes"])

    def forget_after(self, metrics_bytes: int, evaluation_bytes: int) -> None:
        """Lines that were logged after the checkpoint will be logged again."""
        runs.truncate(self.folder.metrics, metrics_bytes)
        runs.truncate(self.folder.evaluation, evaluation_bytes)

    def save(self, state: TrainState) -> None:
        """Start writing a checkpoint, after the one before it is complete."""
        self.finish()
        plain = jax.device_get(jax.tree.map(checkpoint.raw, state))
        if not all(np.isfinite(x).all() for x in jax.tree.leaves(plain.runs.learner.params)):
            raise Poisoned
        about = {
            "config": self.digest,
            "updates": int(plain.updates),
            "evaluated": self.evaluated,
            "metrics_bytes": runs.file_size(self.folder.metrics),
            "evaluation_bytes": runs.file_size(self.folder.evaluation),
        }
        name = f"{int(plain.updates):09d}-{int(plain.cycles):09d}"
        self.saving = self.thread.submit(partial(self.write, name, plain, self.logbook.waiting(), about))

    def write(self, name: str, state: Any, waiting: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """The part of saving that does not hold up the run."""
        if not (self.folder.checkpoints / f"{name}.json").exists():
            checkpoint.save(self.folder.checkpoints, name, state, waiting, about)
        self.saved = about["updates"]
        checkpoint.prune(self.folder.checkpoints, NEWEST, self.config.schedule.interval)

    def finish(self) -> None:
        """Wait until the checkpoint is complete; raises `OSError` if it could not be written."""
        if self.saving is not None:
            saving, self.saving = self.saving, None
            saving.result()
