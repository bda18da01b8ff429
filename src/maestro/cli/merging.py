"""`maestro study --merge`: the finished cohorts of other folders of the same study are taken in."""

from pathlib import Path

from maestro.analysis.study import parts
from maestro.analysis.study.run_folders import DONE, Standing
from maestro.analysis.study.steps import MADE
from maestro.cli.arguments import Mistake, make_folder
from maestro.cli.output import say
from maestro.cli.sitting import Sitting
from maestro.runs import lock
from maestro.runs.folder import RunError
from maestro.runs.lock import Locked
from maestro.settings import SettingsError


def arrivals(sitting: Sitting, folders: tuple[str, ...]) -> list[Standing]:
    """What is to be copied; folders that do not go together are refused as a whole."""
    here = sitting.standings()
    try:
        others = parts.offered(sitting.study, map(Path, folders))
        found = parts.arrivals(here, others)
    except SettingsError as error:
        raise Mistake("\n  ".join(["--merge: these do not go together:", *error.problems])) from None
    for one in others:
        if one.state != DONE:
            total = one.planned.config.schedule.total_updates
            say(f"left out: {one.folder.path}: not finished, at update {one.updates} of {total}")
    return found


def take(sitting: Sitting, arrived: list[Standing]) -> None:
    """Copy cohorts into the study's folder, one process at a time."""
    make_folder("--out", sitting.out / MADE)
    try:
        with lock.hold(sitting.out / MADE):
            for one in arrived:
                parts.copy(one, sitting.out, sitting.study.top.keep_checkpoints)
                say(f"merged: {one.folder.path}")
    except (Locked, RunError) as error:
        raise Mistake(f"--merge: {error}") from None
