"""Files that are written as a whole or not at all, and logs that grow by lines."""

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
        sync(path.parent)


def append(path: Path, line: bytes) -> None:
    """A line more at the end of a log."""
    with path.open("ab") as file:
        file.write(line)


def sync(path: Path) -> None:
    """Bring a file to the disk, or the names in a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def file_size(path: Path) -> int:
    """Bytes, 0 if there is no file."""
    return path.stat().st_size if path.exists() else 0
