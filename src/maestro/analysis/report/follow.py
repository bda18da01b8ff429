"""The newest data of folders that are still written into, collected in the background while anyone looks."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import maestro
from maestro.analysis.report.numbers import to_json

EVERY = 3.0  # seconds between two looks at the files, at least
SHARE = 0.1  # of the time that collecting may take, so that training keeps its cores
QUIET = 60.0  # seconds after which all is read again though no file has changed: a process may have died
DEEPER = 3  # a study holds runs/NAME/levels
LOGS = ("config.toml", "status.json", "metrics.jsonl", "evaluation.jsonl", "table.csv", "landscape.json")
Data = dict[str, Any]
EMPTY: Data = {
    "format": 1,
    "title": "MAESTRO",
    "made": "",
    "version": maestro.__version__,
    "game": "",
    "live": True,
    "seats": [],
    "seat_colors": [],
    "question": "",
    "answer": [],
    "tables": [],
    "figures": [],
    "scenes": [],
    "games": [],
    "runs": [],
    "landscapes": [],
    "crossplays": [],
    "play": None,
    "left_out": [],
    "notice": None,
}


@dataclass(frozen=True)
class Snapshot:
    """What is known at one moment, as it is sent."""

    data: Data
    join: Callable[[Data], str]

    @cached_property
    def json(self) -> bytes:
        """The data alone."""
        return to_json(self.data).encode()

    @cached_property
    def page(self) -> str:
        """The page that shows it, made when it is first asked for."""
        return self.join(self.data)


class Follower:
    """Keeps a snapshot of some folders; nothing is read while nobody asks for it."""

    def __init__(
        self, paths: Sequence[Path], collect: Callable[[], Data], join: Callable[[Data], str]
    ) -> None:
        self.paths, self.collect, self.join = tuple(paths), collect, join
        self.known: Data = EMPTY | {"question": f"Waiting for {named(self.paths)}."}
        self.snapshot = Snapshot(self.known, join)
        self.signs: Any = None  # of the files, when they were last read
        self.read_at, self.pause = 0.0, EVERY
        self.wanted, self.stopped = threading.Event(), threading.Event()

    def __enter__(self) -> "Follower":
        self.wanted.set()
        threading.Thread(target=self.work, daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stopped.set()

    def newest(self) -> Snapshot:
        """What is known by now; that it was asked for is noted."""
        self.wanted.set()
        return self.snapshot

    def work(self) -> None:
        """Look now and then whether there is news, until the end."""
        self.look()
        while not self.stopped.wait(self.pause):
            self.look()

    def look(self) -> None:
        """Read all again if anyone has asked since, and if the files have changed since."""
        if not self.wanted.is_set():
            return
        signs, now = [signs_of(path) for path in self.paths], time.monotonic()
        if signs == self.signs and now - self.read_at < QUIET:
            return
        self.wanted.clear()
        self.signs, self.read_at = signs, now
        self.refresh()
        self.pause = max(EVERY, (time.monotonic() - now) / SHARE)

    def refresh(self) -> None:
        """Collect; where that fails, the last data stays and a notice says why."""
        try:
            fresh = EMPTY | self.collect() | {"live": True}
            snapshot = Snapshot(fresh, self.join)
            assert snapshot.json  # data that cannot be sent is no better than none
            self.known = fresh
        except Exception as error:  # whatever a folder in the middle of being written can cause
            snapshot = Snapshot(self.known | {"notice": self.notice(error)}, self.join)
        self.snapshot = snapshot

    def notice(self, error: Exception) -> str:
        """What is wrong, and of when the rest is."""
        missing = [path for path in self.paths if not path.is_dir()]
        then = f"; this is what was known at {self.known['made']}" if self.known["made"] else ""
        if missing:
            return f"{named(missing)} {'is gone' if then else 'is not there yet'}{then}"
        told = error.strerror if isinstance(error, OSError) else str(error)
        return f"{named(self.paths)} cannot be read now ({told or type(error).__name__}){then}"


def named(paths: Sequence[Path]) -> str:
    """Folders, as they were typed."""
    return ", ".join(map(str, paths))


def signs_of(path: Path, deeper: int = DEEPER) -> list[tuple[str, int, int]]:
    """(place, time, size) of all by which news shows, at a path and below; a folder's time is its newest."""
    try:
        own = [(str(path), path.stat().st_mtime_ns, 0)]
        below = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in below:
        if deeper and entry.is_dir():
            own += signs_of(Path(entry), deeper - 1)
        elif entry.name in LOGS:
            own.append(sign_of(entry))
    return own


def sign_of(entry: "os.DirEntry[str]") -> tuple[str, int, int]:
    """A file's; without numbers where it has just gone."""
    try:
        found = entry.stat()
    except OSError:
        return entry.path, 0, 0
    return entry.path, found.st_mtime_ns, found.st_size
