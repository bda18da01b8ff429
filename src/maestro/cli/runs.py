"""`maestro runs`: the runs below a folder, as a table that fits the terminal, or as JSON."""

import json
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import games, settings
from maestro.cli.arguments import Mistake, parse
from maestro.cli.options import JsonFlag
from maestro.cli.output import clean, say
from maestro.cli.progress import duration
from maestro.cli.table import lines, width
from maestro.runs import folder as run_folder
from maestro.runs import lock
from maestro.runs.folder import NewerRun, RunError, RunFolder

COLUMNS = ("run", "game", "method", "preset", "seeds", "updates", "updates/s", "checkpoint", "state")
DROPPED = (
    "checkpoint",
    "updates/s",
    "preset",
    "seeds",
    "game",
    "method",
)  # in this order, where it is narrow
NOT_EXPORTED = "trained, not exported"
LARGEST = 1e15  # numbers beyond it count nothing


def main(arguments: list[str]) -> None:
    """Run `maestro runs`."""
    parse(table, "runs", arguments)


def table(
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")] = Path("runs"),
    as_json: JsonFlag = False,
) -> None:
    """List the runs below a folder: how far they are, how fast, and whether they go on.

    For example:

    maestro runs

    maestro runs --json

    Args:
        folder: Where to look.
    """
    found, closed = run_folder.list_runs(folder)
    for path in closed:
        say(f"maestro: {path}: cannot be read", error=True)
    if not found and not as_json:
        raise Mistake(f"{str(folder)!r}: no run there; maestro train makes one")
    facts = [describe(run) for run in found]
    if as_json:
        return say(json.dumps(facts, indent=1))
    say("\n".join(lines([row(run) for run in facts], width(), DROPPED)))
    for run in facts:
        if run["state"] == NOT_EXPORTED:
            say(f"{NOT_EXPORTED}: maestro resume {shlex.quote(run['run'])} does the rest")


def describe(run: RunFolder) -> dict[str, Any]:
    """What is known of a run; None where that cannot be read."""
    facts: dict[str, Any] = {"run": str(run.path)}
    facts |= dict.fromkeys(
        ("game", "method", "preset", "seeds", "updates", "total", "updates_per_second", "checkpoint")
    )
    facts["exploiter_updates"] = None
    try:
        _, raw = run_folder.read_settings(run.path)
        total, seeds = number(raw["schedule"], "total_updates"), number(raw, "seeds")
        game, method = str(raw["game"]), str(raw["method"])
        if type(total) is not int or type(seeds) is not int:
            raise TypeError("no number")
        status = run_folder.read_json(run.status)
        facts |= {"game": game, "method": method, "preset": preset(game, raw), "seeds": seeds, "total": total}
        facts |= {"updates": number(status, "updates") or 0, "checkpoint": number(status, "checkpoint")}
        facts |= {"updates_per_second": number(status, "speed"), "state": state(run, status, seeds)}
        facts["exploiter_updates"] = number(status, "exploiter_updates")
        ago = None if (when := number(status, "time")) is None else time.time() - when
        return facts | {"seconds_ago": ago}
    except NewerRun:
        return facts | {"state": "made by a newer version", "seconds_ago": None}
    except (RunError, KeyError, TypeError, AttributeError):
        return facts | {"state": "damaged: config.toml", "seconds_ago": None}


def number(status: dict[str, Any], name: str) -> int | float | None:
    """A number of the status; None if it is not one, or none that counts anything."""
    value: Any = status.get(name)
    return value if type(value) in (int, float) and abs(value) < LARGEST else None


def preset(game: str, raw: dict[str, Any]) -> str | None:
    """The nearest preset, and in how many settings the run differs from it; None for unknown games."""
    if game not in games.TABLE:
        return None
    changes = {}
    own: dict[str, Any] = {name: raw[name] for name in ("method", "seeds", "seed") if name in raw}
    for name, known in games.known(game).presets.items():
        config = settings.apply(known, raw, [])
        changes[name] = len(settings.difference(settings.apply(known, own, []), config))
    nearest = min(changes, key=lambda name: changes[name])
    return f"{nearest}, {changes[nearest]} changed" if changes[nearest] else nearest


def state(run: RunFolder, status: dict[str, Any], seeds: int) -> str:
    """Running, finished, stopped, failed, or interrupted without having been able to say so."""
    if lock.is_held(run.path):
        return "running"
    if status.get("state") == "finished" and not run_folder.is_complete(run, seeds):
        return NOT_EXPORTED
    return str(status["state"]) if status.get("state") in run_folder.ENDS else "interrupted"


def row(facts: dict[str, Any]) -> dict[str, str]:
    """The columns of a run, as texts."""
    if facts["total"] is None:
        return {**dict.fromkeys(COLUMNS, "?"), "run": clean(facts["run"]), "state": facts["state"]}
    known = {name: clean(str(facts[name])) for name in ("run", "game", "method", "seeds", "state")}
    speed, saved, ago = (facts[name] for name in ("updates_per_second", "checkpoint", "seconds_ago"))
    if ago is not None and facts["state"] in (*run_folder.ENDS, "interrupted"):
        known["state"] += f", {duration(ago)} ago"
    apart = "" if facts["exploiter_updates"] is None else f" + {facts['exploiter_updates']:.0f}"
    known |= {"updates": f"{facts['updates']:.0f}/{facts['total']}{apart}", "preset": facts["preset"] or ""}
    known |= {"updates/s": "" if speed is None else f"{speed:.2f}"}
    known |= {"checkpoint": "" if saved is None else f"{saved:.0f}"}
    return {column: known[column] for column in COLUMNS}
