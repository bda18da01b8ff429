"""The emergent curriculum: statistics of the levels that updates learned from, over training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from maestro.analysis import curriculum
from maestro.analysis.curves import Curve
from maestro.analysis.figures import panels, style
from maestro.analysis.figures.logs import by_label, points_of, pooled
from maestro.analysis.figures.played import checked, summarized
from maestro.analysis.figures.source import Made, Options, Row, Source, drawn


def emergent(source: Source, options: Options) -> Made:
    """A panel for each statistic of the game's levels, a curve for each method."""
    labels = by_label(drawn(source, options))
    found = {name: [curriculum.level_statistics(run.folder) for run in own] for name, own in labels.items()}
    known = list(dict.fromkeys(name for runs in found.values() for run in runs for name in run))
    points = points_of(curve for runs in found.values() for run in runs for curve in run.values())
    names = checked("statistic", (options.quantity,) * bool(options.quantity), known) or known
    rows = []
    for name in names:
        for label, runs in found.items():
            rows += rows_of([run[name] for run in runs if name in run], points, statistic=name, method=label)
    caption = f"{panels.about(rows, options)} Levels that were served to updates: replayed ones, new ones for"
    figure = picture(rows, names, list(labels), options)
    return Made(rows, style.finish(figure, options.title, f"{caption} methods that never replay."))


def rows_of(curves: Sequence[Curve], points: np.ndarray, **where: Any) -> list[Row]:
    """A row for each point at which something is known."""
    values = pooled(curves, points)
    known = [] if values is None else zip(points.tolist(), values, strict=True)
    return [summarized(x, **where, updates=at) for at, x in known if np.isfinite(x).any()]


def picture(rows: list[Row], names: list[str], labels: list[str], options: Options) -> Any:
    """The panels, and one legend."""
    height, width = style.grid_shape(len(names)) if len(names) > 3 else (1, len(names))
    figure, axes = style.sheet(style.WIDTH, 1.8 * height + 0.7, height, width)
    lines: dict[str, Any] = {}
    for panel, name in zip(axes.flat, names, strict=False):
        lines |= panels.curves(panel, panels.chosen(rows, statistic=name), labels, options)
        panel.set_title(name.replace("_", " "))  # a statistic of levels, which is no quantity of games
    for panel in panels.bottom_of_columns(axes, len(names)):
        panel.set_xlabel("updates")
    panels.legend(figure, lines)
    return figure
