"""Metrics of cycles -> JSON lines: means over windows of updates, the same if a run was interrupted."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maestro.metrics import Metrics
from maestro.runs import files
from maestro.runs.checkpoint import flatten
from maestro.runs.log_file import LogFile, Mark

LINES = 500  # of metrics in a whole run, at most
EXPLOITER = "exploiter."  # before the names of what is measured of exploiters in training
APART = "apart."  # before the names of their rows that wait
# Numbers that only grow: what they were at last, not their mean.
LAST = ("members", "skipped", f"{EXPLOITER}updates", f"{EXPLOITER}skipped")


@dataclass(frozen=True)
class Position:
    """Where the logs stand, so that a checkpoint can bring them back there."""

    updates: int = 0
    evaluated: int = 0  # updates at the last evaluation
    metrics_bytes: int = 0
    metrics_lines: int = 0
    metrics_sha256: str = ""  # of all lines so far; older versions did not write it down
    evaluation_bytes: int = 0
    evaluation_lines: int = 0
    evaluation_sha256: str = ""
    waiting: dict[str, np.ndarray] = field(default_factory=dict)  # rows of the incomplete window

    def mark(self, log: str) -> Mark:
        """How far one of the two logs was."""
        return Mark(*(getattr(self, f"{log}_{name}") for name in ("bytes", "lines", "sha256")))


class MetricsLog:
    """Two files: what happened in training, and games against fixed opponents."""

    def __init__(self, metrics: Path, evaluation: Path, total_updates: int, position: Position) -> None:
        self.window = max(1, total_updates // LINES)
        self.updates, self.evaluated = position.updates, position.evaluated
        apart = {
            name.removeprefix(APART): x for name, x in position.waiting.items() if name.startswith(APART)
        }
        own = {name: x for name, x in position.waiting.items() if not name.startswith(APART)}
        self.rows, self.exploits = rows_of(own), rows_of(apart)  # cycles of students, and of exploiters
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        self.metrics = LogFile(metrics, position.mark("metrics"), position.updates)
        self.evaluation = LogFile(evaluation, position.mark("evaluation"), position.evaluated)
        self.lost = [log.lost for log in (self.metrics, self.evaluation) if log.lost]

    def add(self, metrics: Metrics) -> list[dict[str, Any]]:
        """Take in a chunk's cycles; windows that are complete are written and returned."""
        columns = flatten(metrics)
        apart = {name: x for name, x in columns.items() if name.startswith(EXPLOITER)}
        exploits = apart[f"{EXPLOITER}active"][:, 0] if apart else np.zeros(len(columns["active"]), bool)
        written = []
        for i in np.flatnonzero(columns["active"][:, 0] | exploits):
            if exploits[i]:
                self.exploits.append({name: column[i] for name, column in apart.items()})
                continue
            self.rows.append({name: column[i] for name, column in columns.items()})
            self.updates += int(columns["trained"][i, 0])
            if columns["trained"][i, 0] and self.updates % self.window == 0:
                written.append(self.flush())
        return written

    def flush(self) -> dict[str, Any]:
        """Write the mean of the waiting rows."""
        record = {"updates": self.updates, "cycles": len(self.rows), **summary(self.rows)}
        record |= summary(self.exploits) if self.exploits else {}
        self.metrics.append(record)
        self.rows, self.exploits = [], []
        for listener in self.listeners:
            listener(record)
        return record

    def add_evaluation(self, updates: int, shares: dict[str, Any], **more: Any) -> None:
        """Games against fixed opponents: each seed's shares, and what more is known of them."""
        self.evaluation.append({"updates": updates, **more, "won_drawn_lost": shares})
        self.evaluated = updates

    def position(self) -> Position:
        """Where the logs stand now."""
        waiting = columns_of(self.rows)
        waiting |= {APART + name: x for name, x in columns_of(self.exploits).items()}
        logs = {"metrics": self.metrics.mark(), "evaluation": self.evaluation.mark()}
        marks = {f"{log}_{name}": value for log in logs for name, value in asdict(logs[log]).items()}
        return Position(self.updates, self.evaluated, **marks, waiting=waiting)

    def sync(self) -> None:
        """Bring both files to the disk."""
        files.sync(self.metrics.path)
        files.sync(self.evaluation.path)


def in_vain(rows: list[dict[str, np.ndarray]]) -> int:
    """The latest cycles in a row without an update in which one and the same seed finished no episode."""
    waiting = np.bool_(True)
    for cycles, row in enumerate(reversed(rows)):
        waiting = waiting & (row["episodes"] == 0) & ~row["trained"]
        if not waiting.any():
            return cycles
    return len(rows)


def summary(rows: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Mean over cycles of each quantity, a list over seeds; null where nothing was measured."""
    flags = ("active", f"{EXPLOITER}active")
    last = {name: listed(rows[-1][name].astype(np.float64)) for name in LAST if name in rows[-1]}
    means = {name: listed(mean(column(rows, name))) for name in rows[-1] if name not in (*flags, *LAST)}
    return means | last


def rows_of(columns: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Columns as rows."""
    count = len(next(iter(columns.values()))) if columns else 0
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]


def columns_of(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Rows as columns, of the quantities that the newest has."""
    return {name: column(rows, name) for name in rows[-1]} if rows else {}


def column(rows: list[dict[str, np.ndarray]], name: str) -> np.ndarray:
    """One quantity of all rows; NaN in those that an older version has left, which did not measure it."""
    unknown = np.full(rows[-1][name].shape, np.nan)
    return np.stack([row.get(name, unknown) for row in rows])


def mean(values: np.ndarray) -> np.ndarray:
    """Mean over the first axis of what is finite, NaN where nothing is."""
    stacked = values.astype(np.float64)
    known = np.isfinite(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def listed(x: Any) -> Any:
    """Nested lists with null for NaN, six digits."""
    if x.ndim == 0:
        return None if not np.isfinite(x) else float(f"{float(x):.6g}")
    return [listed(part) for part in x]
