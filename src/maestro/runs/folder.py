"""A run on disk: one folder holds one cohort and explains itself."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import maestro
from maestro import toml
from maestro.config import RunConfig
from maestro.runs import sessions, versions
from maestro.runs.files import write_file
from maestro.settings import SettingsError

README = """\
A run of {method} on {game} with {seeds} seed(s), made by maestro {version}.
config.toml: every setting; about.json: versions and device; status.json: how far it is.
metrics.jsonl: a line per window of updates; evaluation.jsonl: games against fixed opponents.
checkpoints/: `maestro resume` starts from the newest; agents/: trained students, for `maestro duel`.
milestones/: the students along training, in half precision; levels/: samples of what they were served.
"""
FILES = {
    "config": "config.toml",
    "about": "about.json",
    "status": "status.json",
    "metrics": "metrics.jsonl",
    "evaluation": "evaluation.jsonl",
    "checkpoints": "checkpoints",
    "agents": "agents",
    "milestones": "milestones",
    "levels": "levels",
}
MAX_JSON = 1_000_000  # bytes
ENDS = ("finished", "stopped", "failed")  # what status.json says of runs that are over


class RunError(Exception):
    """Why a run folder cannot be used as asked."""


class NewerRun(RunError):
    """The run was made by a newer version."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path
    config: Path = field(init=False)
    about: Path = field(init=False)
    status: Path = field(init=False)
    metrics: Path = field(init=False)
    evaluation: Path = field(init=False)
    checkpoints: Path = field(init=False)
    agents: Path = field(init=False)
    milestones: Path = field(init=False)
    levels: Path = field(init=False)

    def __post_init__(self) -> None:
        for name, file in FILES.items():
            object.__setattr__(self, name, self.path / file)


def begin(folder: RunFolder, config: RunConfig, plant: Callable[[], None] | None = None) -> None:
    """Write the configuration, under the lock: from then on the folder is a run that can be resumed.

    What it begins with, if not with nothing, is planted before.
    """
    refuse_used(folder)
    text = f"format = {versions.FORMAT}\n{toml.to_toml(config)}"
    try:
        if plant is not None:
            plant()
        write_file(folder.config, text.encode())
    except OSError as error:
        raise RunError(f"{folder.path}: cannot be written: {error.strerror}") from None


def refuse_used(folder: RunFolder) -> None:
    """A new run needs a folder that is empty, but for what a run killed at its very start has left."""
    path = folder.path
    try:
        if path.exists() and not path.is_dir():
            raise RunError(f"{path} is a file, not a folder")
        if folder.config.exists():
            raise RunError(f"{path} holds a run; choose another --out, or resume it: maestro resume")
        if path.is_dir() and {file.name for file in path.iterdir()} - {"lock", "config.toml.part"}:
            raise RunError(f"{path} is not empty; choose another --out")
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None


def begin_session(folder: RunFolder, config: RunConfig, now: dict[str, Any], game_from: str = "") -> str:
    """Note who trains the run from here on, the first time what it is too; returns what has changed since."""
    about, past = read_json(folder.about), []
    folder.agents.mkdir(exist_ok=True)  # empty to the end, and not all that copies folders takes those along
    if "versions" in about:
        past = sessions.before(about)
    else:
        names = {"method": config.method, "game": config.game, "seeds": config.seeds}
        readme = README.format(**names, version=maestro.__version__)
        write_file(folder.path / "README", readme.encode())
        first = {name: fact for name, fact in now.items() if name not in sessions.OF_ONE}
        about |= {**first, "game_from": game_from or None}
    write_about(folder, {**about, "sessions": [*past, now]})
    return sessions.changes(past, now) if past else ""


def end_session(folder: RunFolder, seconds: float, updates: int) -> None:
    """Note how long the newest session took, with all that was compiled, and how many updates it made."""
    about = read_json(folder.about)
    if not (known := sessions.before(about)):
        return
    *past, newest = known
    took = {"seconds": round(seconds, 1), "updates": updates}
    write_about(folder, {**about, "sessions": [*past, {**newest, **took}]})


def write_about(folder: RunFolder, about: dict[str, Any]) -> None:
    """What the run was made with, and from."""
    write_file(folder.about, json.dumps(about, indent=1).encode())


def read_settings(path: Path) -> tuple[RunFolder, dict[str, Any]]:
    """An existing run and its settings under the names they have now, not yet checked."""
    folder = RunFolder(path)
    try:
        known = folder.config.is_file()
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None
    if not known:
        raise RunError(f"{path} is no run folder: it has no config.toml")
    try:
        return folder, versions.upgrade(toml.read(folder.config))
    except versions.TooNew as error:
        raise NewerRun(f"{folder.config}: {error}") from None
    except SettingsError as error:
        raise RunError(f"{folder.config} is damaged:\n{error}") from None


def write_status(folder: RunFolder, **status: Any) -> None:
    """How far the run is, replaced as a whole."""
    write_file(folder.status, json.dumps({**status, "time": time.time()}).encode(), durable=False)


def read_json(path: Path) -> dict[str, Any]:
    """A small JSON object; empty if there is none to be read."""
    try:
        whole = path.is_file() and path.stat().st_size < MAX_JSON  # a pipe has no end
        found = json.loads(path.read_bytes()) if whole else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_complete(folder: RunFolder, seeds: int) -> bool:
    """Whether all that comes after training is there: each student's file and the last comparison."""
    students = list(folder.agents.glob("student-*.safetensors"))
    return len(students) >= seeds and (folder.path / "summary.json").is_file()


def is_finished(folder: RunFolder, seeds: int) -> bool:
    """Whether nothing is left to be done of a run, if nobody works on it."""
    return read_json(folder.status).get("state") == "finished" and is_complete(folder, seeds)


def list_runs(path: Path, deeper: int = 2) -> tuple[list[RunFolder], list[Path]]:
    """(the run folders at a path, right below it and one deeper; the folders that cannot be looked into)."""
    try:
        found = [RunFolder(path)] if (path / "config.toml").is_file() else []
        below = sorted(p for p in path.iterdir() if p.is_dir()) if deeper and path.is_dir() else []
    except OSError:  # of another user, say
        return [], [path]
    parts = [list_runs(p, deeper - 1) for p in below]
    return found + [run for part in parts for run in part[0]], [p for part in parts for p in part[1]]
