"""`maestro runs`: a table of runs."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import games, settings
from maestro.cli.arguments import Mistake, parse
from maestro.cli.progress import duration
from maestro.runs import folder as run_folder
from maestro.runs import lock
from maestro.runs.folder import NewerRun, RunError, RunFolder

COLUMNS = ("run", "game", "method", "preset", "seeds", "updates", "updates/s", "checkpoint", "state")


ENDS = ("finished", "stopped", "failed")
PIPE_WIDTH = 200  # columns where there is no terminal


def main(arguments: list[str]) -> None:
    """Run `maestro runs`."""
    parse(table, "runs", arguments)


def table(
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")] = Path("runs"),
) -> None:
    """List the runs below a folder: how far they are, how fast, and whether they go on.

    For example:

    maestro runs

    Args:
        folder: Where to look.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    found = run_folder.list_runs(folder)
    if not found:
        raise Mistake(f"{str(folder)!r}: no run there; maestro train makes one")
    shown = Table(*COLUMNS, box=None)
    for run in found:
        shown.add_row(*map(escape, row(run)))
    shown.columns[0].overflow = "fold"
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(emoji=False, width=width).print(shown)


def row(run: RunFolder) -> list[str]:
    """One run, as far as it can be read."""
    path = str(run.path)
    unknown = [path, *["?"] * (len(COLUMNS) - 2)]
    try:
        _, raw = run_folder.read_settings(run.path)
        total, seeds = raw["schedule"]["total_updates"], raw["seeds"]
        game, method = str(raw["game"]), str(raw["method"])
    except NewerRun:
        return [*unknown, "made by a newer version"]
    except (RunError, KeyError, TypeError):
        return [*unknown, "damaged: config.toml"]
    status = run_folder.read_status(run)
    progress = f"{number(status, 'updates', '.0f') or 0}/{total}"
    return [path, game, method, preset(game, raw), str(seeds), progress, number(status, "speed", ".2f"),
            number(status, "checkpoint", ".0f"), state(run, status)]  # fmt: skip


def number(status: dict[str, Any], name: str, form: str) -> str:
    """A number of the status; nothing if it is not a number."""
    value = status.get(name)
    return f"{value:{form}}" if type(value) in (int, float) else ""


def preset(game: str, raw: dict[str, Any]) -> str:
    """The nearest preset, and in how many settings the run differs from it; nothing for unknown games."""
    if game not in games.TABLE:
        return ""
    changes = {}
    own: dict[str, Any] = {name: raw[name] for name in ("method", "seeds", "seed") if name in raw}
    for name, known in games.known(game).presets.items():
        config = settings.apply(known, raw, [])
        changes[name] = len(settings.difference(settings.apply(known, own, []), config))
    nearest = min(changes, key=lambda name: changes[name])
    return f"{nearest}, {changes[nearest]} changed" if changes[nearest] else nearest


def state(run: RunFolder, status: dict[str, Any]) -> str:
    """Running, finished, stopped, failed, or interrupted without having been able to say so."""
    if lock.is_held(run.path):
        return "running"
    known = status.get("state") if status.get("state") in ENDS else "interrupted"
    if type(status.get("time")) not in (int, float):
        return str(known)
    return f"{known}, {duration(time.time() - status['time'])} ago"
