"""The learning curves of a run as a picture, from what it has logged."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from maestro.runs.files import write_file
from maestro.runs.folder import RunFolder
from maestro.runs.log_file import record_of

WON = "share of games won against (shaded: 95 % confidence)"
ALL = "all"
PANELS = {  # title: names of what is logged, with the words for each
    "return in training": {
        "replayed.student_return": "replayed",
        "new.student_return": "new",
        "student_return": ALL,
    },
    "regret of the levels played": {"replayed.regret": "replayed", "new.regret": "new", "regret": ALL},
    "entropy of the policy": {"losses.entropy": ""},
}
Record = dict[str, Any]  # a line of a log
MAX_LABEL = 40  # letters; names come from a file
MOST = 10**15  # updates


@dataclass(frozen=True)
class Curve:
    """One quantity over training."""

    updates: Float[np.ndarray, " T"]
    values: Float[np.ndarray, "T S"]  # of each seed; NaN where nothing was measured
    band: Float[np.ndarray, "T 2"] | None = None  # how far the mean can be trusted


def records(path: Path) -> list[Record]:
    """The lines of a log; a line that is none, or half of one, is passed over."""
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    found = (record_of(line) for line in lines)
    return [record for record in found if record is not None and 0 <= record["updates"] < MOST]


def numbers(value: Any, shape: str) -> np.ndarray | None:
    """A list of numbers, or of rows of three or so, if that is what it is; null is NaN."""
    try:
        found = np.array(value, float)
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.ndim == len(shape) and found.size else None


def curve(points: Mapping[int, Any], bands: Mapping[int, Any]) -> Curve | None:
    """A curve of values by updates; None where there is nothing to show."""
    known = {at: numbers(value, "S") for at, value in points.items()}
    values = numbers([row for row in known.values() if row is not None], "TS")
    if values is None or not np.isfinite(values).any():
        return None
    updates = [at for at, row in known.items() if row is not None]
    band = numbers([bands.get(at) for at in updates], "T2")
    fits = band is not None and band.shape[1] == 2
    return Curve(np.array(updates, float), values, band if fits else None)


def logged(metrics: list[Record], name: str) -> Curve | None:
    """A quantity of the training log."""
    return curve({record["updates"]: record.get(name) for record in metrics}, {})


def won(evaluations: list[Record]) -> dict[str, Curve]:
    """The share of games won against each of the fixed opponents."""
    shares, bands = by_opponent(evaluations, "won_drawn_lost"), by_opponent(evaluations, "won_95")
    found: dict[str, Curve] = {}
    for opponent, points in shares.items():
        triples = {at: numbers(value, "S3") for at, value in points.items()}
        first = {at: seeds[:, 0] for at, seeds in triples.items() if seeds is not None}
        shown = curve(first, bands.get(opponent, {}))
        found |= {opponent: shown} if shown is not None else {}
    return found


def by_opponent(evaluations: list[Record], name: str) -> dict[str, dict[int, Any]]:
    """What the evaluations hold under a name: opponent -> updates -> value."""
    found: dict[str, dict[int, Any]] = {}
    for record in evaluations:
        group = record.get(name)
        for opponent, value in group.items() if isinstance(group, dict) else ():
            found.setdefault(opponent, {})[record["updates"]] = value
    return found


def plot(axes: Any, shown: Curve, label: str = "") -> None:
    """The mean over seeds, and around it its band, or else the seeds themselves."""
    known = np.isfinite(shown.values)
    total = np.where(known, shown.values, 0.0).sum(axis=1)
    mean = np.where(known.any(axis=1), total / np.maximum(1, known.sum(axis=1)), np.nan)
    plain = "".join(x if x.isascii() and x.isprintable() and x != "$" else "?" for x in label[:MAX_LABEL])
    (line,) = axes.plot(shown.updates, mean, marker="o" * (len(mean) < 30), ms=4, label=plain)
    if shown.band is not None:
        axes.fill_between(shown.updates, *shown.band.T, color=line.get_color(), alpha=0.15, lw=0)
    elif shown.values.shape[1] > 1:
        axes.plot(shown.updates, shown.values, color=line.get_color(), alpha=0.25, lw=0.8)


def panels(folder: RunFolder) -> dict[str, dict[str, Curve]]:
    """The curves of each panel that has any, by their labels."""
    found, metrics = {WON: won(records(folder.evaluation))}, records(folder.metrics)
    for title, names in PANELS.items():
        drawn = {label: logged(metrics, name) for name, label in names.items()}
        known = {label: shown for label, shown in drawn.items() if shown is not None}
        found[title] = {label: shown for label, shown in known.items() if label != ALL or len(known) == 1}
    return {title: group for title, group in found.items() if group}


def draw(path: Path, folder: RunFolder) -> bool:
    """Write the curves of a run as a .png; False if it has logged nothing that could be drawn."""
    from matplotlib.figure import Figure  # slow to load

    groups = panels(folder)
    if not groups:
        return False
    figure = Figure(figsize=(7, 2.6 * len(groups) + 0.4), dpi=110, layout="constrained")
    for axes, (title, group) in zip(np.ravel(figure.subplots(len(groups))), groups.items(), strict=True):
        for label, shown in group.items():
            plot(axes, shown, label)
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("updates of the student")
        axes.set_xlim(left=0)
        axes.grid(alpha=0.3)
        if any(group):
            axes.legend(frameon=False, fontsize=9)
        if title == WON:
            axes.set_ylim(-0.03, 1.03)
    image = io.BytesIO()
    figure.savefig(image, format="png")
    write_file(path, image.getvalue())
    return True
