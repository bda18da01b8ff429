"""Metrics of cycles -> JSON lines: means over windows of updates, exact whenever a run was interrupted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maestro import files
from maestro.checkpoint import flatten
from maestro.measure import Metrics

LINES = 500  # of metrics in a whole run, at most


class Logbook:
    """Rows of cycles, waiting until a window of updates is complete."""

    def __init__(self, path: Path, total_updates: int) -> None:
        self.path = path
        self.window = max(1, total_updates // LINES)
        self.updates = 0
        self.rows: list[dict[str, np.ndarray]] = []
        self.listeners: list[Callable[[dict[str, Any]], None]] = []

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
        files.append(self.path, record)
        self.rows = []
        for listener in self.listeners:
            listener(record)
        return record

    def waiting(self) -> dict[str, np.ndarray]:
        """The rows of the incomplete window, for a checkpoint."""
        if not self.rows:
            return {}
        return {name: np.stack([row[name] for row in self.rows]) for name in self.rows[0]}

    def restore(self, updates: int, waiting: dict[str, np.ndarray]) -> None:
        """Go on with a checkpoint's incomplete window."""
        self.updates = updates
        count = len(next(iter(waiting.values()))) if waiting else 0
        self.rows = [{name: column[i] for name, column in waiting.items()} for i in range(count)]


def summary(rows: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Mean over cycles of each quantity, a list over seeds; null where nothing was measured."""
    return {
        name: listed(mean([row[name] for row in rows]))
        for name in rows[0]
        if name not in ("active", "skipped")
    } | {"skipped": listed(rows[-1]["skipped"].astype(np.float64))}


def mean(values: list[np.ndarray]) -> np.ndarray:
    """Mean over the first axis of what is finite, NaN where nothing is."""
    stacked = np.stack(values).astype(np.float64)
    known = np.isfinite(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def listed(x: Any) -> Any:
    """Nested lists with null for NaN, six digits."""
    if x.ndim == 0:
        return None if not np.isfinite(x) else float(f"{float(x):.6g}")
    return [listed(part) for part in x]
