"""A run on disk: one folder holds one cohort and explains itself."""

import json
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import maestro
from maestro import toml
from maestro.config import RunConfig
from maestro.runs import versions
from maestro.runs.files import write_file
from maestro.settings import SettingsError

README = """\
A run of {method} on {game} with {seeds} seed(s), made by maestro {version}.
config.toml: every setting; about.json: versions and device; status.json: how far it is.
metrics.jsonl: a line per window of updates; evaluation.jsonl: games against fixed opponents.
checkpoints/: `maestro resume` starts from the newest; agents/: trained students, for `maestro duel`.
"""
FILES = {
    "config": "config.toml",
    "status": "status.json",
    "metrics": "metrics.jsonl",
    "evaluation": "evaluation.jsonl",
    "checkpoints": "checkpoints",
    "agents": "agents",
}
PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "safetensors")


class RunError(Exception):
    """Why a run folder cannot be used as asked."""


class NewerRun(RunError):
    """The run was made by a newer version."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path
    config: Path = field(init=False)
    status: Path = field(init=False)
    metrics: Path = field(init=False)
    evaluation: Path = field(init=False)
    checkpoints: Path = field(init=False)
    agents: Path = field(init=False)

    def __post_init__(self) -> None:
        for name, file in FILES.items():
            object.__setattr__(self, name, self.path / file)


def claim(path: Path) -> RunFolder:
    """A folder for a new run, made if need be; refuses one that is in use for something else."""
    folder = RunFolder(path)
    refuse_used(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    return folder


def begin(folder: RunFolder, config: RunConfig) -> None:
    """Write the configuration, under the lock: from then on the folder is a run that can be resumed."""
    refuse_used(folder)
    text = f"format = {versions.FORMAT}\n{toml.to_toml(config)}"
    try:
        write_file(folder.config, text.encode())
    except OSError as error:
        raise RunError(f"{folder.path}: cannot be written: {error.strerror}") from None


def refuse_used(folder: RunFolder) -> None:
    """A new run needs a folder that is empty, but for what a run killed at its very start has left."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file, not a folder")
    if folder.config.exists():
        raise RunError(f"{path} holds a run; choose another --out, or resume it: maestro resume")
    if path.is_dir() and {file.name for file in path.iterdir()} - {"lock", "config.toml.part"}:
        raise RunError(f"{path} is not empty; choose another --out")


def furnish(folder: RunFolder, config: RunConfig, device: str, game_from: str = "") -> None:
    """What is not there yet of the folders and the files that explain the run."""
    folder.checkpoints.mkdir(exist_ok=True)
    folder.agents.mkdir(exist_ok=True)
    known = package_versions()
    names = {"method": config.method, "game": config.game, "seeds": config.seeds}
    readme = README.format(**names, version=known["maestro"])
    if not (folder.path / "README").exists():
        write_file(folder.path / "README", readme.encode())
    if not (folder.path / "about.json").exists():
        about: dict[str, Any] = {"versions": known, "python": platform.python_version(), "device": device}
        about |= {"commit": commit(), "game_from": game_from or None}
        write_file(folder.path / "about.json", json.dumps(about, indent=1).encode())


def package_versions() -> dict[str, str]:
    """Of the packages that decide what a run computes."""
    return {"maestro": maestro.__version__, **{name: metadata.version(name) for name in PACKAGES}}


def commit() -> str | None:
    """The git commit of the working directory, if it is in a repository."""
    if shutil.which("git") is None:
        return None
    answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def read_settings(path: Path) -> tuple[RunFolder, dict[str, Any]]:
    """An existing run and its settings under the names they have now, not yet checked."""
    folder = RunFolder(path)
    if not folder.config.is_file():
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


def read_status(folder: RunFolder) -> dict[str, Any]:
    """How far the run is; empty if that is unknown."""
    try:
        status = json.loads(folder.status.read_bytes())
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def list_runs(path: Path) -> list[RunFolder]:
    """The run folders at or right below a path, and one deeper."""
    candidates = [path, *sorted(path.glob("*")), *sorted(path.glob("*/*"))] if path.is_dir() else []
    return [RunFolder(p) for p in candidates if (p / "config.toml").is_file()]
