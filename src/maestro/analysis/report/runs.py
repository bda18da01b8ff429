"""The runs of a page: how far they are, how they learned, what they were served, who joined when."""

from typing import Any

import numpy as np

from maestro import settings
from maestro.analysis import curves
from maestro.analysis.curves import Curve
from maestro.analysis.figures.logs import binned
from maestro.analysis.figures.source import Run, method_of
from maestro.analysis.report.moments import curriculum
from maestro.analysis.report.numbers import listed, short
from maestro.analysis.report.scenes import Scenes
from maestro.config import ScheduleConfig
from maestro.exploiters import Newcomer
from maestro.runs import crowd, entrants, lock
from maestro.runs import folder as run_folder
from maestro.runs.folder import RunError

POINTS = 60  # of a curve
MOST = 1000  # members that are listed


def names(own: list[Run]) -> list[str]:
    """What runs are called: by their labels, with their folders where labels repeat, and no two alike."""
    labels = [run.label for run in own]
    folders = [f"{method_of(run)} ({run.folder.path.resolve().name})" for run in own]
    known = [y if labels.count(x) > 1 else x for x, y in zip(labels, folders, strict=True)]
    return [x if known.count(x) == 1 else f"{x}, {known[: i + 1].count(x)}" for i, x in enumerate(known)]


def entry(run: Run, name: str, scenes: Scenes, levels: int) -> dict[str, Any]:
    """All that a page has of a run."""
    updates = made(run)
    try:
        env = entrants.open_run(run.folder.path, scenes.game).environment
        course = curriculum(run, env, scenes, levels)
    except RunError:  # of settings that this version does not know
        course = None
    return {
        "label": run.label,
        "name": name,
        "method": method_of(run),
        "folder": run.folder.path.resolve().name,
        "seeds": run.seeds,
        "updates": updates,
        "status": status(run),
        "curves": curves_of(run),
        "curriculum": course,
        "members": members(run, updates),
    }


def made(run: Run) -> int:
    """The updates that a run has made."""
    told = run_folder.read_json(run.folder.status).get("updates")
    if type(told) is int and 0 <= told < curves.MOST:
        return told
    logged = [record["updates"] for record in curves.records(run.folder.metrics)]
    return max(logged, default=0)


def status(run: Run) -> str:
    """Finished, running, stopped, failed, or interrupted without a word."""
    told = run_folder.read_json(run.folder.status).get("state")
    if told != "finished" and lock.is_held(run.folder.path):
        return "running"
    return str(told) if told in run_folder.ENDS else "interrupted" if told else "unknown"


def curves_of(run: Run) -> list[dict[str, Any]]:
    """The learning curves of a run, one list for each seed."""
    found = []
    for title, group in curves.panels(run.folder).items():
        for label, shown in group.items():
            if shown.values.shape[1] != len(run.seeds):  # of an older version, or damaged
                continue
            at, values = thinned(shown)
            name = f"won against {label}" if title == curves.WON else f"{title}: {label}" if label else title
            about = "share of games won" if title == curves.WON else title
            found.append({"name": name, "about": about, "x": at, "y": listed(values.T)})
    return found


def thinned(curve: Curve) -> tuple[list[int], np.ndarray]:
    """(updates, values [T, S]) of a curve in as many points as can be seen; each is a mean since the last."""
    at = curve.updates.astype(int)
    if len(at) <= POINTS:
        return at.tolist(), curve.values
    points = np.unique(np.linspace(0, at.max(), POINTS + 1).round().astype(int))[1:]
    return points.tolist(), binned(curve, points)


def members(run: Run, updates: int) -> list[list[dict[str, int]]]:
    """Of each seed the members of its population, and when each has joined."""
    own = [{"slot": i + 1, "joined": who.updates} for i, who in enumerate(joined(run, updates))]
    return [own for _ in run.seeds]


def joined(run: Run, updates: int) -> list[Newcomer]:
    """Who has joined the population by then; nobody where they would be too many."""
    schedule = schedule_of(run)
    few = schedule.interval >= 1 and updates / schedule.interval <= MOST
    return crowd.joined_by(schedule, updates) if few else []


def table(own: list[Run], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The runs as a table."""
    rows = [
        [entry["label"], entry["folder"], len(run.seeds), entry["updates"], entry["status"], *won(run)]
        for run, entry in zip(own, entries, strict=True)
    ]
    columns = ["run", "folder", "seeds", "updates", "state", "won", "95 % from", "to"]
    note = "Won: share of the games of the last comparison against the first co-player, on unseen levels."
    return {"title": "Runs", "note": note, "columns": columns, "rows": rows}


def won(run: Run) -> list[Any]:
    """The share of games won at the end, and its interval; unknown before the end."""
    told = run_folder.read_json(run.folder.path / "summary.json")
    try:
        return [short(told["won"] / told["games"]), *(short(end) for end in told["won_95"][:2])]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return [None, None, None]


def schedule_of(run: Run) -> ScheduleConfig:
    """When co-players join."""
    told = run.settings.get("schedule")
    found: ScheduleConfig = settings.apply(ScheduleConfig(), told if isinstance(told, dict) else {}, [])
    return found
