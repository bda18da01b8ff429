"""A log of JSON lines, sealed as checkpoints are: what is no longer as it was written is noticed and told."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro.runs import files

SPARE = 16_000_000  # bytes beyond the mark that are looked at where a log is damaged


@dataclass(frozen=True)
class Mark:
    """How far a log is: its length, and a digest of all of it."""

    bytes: int = 0
    lines: int = 0
    sha256: str = ""  # empty where an older version did not write it down; then nor is `lines` known


NOTHING = Mark()


class LogFile:
    """One log: brought back to where a mark says, then appended to."""

    def __init__(self, path: Path, mark: Mark, updates: int) -> None:
        """`updates` is the last that the log may hold; `lost` says what of it is gone."""
        self.path, self.lost, content = path, "", b""
        if mark.bytes:
            content = read(path, mark.bytes)
            if not is_as_written(content, mark):
                self.lost = damage(path, mark, updates)
                content = path.read_bytes()
        if path.exists() and path.stat().st_size > len(content):
            os.truncate(path, len(content))  # what came after will be logged again
        self.digest = hashlib.sha256(content)
        self.mark = Mark(len(content), content.count(b"\n"), self.digest.hexdigest())  # how far it is now

    def append(self, record: dict[str, Any]) -> None:
        """One line more."""
        line = json.dumps(record).encode() + b"\n"
        files.append(self.path, line)
        self.digest.update(line)
        self.mark = Mark(self.mark.bytes + len(line), self.mark.lines + 1, self.digest.hexdigest())


def read(path: Path, size: int) -> bytes:
    """The first so many bytes, as far as there are any."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(min(size, files.file_size(path)))


def is_as_written(content: bytes, mark: Mark) -> bool:
    """Whether a log is what its mark says."""
    if not mark.sha256:
        return len(content) == mark.bytes and content[-1:] in (b"", b"\n")
    return hashlib.sha256(content).hexdigest() == mark.sha256


def damage(path: Path, mark: Mark, updates: int) -> str:
    """Keep the lines that can still be read, and the file as it was found; returns what is lost."""
    kept = readable(read(path, mark.bytes + SPARE), updates)
    found = path.is_file()
    if found:
        path.replace(path.with_name(path.name + ".bad"))
    files.write_file(path, b"".join(kept))
    gone, whole, what = mark.lines - len(kept), mark.lines, "lines"
    if not mark.sha256:
        gone, whole, what = mark.bytes - sum(map(len, kept)), mark.bytes, "bytes"
    told = f"{gone} of {whole} {what} are lost" if gone > 0 else "its lines are not those that were written"
    return f"{path.name} is damaged: {told}" + f"; the file as it was found is {path.name}.bad" * found


def readable(content: bytes, updates: int) -> list[bytes]:
    """The whole lines that are records, in order, up to so many updates."""
    kept, last = [], -1
    for line in content.splitlines(keepends=True):
        record = record_of(line)
        if record is not None and last < record["updates"] <= updates:
            kept.append(line)
            last = record["updates"]
    return kept


def record_of(line: bytes) -> dict[str, Any] | None:
    """What a whole line of a log says; None if it is no record of so many updates."""
    try:
        record = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and type(record.get("updates")) is int
    return record if known else None
