"""`maestro runs`: a table of runs."""

import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import runs
from maestro.cli.arguments import Mistake, parse
from maestro.progress import duration
from maestro.runs import RunError, RunFolder

COLUMNS = ("run", "method", "workers x steps", "seeds", "updates", "updates/s", "checkpoint", "state")


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
    from rich.table import Table

    found = runs.list_runs(folder)
    if not found:
        raise Mistake(f"{str(folder)!r}: no run there; maestro train makes one")
    shown = Table(*COLUMNS, box=None)
    for run in found:
        shown.add_row(*map(str, row(run)))
    Console().print(shown)


def row(run: RunFolder) -> list[Any]:
    """One run, as far as it can be read."""
    try:
        _, config = runs.open_run(run.path)
    except RunError:
        return [run.path, "?", "", "", "", "", "", "damaged config.toml"]
    status = runs.read_status(run)
    total = config.schedule.total_updates
    speed = status.get("speed")
    size = f"{config.ppo.workers} x {config.ppo.rollout_length}"
    progress = f"{status.get('updates', 0)}/{total}"
    return [run.path, config.method, size, config.seeds, progress, f"{speed:.2f}" if speed else "",
            status.get("checkpoint", ""), state(run, status)]  # fmt: skip


def state(run: RunFolder, status: dict[str, Any]) -> str:
    """Running, finished, stopped, or interrupted without having been able to say so."""
    if runs.is_locked(run):
        return "running"
    known = status.get("state", "interrupted")
    known = "interrupted" if known == "running" else known
    ago = f", {duration(time.time() - status['time'])} ago" if isinstance(status.get("time"), float) else ""
    return known + ago
