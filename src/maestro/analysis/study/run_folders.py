"""The run folders of a study: what is done, what was begun, what does not belong; finished ones as pieces."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from maestro import games, settings
from maestro.analysis.study.cohorts import Planned
from maestro.analysis.study.plan import Study
from maestro.config import RunConfig
from maestro.runs import build, checkpoints, lock
from maestro.runs import folder as run_folder
from maestro.runs.folder import RunError, RunFolder
from maestro.runs.lock import InUse
from maestro.settings import SettingsError

NEW, BEGUN, DONE = "new", "begun", "done"
MAX_BYTES = 16_000_000  # of a file of a piece


@dataclass(frozen=True)
class Standing:
    """A cohort and how far it is."""

    planned: Planned
    folder: RunFolder
    state: str
    updates: int = 0  # that are safe

    @property
    def left(self) -> int:
        """Updates that are still to be made."""
        return 0 if self.state == DONE else self.planned.config.schedule.total_updates - self.updates


def standings(study: Study, out: Path) -> list[Standing]:
    """How far every cohort is; `SettingsError` lists all the folders that do not belong to the study."""
    found, problems = [], []
    for planned in study.cohorts:
        try:
            found.append(standing(study, planned, RunFolder(out / "runs" / planned.name)))
        except RunError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError(problems)
    return found


def standing(study: Study, planned: Planned, folder: RunFolder) -> Standing:
    """How far a cohort is; `RunError` if its folder holds something else."""
    if not begun(folder):
        return Standing(planned, folder, NEW)
    different = settings.difference(config_of(study, planned, folder), planned.config)
    if different:
        lines = "\n    ".join(different)
        raise RunError(f"{folder.path}: its settings are not those of the study:\n    {lines}")
    if is_done(folder, planned.config.seeds):
        return Standing(planned, folder, DONE, planned.config.schedule.total_updates)
    saved: list[Path] = []
    with suppress(FileNotFoundError):  # another process makes a piece of it now
        saved = checkpoints.found(folder.checkpoints)
    if not saved and run_folder.read_json(folder.status).get("state") == "finished":
        return ended(planned, folder)
    return Standing(planned, folder, BEGUN, checkpoints.updates_of(saved[-1]) if saved else 0)


def begun(folder: RunFolder) -> bool:
    """Whether a folder holds a run, which another process may begin at this moment."""
    if not folder.config.exists():
        try:
            run_folder.refuse_used(folder)
        except RunError:
            if not folder.config.exists():
                raise
    return folder.config.exists()


def ended(planned: Planned, folder: RunFolder) -> Standing:
    """A finished cohort without checkpoints: a piece, unless another process is at it."""
    total = planned.config.schedule.total_updates
    if lock.is_held(folder.path):
        return Standing(planned, folder, BEGUN, total)
    if run_folder.is_complete(folder, planned.config.seeds):
        return Standing(planned, folder, DONE, total)
    raise RunError(f"{folder.path}: a piece that is not whole; copy it again, or remove it")


def config_of(study: Study, planned: Planned, folder: RunFolder) -> RunConfig:
    """The settings in a run folder."""
    _, raw = run_folder.read_settings(folder.path)
    if raw.get("method") != planned.config.method:
        raise RunError(f"{folder.path}: a run of {raw.get('method')!r}, not of {planned.config.method!r}")
    try:
        return build.configure(study.game, games.fill(study.game, RunConfig()), raw, planned.method)
    except SettingsError as error:
        raise RunError(f"{folder.config} is damaged:\n    " + "\n    ".join(error.problems)) from None


def is_done(folder: RunFolder, seeds: int) -> bool:
    """Whether all that a cohort leaves is there."""
    return run_folder.is_finished(folder, seeds) and not lock.is_held(folder.path)


def make_piece(folder: RunFolder) -> list[str]:
    """Remove the checkpoints of a finished run; returns what is too large for a piece, a line each."""
    with suppress(InUse), lock.hold(folder.path):  # in use: another process makes the piece
        if folder.checkpoints.exists():
            shutil.rmtree(folder.checkpoints)
    files = sorted(path for path in folder.path.rglob("*") if path.is_file())
    return [
        f"{path}: {size / 1e6:.1f} MB; files of a piece have at most {MAX_BYTES // 1_000_000}"
        for path in files
        if (size := path.stat().st_size) > MAX_BYTES
    ]


def changes(before: Study, after: Study) -> list[str]:
    """What is no longer as an earlier file had it, a line each; additions and evaluations are free."""
    new = {planned.name: planned.config for planned in after.cohorts}
    lines = []
    for old in before.cohorts:
        if old.name not in new:
            lines.append(f"cohort {old.name}: is gone")
        else:
            lines += [f"cohort {old.name}: {line}" for line in settings.difference(old.config, new[old.name])]
    return lines
