"""Files that are written as a whole or not at all, and logs that can be put back to where they stood."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_file(path: Path, content: bytes, durable: bool = True) -> None:
    """All of a file or nothing: under another name, synced if it must outlive the machine, then renamed."""
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append(path: Path, record: dict[str, Any]) -> None:
    """One JSON line more."""
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def truncate(path: Path, size: int) -> None:
    """Forget the lines after a checkpoint; they will be written again."""
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)


def sync(path: Path) -> None:
    """Bring a log to the disk, so that it holds all that a checkpoint says it does."""
    if path.exists():
        with path.open("rb") as file:
            os.fsync(file.fileno())


def file_size(path: Path) -> int:
    """Bytes, 0 if there is no file."""
    return path.stat().st_size if path.exists() else 0
