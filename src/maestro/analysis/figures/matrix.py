"""The cross-play matrix: each method against each."""

from typing import Any

import numpy as np

from maestro.analysis.figures import panels, style
from maestro.analysis.figures.played import latest, played, summarized
from maestro.analysis.figures.source import Made, Options, Row, Source
from maestro.analysis.figures.versus import against

MIDDLE = {"win_rate": 0.5, "affine": 0.5}  # what is even; else 0, and without an even value: the mean
SIGNED = ("return", "decisive")


def matrix(source: Source, options: Options) -> Made:
    """A quantity of the method of a row against that of a column."""
    games = latest(played(source, options), options.updates)
    quantity = options.quantity or "return"
    cube, names = games.cube(quantity), list(games.methods)
    names = [name for name in names if name in cube.methods]
    where = {"quantity": quantity, "updates": games.updates[0], "split": games.split}
    rows = [summarized(against(cube, a, b), method=a, against=b, **where) for a in names for b in names]
    caption = (
        f"{panels.word(quantity).capitalize()} of the row against the column. {panels.about(rows, options)}"
    )
    size = min(style.WIDTH, 2.1 + 0.62 * len(names))
    figure, axes = style.sheet(size, 0.85 * size, 1, 1)
    draw(figure, axes[0, 0], rows, names, options)
    return Made(rows, style.finish(figure, options.title, f"{caption} {panels.about_games(games)}"))


def draw(figure: Any, axes: Any, rows: list[Row], names: list[str], options: Options) -> None:
    """Colors from orange (worse than even) over white to purple (better), with the numbers."""
    means = np.array([row["mean"] for row in rows]).reshape(len(names), len(names))
    quantity = rows[0]["quantity"]
    even = MIDDLE.get(quantity, 0.0 if quantity in SIGNED else float(np.nanmean(means)))
    reach = max(1e-6, float(np.nanmax(np.abs(means - even))))
    shown = axes.imshow(means, cmap="PuOr", vmin=even - reach, vmax=even + reach, aspect="auto")
    axes.set_facecolor("#dddddd")
    short = [style.plain(name, 18) for name in names]
    axes.set_xticks(range(len(names)), short, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), short)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    letters = 7 if len(names) <= 9 else 5.5
    for row in rows:
        if np.isfinite(row["mean"]):
            ink = "white" if abs(row["mean"] - even) > 0.6 * reach else "black"
            place = names.index(row["against"]), names.index(row["method"])
            axes.text(*place, cell(row, options), ha="center", va="center", color=ink, fontsize=letters)
    figure.colorbar(shown, ax=axes, label=panels.word(quantity), shrink=0.8).outline.set_visible(False)


def cell(row: Row, options: Options) -> str:
    """The words of a cell."""
    digits = 2 if abs(row["mean"]) < 10 else 0
    error = f"\n±{max(panels.ends(row, options.error)):.{digits}f}"
    return f"{row['mean']:z.{digits}f}" + error * bool(np.isfinite(row["standard_error"]))
