"""With what a run was made: about.json has a session for each process that trained it."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import maestro

OF_ONE = ("lstm", "layout", "chunk")  # what is noted of each session, and not of the run
# Those that decide what a run computes.
PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "safetensors")


def this_one(device: str, form: str = "", layout: str = "", chunk: str = "") -> dict[str, Any]:
    """Versions, device, forms of the network's recursion and of chunks, seeds x environments, and commit."""
    versions = {"maestro": maestro.__version__, **{name: metadata.version(name) for name in PACKAGES}}
    return {
        "versions": versions,
        "python": platform.python_version(),
        "device": device,
        **({"lstm": form} if form else {}),
        **({"layout": layout} if layout else {}),
        **({"chunk": chunk} if chunk else {}),
        "commit": commit(),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def commit() -> str | None:
    """The git commit of maestro's own checkout; none if it was installed from a package."""
    package = Path(maestro.__file__).resolve().parent
    root = package.parents[1]
    if package != root / "src" / "maestro" or not (root / ".git").exists() or shutil.which("git") is None:
        return None
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=clean)
    return answer.stdout.strip() or None


def before(about: dict[str, Any]) -> list[Any]:
    """The sessions so far; older versions noted the first one only, without a list."""
    known = about.get("sessions")
    return known if isinstance(known, list) else [dict(about)] if "versions" in about else []


def changes(past: list[Any], now: dict[str, Any]) -> str:
    """What is different from the session before, as far as it can change what is computed."""
    facts = decisive(past[-1]) if isinstance(past[-1], dict) else {}
    told = [f"{name} {facts[name]} -> {x}" for name, x in decisive(now).items() if facts.get(name, x) != x]
    return ", ".join(told)


def decisive(session: dict[str, Any]) -> dict[str, Any]:
    """What decides, besides the settings, what a session computes; unknown facts are left out."""
    known = session.get("versions")
    facts = dict(known) if isinstance(known, dict) else {}
    facts |= {name: session.get(name) for name in ("device", "lstm", "layout", "chunk", "commit")}
    return {name: value for name, value in facts.items() if isinstance(value, str)}
