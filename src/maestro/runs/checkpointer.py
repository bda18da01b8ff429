"""Checkpoints of one run: restored at its start, written in the background while it goes on."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import maestro
from maestro import settings
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.runs import checkpoint, checkpoints, files, versions
from maestro.runs.checkpoint import CheckpointError, OtherVersion
from maestro.runs.folder import RunError
from maestro.runs.log_file import Mark
from maestro.runs.metrics_log import MetricsLog, Position
from maestro.runs.reporter import Reporter

NEWEST = 3  # checkpoints kept, besides those at milestones
LOGS = ("metrics", "evaluation")  # of which a position has a mark each
NUMBERS = ("updates", "evaluated", "metrics_bytes", "evaluation_bytes")  # that every version wrote


class Poisoned(Exception):
    """The student is not finite, or something that the teacher remembers is no number: it is not saved."""


class OtherSettings(CheckpointError):
    """The checkpoint was made under other settings; the lines say which."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("belongs to a run with other settings")


def mark_of(about: dict[str, Any], log: str) -> Mark:
    """Where a log stood, as a manifest says; older versions wrote only its length."""
    lines, sha256 = about.get(f"{log}_lines"), about.get(f"{log}_sha256")
    if type(lines) is int and type(sha256) is str:
        return Mark(about[f"{log}_bytes"], lines, sha256)
    return Mark(about[f"{log}_bytes"])


def defaults(config: RunConfig) -> RunConfig:
    """The settings of the same game as they are unless someone says otherwise."""
    return RunConfig(config.game, environment=type(config.environment)(), agent=type(config.agent)())


class Checkpointer:
    """Saves the state together with the position of the logs, and restores both."""

    def __init__(self, folder: Path, config: RunConfig, reporter: Reporter) -> None:
        self.folder, self.config, self.reporter = folder, config, reporter
        folder.mkdir(exist_ok=True)
        self.thread = ThreadPoolExecutor(1)
        self.saving: Future[None] = Future()  # of the newest checkpoint; at first there is none to wait for
        self.saving.set_result(None)
        self.saved: int | None = None  # updates of the newest complete checkpoint

    def restore(self, like: Any) -> tuple[Cohort, Position] | None:
        """The newest good checkpoint, bad ones being named and set aside; None if there is none."""
        for name in checkpoints.sweep(self.folder):
            self.reporter.say(f"checkpoint {name} has no manifest, so it was never complete; removed")
        foreign, bad = [], []
        for path in reversed(checkpoints.found(self.folder)):
            try:
                state, position = self.load(path, like)
            except OtherVersion as error:  # good, just not here: nothing is touched
                raise RunError(f"checkpoint {path.name}: {error}") from None
            except OtherSettings as error:
                foreign.append((path, error))
            except CheckpointError as error:
                bad.append((path, error))
            else:
                self.put_away(foreign + bad)
                self.saved = position.updates
                return state, position
        if foreign:  # all of them: then it is the settings that are wrong
            told = "".join(f"\n  {line}" for line in foreign[0][1].lines)
            raise RunError(f"config.toml is not what the checkpoints were made with:{told}")
        self.put_away(bad)
        return None

    def load(self, path: Path, like: Any) -> tuple[Cohort, Position]:
        """One checkpoint, if it belongs to this run."""
        self.refuse_other_settings(checkpoint.read_manifest(path))
        state, waiting, about = checkpoint.load(path, like)
        if not all(type(about.get(name)) is int for name in NUMBERS):
            raise CheckpointError("the manifest does not say where the log stood")
        marks = {name: mark_of(about, name) for name in LOGS}
        return state, Position(about["updates"], about["evaluated"], **marks, waiting=waiting)

    def refuse_other_settings(self, manifest: dict[str, Any]) -> None:
        """A checkpoint that was made under other settings is of no use here; unwritten ones had defaults."""
        theirs = manifest["about"].get("settings")
        if not isinstance(theirs, dict):
            raise CheckpointError("the manifest does not say with which settings it was made")
        problems: list[str] = []
        known = versions.upgrade({**theirs, "format": manifest["schema"]})
        made_with = settings.apply(defaults(self.config), known, problems)
        lines = problems + settings.difference(made_with, self.config)
        if lines:
            raise OtherSettings(lines)

    def put_away(self, bad: list[Any]) -> None:
        """Name what cannot be used, and set it aside."""
        for path, error in bad:
            self.reporter.say(f"checkpoint {path.name}: {error}; set aside")
            checkpoints.set_aside(path)

    def save(self, state: Cohort, log: MetricsLog) -> None:
        """Start writing a checkpoint, after the one before it is complete."""
        self.saving.result()
        plain = jax.device_get(jax.tree.map(checkpoint.raw, state))
        learner = all(np.isfinite(x).all() for x in jax.tree.leaves(plain.seeds.learner))
        floats = [x for x in jax.tree.leaves(plain) if jnp.issubdtype(x.dtype, jnp.floating)]
        if not learner or any(np.isnan(x).any() for x in floats):
            raise Poisoned
        position = log.position()
        about = {
            "maestro": maestro.__version__,
            "settings": settings.as_dict(self.config),
            "updates": int(plain.updates),
            "evaluated": position.evaluated,
        }
        for of_log in LOGS:
            mark = asdict(getattr(position, of_log))
            about |= {f"{of_log}_{name}": value for name, value in mark.items()}
        self.saving = self.thread.submit(partial(self.write, plain, position.waiting, about, log))

    def write(
        self, state: Cohort, waiting: dict[str, np.ndarray], about: dict[str, Any], log: MetricsLog
    ) -> None:
        """The part of saving that does not hold up the run."""
        name = checkpoints.FORM.format(about["updates"], int(state.cycles))
        if not (self.folder / f"{name}.json").exists():
            for path in (log.metrics.path, log.evaluation.path):
                if path.exists():  # it must hold all that the checkpoint says it does
                    files.sync(path)
            checkpoint.save(self.folder, name, state, waiting, about)
        self.saved = about["updates"]
        checkpoints.prune(self.folder, NEWEST, self.config.schedule.interval)

    def check(self) -> None:
        """Raise what went wrong in the background, if anything did."""
        if self.saving.done():
            self.saving.result()

    def finish(self) -> None:
        """Wait until the checkpoint is complete; raises `OSError` if it could not be written."""
        self.saving.result()
