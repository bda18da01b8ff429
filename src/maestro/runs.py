"""A run on disk: one folder holds one cohort and explains itself."""

import json
import platform
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import maestro
from maestro import lock, settings
from maestro.config import RunConfig
from maestro.files import write_file
from maestro.settings import SettingsError

README = """\
A run of {method} with {seeds} seed(s), made by maestro {version}.
config.toml: every setting; about.json: versions and device; status.json: how far it is.
metrics.jsonl: a line per window of updates; evaluation.jsonl: games against fixed opponents.
checkpoints/: `maestro resume` goes on from the newest; agents/: trained students, for `maestro duel`.
"""
PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "safetensors")


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
    """A new run folder with its configuration; refuses one that is in use for something else.

    The configuration is written first and at once: from then on the folder is a run that can be resumed.
    """
    folder = RunFolder(path)
    refuse_used(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with lock.hold(path):
            refuse_used(folder)
            write_file(folder.config, settings.to_toml(config).encode())
        furnish(folder, config, device)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    except lock.Locked as error:
        raise RunError(str(error)) from None
    return folder


def refuse_used(folder: RunFolder) -> None:
    """A new run needs a folder that is empty, but for what a run killed at its very start has left."""
    path = folder.path
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file, not a folder")
    if folder.config.exists():
        raise RunError(f"{path} holds a run; choose another --out, or go on with: {resume_command(path)}")
    if path.is_dir() and {file.name for file in path.iterdir()} - {"lock", "config.toml.part"}:
        raise RunError(f"{path} is not empty; choose another --out")


def program() -> str:
    """How this program can be called again: by its name, or as it was called if that is not on the path."""
    called = Path(sys.argv[0])
    known = called.name != "maestro" or shutil.which("maestro") is not None
    return "maestro" if known else shlex.quote(str(called))


def resume_command(path: Path) -> str:
    """How to go on with a run, as it can be pasted."""
    return f"{program()} resume {shlex.quote(str(path))}"


def furnish(folder: RunFolder, config: RunConfig, device: str) -> None:
    """What is not there yet of the folders and the files that explain the run."""
    folder.checkpoints.mkdir(exist_ok=True)
    folder.agents.mkdir(exist_ok=True)
    known = versions()
    readme = README.format(method=config.method, seeds=config.seeds, version=known["maestro"])
    if not (folder.path / "README").exists():
        write_file(folder.path / "README", readme.encode())
    if not (folder.path / "about.json").exists():
        about = {"versions": known, "python": platform.python_version(), "device": device}
        write_file(folder.path / "about.json", json.dumps({**about, "commit": commit()}, indent=1).encode())


def versions() -> dict[str, str]:
    """Of the packages that decide what a run computes."""
    return {"maestro": maestro.__version__, **{name: metadata.version(name) for name in PACKAGES}}


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
