"""A run on disk: one folder holds one cohort and explains itself."""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

from maestro import settings
from maestro.config import RunConfig
from maestro.settings import SettingsError

README = """\
A run of {method} with {seeds} seed(s), made by maestro {version}.
config.toml: every setting; about.json: versions and device; status.json: how far it is.
metrics.jsonl: a line per window of updates; evaluation.jsonl: games against fixed opponents.
checkpoints/: `maestro resume` goes on from the newest; agents/: trained students, for `maestro duel`.
"""
PACKAGES = ("maestro", "jax", "jaxlib", "flax", "optax", "numpy", "safetensors")


class RunError(Exception):
    """Why a run folder cannot be used as asked."""


@dataclass(frozen=True)
class RunFolder:
    """The paths of one run."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def evaluation(self) -> Path:
        return self.path / "evaluation.jsonl"

    @property
    def agents(self) -> Path:
        return self.path / "agents"

    @property
    def status(self) -> Path:
        return self.path / "status.json"


def create(path: Path, config: RunConfig, device: str) -> RunFolder:
    """A new run folder with its configuration; refuses one that is in use for something else."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file, not a folder")
    if path.is_dir() and any(path.iterdir()):
        raise RunError(f"{path} is not empty; choose another --out, or go on with: maestro resume {path}")
    folder = RunFolder(path)
    try:
        folder.checkpoints.mkdir(parents=True)
        folder.agents.mkdir()
        about: dict[str, Any] = {
            "versions": versions(),
            "python": platform.python_version(),
            "device": device,
        }
        about["commit"] = commit()
        (path / "about.json").write_text(json.dumps(about, indent=1))
        (path / "README").write_text(
            README.format(method=config.method, seeds=config.seeds, version=versions()["maestro"])
        )
        folder.config.write_text(settings.to_toml(config))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    return folder


def versions() -> dict[str, str]:
    """Of the packages that decide what a run computes."""
    return {name: metadata.version(name) for name in PACKAGES}


def commit() -> str | None:
    """The git commit of the working directory, if it is in a repository."""
    if shutil.which("git") is None:
        return None
    answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def open_run(path: Path) -> tuple[RunFolder, RunConfig]:
    """An existing run and its configuration."""
    folder = RunFolder(path)
    if not folder.config.is_file():
        raise RunError(f"{path} is no run folder: it has no config.toml")
    try:
        return folder, settings.resolve("paper", settings.read(folder.config))
    except SettingsError as error:
        raise RunError(f"{folder.config} is damaged:\n{error}") from None


def lock(folder: RunFolder) -> TextIO:
    """Held while the returned file is open, and given back by the system however the process ends."""
    try:
        file = (folder.path / "lock").open("a+")
    except OSError as error:
        raise RunError(f"{folder.path}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise RunError(f"{folder.path} is in use by process {holder}") from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def is_locked(folder: RunFolder) -> bool:
    """Whether a process is working on the run."""
    try:
        with (folder.path / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except OSError:
        return True


def append(path: Path, record: dict[str, Any]) -> None:
    """One JSON line more."""
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def truncate(path: Path, size: int) -> None:
    """Forget the lines after a checkpoint; they will be written again."""
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)


def file_size(path: Path) -> int:
    """Bytes, 0 if there is no file."""
    return path.stat().st_size if path.exists() else 0


def write_status(folder: RunFolder, **status: Any) -> None:
    """How far the run is, replaced as a whole."""
    partial = folder.status.with_suffix(".part")
    partial.write_text(json.dumps({**status, "time": time.time()}))
    partial.replace(folder.status)


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
