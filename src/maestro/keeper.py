"""Checkpoints of one run: restored at its start, written in the background while it goes on."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro import checkpoint, files, runs, settings, shelf
from maestro.checkpoint import CheckpointError, OtherSettings
from maestro.config import RunConfig
from maestro.logbook import Logbook
from maestro.progress import Progress
from maestro.runs import RunError, RunFolder
from maestro.train import TrainState

NEWEST = 3  # checkpoints kept, besides those at milestones


class Poisoned(Exception):
    """The state holds numbers that are not finite, and is not saved."""


def poisoned(plain: TrainState) -> bool:
    """Whether the student is not finite, or anything that the teacher remembers is no number."""
    learner = all(np.isfinite(x).all() for x in jax.tree.leaves(plain.runs.learner))
    floats = [x for x in jax.tree.leaves(plain) if jnp.issubdtype(x.dtype, jnp.floating)]
    return not learner or any(np.isnan(x).any() for x in floats)


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
        """The newest good checkpoint, bad ones being named and set aside; None if there never was one."""
        for name in shelf.sweep(self.folder.checkpoints):
            progress.say(f"checkpoint {name} has no manifest, so it was never complete; removed")
        foreign, bad = [], []
        for path in reversed(shelf.found(self.folder.checkpoints)):
            try:
                state, waiting, about = checkpoint.load(path, like, self.digest)
                self.go_on(waiting, about)
            except OtherSettings as error:
                foreign.append((path, error))
            except CheckpointError as error:
                bad.append((path, error))
            else:
                self.put_away(foreign + bad, progress)
                self.tell_start(progress)
                return state
        self.refuse_other_settings(foreign)
        self.put_away(bad, progress)
        self.start_over(bool(bad), progress)
        return None

    def put_away(self, bad: list[Any], progress: Progress) -> None:
        """Name what cannot be used, and set it aside."""
        for path, error in bad:
            progress.say(f"checkpoint {path.name}: {error}; set aside")
            shelf.set_aside(path)

    def refuse_other_settings(self, foreign: list[Any]) -> None:
        """Where all checkpoints were made under other settings, it is the settings that are wrong."""
        if foreign:
            theirs = foreign[0][1].settings
            made = settings.apply(self.config, theirs if isinstance(theirs, dict) else {}, [])
            lines = settings.difference(made, self.config)
            told = "".join(f"\n  {line}" for line in lines)
            raise RunError(f"{self.folder.config} is not what the checkpoints were made with:{told}")

    def tell_start(self, progress: Progress) -> None:
        """Where the run goes on, and whether it had come further."""
        known = runs.read_status(self.folder).get("checkpoint")
        if type(known) is int and self.saved is not None and known > self.saved:
            progress.say(f"the checkpoint of update {known} is gone")
        progress.say(f"resuming at update {self.saved}")

    def start_over(self, lost: bool, progress: Progress) -> None:
        """From the first update, which the settings alone decide; logs of a lost run are kept aside."""
        if lost or runs.read_status(self.folder).get("checkpoint") is not None:
            progress.say("no checkpoint can be used: starting again at update 0")
            for log in (self.folder.metrics, self.folder.evaluation):
                if log.exists():
                    log.replace(log.with_name(log.name + ".bad"))
        self.forget_after(0, 0)

    def go_on(self, waiting: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """Put the log back to where it stood."""
        names = ("updates", "evaluated", "metrics_bytes", "evaluation_bytes")
        if not all(type(about.get(name)) is int for name in names):
            raise CheckpointError("the manifest does not say where the log stood")
        self.logbook.restore(about["updates"], waiting)
        self.saved, self.evaluated = about["updates"], about["evaluated"]
        self.forget_after(about["metrics_bytes"], about["evaluation_bytes"])

    def forget_after(self, metrics_bytes: int, evaluation_bytes: int) -> None:
        """Lines that were logged after the checkpoint will be logged again."""
        files.truncate(self.folder.metrics, metrics_bytes)
        files.truncate(self.folder.evaluation, evaluation_bytes)

    def save(self, state: TrainState) -> None:
        """Start writing a checkpoint, after the one before it is complete."""
        self.finish()
        plain = jax.device_get(jax.tree.map(checkpoint.raw, state))
        if poisoned(plain):
            raise Poisoned
        about = {
            "config": self.digest,
            "settings": asdict(self.config),
            "updates": int(plain.updates),
            "evaluated": self.evaluated,
            "metrics_bytes": files.file_size(self.folder.metrics),
            "evaluation_bytes": files.file_size(self.folder.evaluation),
        }
        name = shelf.name(int(plain.updates), int(plain.cycles))
        self.saving = self.thread.submit(partial(self.write, name, plain, self.logbook.waiting(), about))

    def write(self, name: str, state: Any, waiting: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        """The part of saving that does not hold up the run."""
        if not (self.folder.checkpoints / f"{name}.json").exists():
            for log in (self.folder.metrics, self.folder.evaluation):
                files.sync(log)
            checkpoint.save(self.folder.checkpoints, name, state, waiting, about)
        self.saved = about["updates"]
        shelf.prune(self.folder.checkpoints, NEWEST, self.config.schedule.interval)

    def check(self) -> None:
        """Raise what went wrong in the background, if anything did."""
        if self.saving is not None and self.saving.done():
            self.finish()

    def finish(self) -> None:
        """Wait until the checkpoint is complete; raises `OSError` if it could not be written."""
        if self.saving is not None:
            saving, self.saving = self.saving, None
            saving.result()
