"""Games of an evaluation that are kept until all of it is done: the same one, begun again, goes on there."""

import hashlib
import inspect
import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax

import maestro
from maestro import cache
from maestro.analysis.crossplay import CrossPlay
from maestro.evaluation import table
from maestro.evaluation.table import Table
from maestro.runs import lock
from maestro.runs.files import write_file

AGE = 7 * 86_400  # seconds after which what nobody came back for is removed


class Kept:
    """Tables of games by their names, in a folder that only this process works in; nowhere if it has none."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder, self.lock = folder, None
        with suppress(OSError, lock.Locked):
            if folder is not None:
                folder.mkdir(exist_ok=True)
                self.lock = lock.hold(folder)
        if self.lock is None:
            self.folder = None

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        """All is done and told, and so nothing is kept; but for an error, after which it can go on."""
        if self.folder is not None and kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.lock is not None:
            self.lock.close()

    def count(self) -> int:
        """How many tables are there already."""
        return 0 if self.folder is None else len(list(self.folder.glob("*.csv")))

    def table(self, name: str, play: Callable[[], Table]) -> Table:
        """The games of that name: read if they were played, else played and kept."""
        if self.folder is None:
            return play()
        path = self.folder / f"{name}.csv"
        with suppress(OSError, ValueError):  # not there, or damaged
            return table.read(path)
        found = play()
        with suppress(OSError):  # a full disk: it cannot be gone back to, that is all
            write_file(path, table.to_csv(found).encode())
        return found


def opened(what: CrossPlay) -> Kept:
    """What is kept of these very games, in the user's cache."""
    try:
        base = cache.private("evaluations")
        clear(base)
        return Kept(base / digest(what))
    except (OSError, RuntimeError):  # nobody's home
        return Kept()


def clear(base: Path) -> None:
    """Remove what nobody came back for."""
    for folder in base.iterdir():
        if time.time() - folder.stat().st_mtime > AGE and not lock.is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)


def digest(what: CrossPlay) -> str:
    """Of all that decides the games: the plan, the game's settings, its code, and what computes them."""
    players = [entrant.player for block in what.blocks for side in (block.a, block.b) for entrant in side]
    code = {source(type(thing)) for thing in (what.play, what.play.env, *players)}
    versions = [maestro.__version__, jax.__version__, jax.default_backend()]
    told = json.dumps([what.plan, repr(what.play.env), repr(what.play.shares), sorted(code), versions])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def source(kind: Any) -> str:
    """A digest of the file in which a class stands; empty where there is none."""
    try:
        return hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return ""
