"""Trained beside untrained students of racing, from the games of `maestro evaluate ... --out FILE.csv`.

    python docs/scripts/track_intervals.py games.csv

An untrained student is called like the trained one with `-untrained` behind it. A method's seeds are averaged
on each track; the interval (95 %, Student's t) is over tracks.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from scipy import stats

UNTRAINED = "-untrained"
QUANTITIES = {"a_lap_progress": "share of the tiles", "a_return": "return"}


def by_track(rows: list[dict[str, str]], names: list[str], against: str, quantity: str) -> np.ndarray:
    """The mean of these players on each track, [tracks]."""
    chosen = [row for row in rows if row["a"] in names and row["b"] == against]
    tracks = sorted({row["level"] for row in chosen})
    found = [[float(row[quantity]) for row in chosen if row["level"] == track] for track in tracks]
    return np.array([np.mean(values) for values in found])


def interval(values: np.ndarray) -> tuple[float, float]:
    """Of the mean, 95 % confidence."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return values.mean() - half, values.mean() + half


def line(rows: list[dict[str, str]], method: str, against: str, quantity: str) -> str:
    """One row of the table."""
    everyone = {row["a"] for row in rows if row["a"].rpartition("-")[0] == method}
    trained = by_track(rows, sorted(everyone), against, quantity)
    untrained = by_track(rows, [name + UNTRAINED for name in sorted(everyone)], against, quantity)
    low, high = interval(trained - untrained)
    place = 3 if quantity == "a_lap_progress" else 0
    numbers = (trained.mean(), trained.min(), untrained.mean(), (trained - untrained).mean(), low, high)
    mean, worst, before, ahead, low, high = (f"{number:.{place}f}" for number in numbers)
    told = f"{mean} | {worst} | {before} | {ahead} ({low} to {high})"
    return f"| `{method}` against {against} | {told} |"


def main(path: Path) -> None:
    """Print a table for each quantity."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    trained = {row["a"].rpartition("-")[0] for row in rows if not row["a"].endswith(UNTRAINED)}
    for quantity, name in QUANTITIES.items():
        print(f"\n| {name} | trained | on its worst track | untrained | difference (95 %) |")
        print("|---|---|---|---|---|")
        for against in sorted({row["b"] for row in rows}):
            for method in sorted(trained):
                print(line(rows, method, against, quantity))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
