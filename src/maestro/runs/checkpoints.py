"""The checkpoints of one folder: which there are, which are kept, and what becomes of the others."""

import os
import re
from pathlib import Path

FORM = "{:09d}-{:09d}"  # the name of a checkpoint's files: updates and cycles
NAME = re.compile(r"(\d{9})-(\d{9})\.json")  # of a manifest


def updates_of(manifest: Path) -> int:
    """After how many updates a checkpoint was made, by its name."""
    return int(manifest.stem.split("-")[0])


def arrays_of(manifest: Path) -> Path:
    """The file that holds the arrays."""
    return manifest.with_suffix(".safetensors")


def found(folder: Path) -> list[Path]:
    """The manifests, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def set_aside(manifest: Path) -> None:
    """Keep a bad checkpoint out of the way, under names that nothing reads; the manifest goes first."""
    for file in (manifest, arrays_of(manifest)):
        if file.exists():
            os.replace(file, file.with_name(file.name + ".bad"))


def sweep(folder: Path) -> list[str]:
    """Remove what a killed process has left half written; returns the names of arrays without a manifest."""
    for path in folder.glob("*.part"):
        path.unlink(missing_ok=True)
    alone = [path for path in sorted(folder.glob("*.safetensors")) if not path.with_suffix(".json").exists()]
    for path in alone:
        path.unlink(missing_ok=True)
    return [path.name for path in alone]


def prune(folder: Path, newest: int, milestone: int) -> None:
    """Keep the newest few and the first at each milestone; a manifest goes before its arrays."""
    manifests = found(folder)
    firsts = {updates_of(path): path for path in reversed(manifests) if updates_of(path) % milestone == 0}
    for path in manifests[: max(0, len(manifests) - newest)]:
        if firsts.get(updates_of(path)) != path:
            path.unlink(missing_ok=True)
            arrays_of(path).unlink(missing_ok=True)
