"""A study on several machines: which cohorts a part has, and how finished ones come together."""

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from maestro.analysis.study import run_folders
from maestro.analysis.study.plan import Study
from maestro.analysis.study.run_folders import BEGUN, DONE, Standing
from maestro.runs import agent_file, lock
from maestro.runs import folder as run_folder
from maestro.runs.folder import RunError, RunFolder
from maestro.settings import SettingsError, shown

PART = re.compile(r"(\d{1,6})/(\d{1,6})")
COPIES = "merging"  # of cohorts, until they are whole
RESULTS = ("agents", "milestones", "levels", "metrics.jsonl", "evaluation.jsonl")  # what training came to
PASSING = ("lock", "checkpoints")  # what is of use only where a run was trained


def part(study: Study, typed: str) -> tuple[str, ...]:
    """The names of a part's cohorts: of 3/8 the 3rd, 11th, 19th and so on; `ValueError` if it is none."""
    found = PART.fullmatch(typed)
    if found is None:
        raise ValueError(f"{shown(typed)} is no part; the third of eight is 3/8")
    number, count = int(found[1]), int(found[2])
    if not 1 <= number <= count:
        raise ValueError(f"{typed} is no part: the I of I/N goes from 1 to N")
    return tuple(cohort.name for cohort in study.cohorts[number - 1 :: count])


def offered(study: Study, folders: Iterable[Path]) -> list[Standing]:
    """The cohorts in other folders of the study; `SettingsError` lists what does not belong to it."""
    known = {planned.name: planned for planned in study.cohorts}
    found, problems = [], []
    for folder in folders:
        if not (folder / "runs").is_dir():
            problems.append(f"{folder}: is no folder of a study: it has no runs/")
            continue
        for path in sorted((folder / "runs").iterdir()):
            if path.name not in known:
                problems.append(f"{path}: is no cohort of the study")
                continue
            try:
                found.append(run_folders.standing(study, known[path.name], RunFolder(path)))
            except RunError as error:
                problems.append(str(error))
    if problems:
        raise SettingsError(problems)
    return found


def arrivals(here: Iterable[Standing], others: Iterable[Standing]) -> list[Standing]:
    """Which finished cohorts are to be copied here; `SettingsError` lists those that there are two of."""
    first = {one.planned.name: one for one in here if one.folder.config.exists()}
    found, problems = [], []
    for other in (one for one in others if one.state == DONE):
        one = first.setdefault(other.planned.name, other)
        problems += damaged(other.folder)
        if one.state == BEGUN:
            problems.append(f"{one.folder.path}: was begun, and {other.folder.path} is finished; remove one")
        elif one is other:
            found.append(other)
        elif different := unlike(one.folder, other.folder):
            problems.append(f"{other.folder.path}: is not what {one.folder.path} is: {different} differs")
    if problems:
        raise SettingsError(problems)
    return found


def damaged(folder: RunFolder) -> list[str]:
    """A line for each student whose file is not the one that its card describes."""
    files = sorted(folder.agents.glob("student-*" + agent_file.ENDING))
    return [
        f"{file}: not the file that its card describes" for file in files if sha256(file) != on_card(file)
    ]


def on_card(file: Path) -> str:
    """The digest of an agent's file by its card; nothing if that cannot be read."""
    try:
        return str(agent_file.read_card(file.with_suffix(".json")).get("sha256"))
    except agent_file.AgentError:
        return ""


def unlike(one: RunFolder, other: RunFolder) -> str:
    """The first of the results of training in which two folders differ, if any does."""
    mine, others = results(one), results(other)
    return next((name for name in sorted({*mine, *others}) if mine.get(name) != others.get(name)), "")


def results(folder: RunFolder) -> dict[str, str]:
    """What training came to: a digest of every file, by its name."""
    roots = [folder.path / name for name in RESULTS]
    files = [file for root in roots for file in (root, *root.rglob("*")) if file.is_file()]
    return {str(file.relative_to(folder.path)): sha256(file) for file in files}


def sha256(file: Path) -> str:
    """Of a file; nothing if there is none."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def copy(arrived: Standing, out: Path, checkpoints: bool) -> None:
    """Copy a finished cohort into the study's folder, all of it or nothing."""
    name = arrived.planned.name
    staged, target = out / COPIES / name, out / "runs" / name
    shutil.rmtree(out / COPIES, ignore_errors=True)
    left_out = shutil.ignore_patterns(*PASSING[: 1 if checkpoints else 2])
    shutil.copytree(arrived.folder.path, staged, ignore=left_out)
    target.mkdir(parents=True, exist_ok=True)
    with lock.hold(target):
        run_folder.refuse_used(RunFolder(target))
        shutil.rmtree(target)
        staged.rename(target)
    staged.parent.rmdir()
