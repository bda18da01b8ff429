"""Files that are written as a whole or not at all, and logs that can be put back to where they stood."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path, name: str = "") -> Iterator[Path]:
    """A file of another name to write into, which then takes the place of a file, or is removed."""
    partial = path.with_name(name or f".part-{os.getpid()}{path.suffix}")
    try:
        yield partial
        partial.replace(path)
    except BaseException:  # an interrupt too
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def write_file(path: Path, content: bytes, durable: bool = True) -> None:
    """All of a file or nothing: under another name, synced if it must outlive the machine, then renamed."""
    with replacing(path, path.name + ".part") as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    if durable:
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def append(path: Path, line: bytes) -> None:
    """A line more at the end of a log."""
    with path.open("ab") as file:
        file.write(line)


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
