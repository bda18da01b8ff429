"""Metrics of cycles -> JSON lines: means over windows of updates, the same if a run was interrupted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from maestro.metrics import Metrics
from maestro.runs import files
from maestro.runs.checkpoint import flatten

LINES = 500  # of metrics in a whole run, at most


@dataclass(frozen=True)
class Position:
    """Where the logs stand, so that a checkpoint can bring them back there."""

    updates: int = 0
    evaluated: int = 0  # updates at the last evaluation
    metrics_bytes: int = 0
    evaluation_bytes: int = 0
    waiting: dict[str, np.ndarray] = field(default_factory=dict)  # rows of the incomplete window


class MetricsLog:
    """Two files: what happened in training, and games against fixed opponents."""

    def __init__(self, metrics: Path, evaluation: Path, total_updates: int, position: Position) -> None:
        self.metrics, self.evaluation = metrics, evaluation
        self.window = max(1, total_updates // LINES)
        self.updates, self.evaluated = position.updates, position.evaluated
        waiting = position.waiting
        count = len(next(iter(waiting.values()))) if waiting else 0
        self.rows = [{name: column[i] for name, column in waiting.items()} for i in range(count)]
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        files.truncate(metrics, position.metrics_bytes)  # what came after will be logged again
        files.truncate(evaluation, position.evaluation_bytes)

    def add(self, metrics: Metrics) -> list[dict[str, Any]]:
        """Take in a chunk's cycles; windows that are complete are written and returned."""
        columns = flatten(metrics)
        written = []
        for i in np.flatnonzero(columns["active"][:, 0]):
            self.rows.append({name: column[i] for name, column in columns.items()})
            self.updates += int(columns["trained"][i, 0])
            if columns["trained"][i, 0] and self.updates % self.window == 0:
                written.append(self.flush())
        return written

    def flush(self) -> dict[str, Any]:
        """Write the mean of the waiting rows."""
        record = {"updates": self.updates, "cycles": len(self.rows), **summary(self.rows)}
        files.append(self.metrics, record)
        self.rows = []
        for listener in self.listeners:
            listener(record)
        return record

    def add_evaluation(self, updates: int, shares: dict[str, Any]) -> None:
        """Games against fixed opponents."""
        files.append(self.evaluation, {"updates": updates, "won_drawn_lost": shares})
        self.evaluated = updates

    def position(self) -> Position:
        """Where the logs stand now."""
        waiting = {name: column(self.rows, name) for name in self.rows[-1]} if self.rows else {}
        sizes = files.file_size(self.metrics), files.file_size(self.evaluation)
        return Position(self.updates, self.evaluated, *sizes, waiting)

    def sync(self) -> None:
        """Bring both files to the disk."""
        files.sync(self.metrics)
        files.sync(self.evaluation)


def summary(rows: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Mean over cycles of each quantity, a list over seeds; null where nothing was measured."""
    return {
        name: listed(mean(column(rows, name))) for name in rows[-1] if name not in ("active", "skipped")
    } | {"skipped": listed(rows[-1]["skipped"].astype(np.float64))}


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
