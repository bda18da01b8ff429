"""Metrics of cycles -> JSON lines: means over windows of updates, the same if a run was interrupted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maestro.metrics import Metrics
from maestro.runs.checkpoint import flatten
from maestro.runs.log_file import NOTHING, LogFile, Mark

LINES = 500  # of metrics in a whole run, at most
EXPLOITER = "exploiter."  # before the names of what is measured of exploiters in training
APART = "apart."  # before the names of their rows that wait
# Numbers that only grow: what they were at last, not their mean.
LAST = ("members", "skipped", f"{EXPLOITER}updates", f"{EXPLOITER}skipped")

Row = dict[str, np.ndarray]  # one cycle: each quantity by its name


@dataclass(frozen=True)
class Position:
    """Where the logs stand, so that a checkpoint can bring them back there."""

    updates: int = 0
    evaluated: int = 0  # updates at the last evaluation
    metrics: Mark = NOTHING
    evaluation: Mark = NOTHING
    waiting: dict[str, np.ndarray] = field(default_factory=dict)  # rows of the incomplete window


class MetricsLog:
    """Two files: what happened in training, and games against fixed opponents."""

    def __init__(self, metrics: Path, evaluation: Path, total_updates: int, position: Position) -> None:
        self.window = max(1, total_updates // LINES)
        self.updates, self.evaluated = position.updates, position.evaluated
        self.rows: list[Row] = []  # cycles of students
        self.exploits: list[Row] = []  # cycles of exploiters
        if position.waiting:
            self.rows, self.exploits = rows_of(position.waiting)
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        self.metrics = LogFile(metrics, position.metrics, position.updates)
        self.evaluation = LogFile(evaluation, position.evaluation, position.evaluated)
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
        waiting = columns_of(self.rows) if self.rows else {}
        if self.exploits:
            waiting |= {APART + name: x for name, x in columns_of(self.exploits).items()}
        return Position(self.updates, self.evaluated, self.metrics.mark, self.evaluation.mark, waiting)


def summary(rows: list[Row]) -> dict[str, Any]:
    """Mean over cycles of each quantity, a list over seeds; null where nothing was measured."""
    flags = ("active", f"{EXPLOITER}active")
    last = {name: listed(rows[-1][name].astype(np.float64)) for name in LAST if name in rows[-1]}
    means = {name: listed(mean(column(rows, name))) for name in rows[-1] if name not in (*flags, *LAST)}
    return means | last


def rows_of(waiting: dict[str, np.ndarray]) -> tuple[list[Row], list[Row]]:
    """Columns as rows: those of students, and those of exploiters."""
    apart = {name.removeprefix(APART): x for name, x in waiting.items() if name.startswith(APART)}
    own = {name: x for name, x in waiting.items() if not name.startswith(APART)}
    counts = [len(next(iter(columns.values()))) if columns else 0 for columns in (own, apart)]
    return (
        [{name: column[i] for name, column in own.items()} for i in range(counts[0])],
        [{name: column[i] for name, column in apart.items()} for i in range(counts[1])],
    )


def columns_of(rows: list[Row]) -> dict[str, np.ndarray]:
    """Rows as columns, of the quantities that the newest has."""
    return {name: column(rows, name) for name in rows[-1]}


def column(rows: list[Row], name: str) -> np.ndarray:
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
