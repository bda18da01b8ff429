"""What most figures are put together of: bars and curves with their errors, a legend, the words below."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from maestro.analysis.figures import style
from maestro.analysis.figures.played import Played
from maestro.analysis.figures.source import Options, Row
from maestro.analysis.figures.style import Look, plain
from maestro.evaluation.table import SHARES

INK = "#333333"
ERRORS = {"standard-error": "standard error", "95": "95 % confidence interval (Student's t)"}
BAR = 0.21  # inches
LETTER = 0.07  # inches, of a number below an axis
SMALL = 0.2  # a range whose numbers are long
WORDS = {
    "affine": "(return + 1) / 2",
    "won": "share won",
    "drawn": "share drawn",
    "lost": "share lost",
    "decisive": "(wins - losses) / (wins + losses)",
    "length": "length of a game",
    "normalized": "normalized return",
}


def chosen(rows: list[Row], **where: Any) -> list[Row]:
    """The rows in which the named columns have these values."""
    return [row for row in rows if all(row[name] == value for name, value in where.items())]


def ends(row: Row, error: str) -> tuple[float, float]:
    """How far the error of a mean goes down and up; not at all where there is one seed only."""
    mean = row["mean"]
    if error == "95":
        low, high = mean - row["low_95"], row["high_95"] - mean
    else:
        low = high = row["standard_error"]
    return tuple(0.0 if np.isnan(x) else max(0.0, float(x)) for x in (low, high))  # type: ignore[return-value]


def whisker(axes: Any, row: Row, place: int | float, at: float, options: Options) -> None:
    """The error of a bar, if it has any."""
    low, high = ends(row, options.error)
    if low or high:
        axes.errorbar(at, place, xerr=[[low], [high]], fmt="none", ecolor=INK, elinewidth=0.9, capsize=1.6)


def bar(axes: Any, row: Row, place: int | float, look: Look, options: Options, size: float = 0.74) -> None:
    """A mean as a bar with its error; nothing where it is not known."""
    if np.isnan(row["mean"]):
        return
    ink = {"edgecolor": INK, "linewidth": 0.4}
    axes.barh(place, row["mean"], size, color=look.color, hatch=look.hatch, **ink)
    whisker(axes, row, place, row["mean"], options)


def bars(axes: Any, rows: list[Row], names: Sequence[str], options: Options) -> None:
    """A bar for each of the methods, from the top."""
    looks = style.looks(names)
    for row in rows:
        bar(axes, row, names.index(row["method"]), looks[row["method"]], options)
    axes.axvline(0, color=INK, lw=0.6)
    name_bars(axes, rows, names)


def shares(axes: Any, rows: list[Row], names: Sequence[str], options: Options) -> None:
    """Won, drawn and lost as parts of one bar, with an error at each of the two borders."""
    looks = style.looks(names)
    for name in names:
        parts = [chosen(rows, method=name, quantity=kind)[0] for kind in SHARES]
        left, place, look = 0.0, names.index(name), looks[name]
        for part, alpha in zip(parts, (1.0, 0.35, 0.0), strict=True):
            ink = {"edgecolor": INK, "linewidth": 0.4}
            axes.barh(place, part["mean"], 0.74, left, color=(look.color, alpha), hatch=look.hatch, **ink)
            left += part["mean"]
        whisker(axes, parts[0], place, parts[0]["mean"], options)
        whisker(axes, parts[2], place, 1 - parts[2]["mean"], options)
    axes.set_xlim(0, 1)
    name_bars(axes, rows, names)


def name_bars(axes: Any, rows: list[Row], names: Sequence[str]) -> None:
    """The methods beside their bars; with the number of seeds, where that is not the same for all."""
    seeds = {name: max((row["seeds"] for row in rows if row["method"] == name), default=0) for name in names}
    differ = len(set(seeds.values()) - {0}) > 1
    axes.set_yticks(range(len(names)), [plain(name) + f" (n={seeds[name]})" * differ for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.25, lw=0.5)
    fewer_ticks(axes)


def fewer_ticks(axes: Any) -> None:
    """Of a small range fewer numbers below the bars: they are long, and would run into each other."""
    span = float(np.ptp(axes.get_xlim()))
    if 0 < span < SMALL:
        letters = 4 + np.ceil(-np.log10(span))
        width = axes.figure.get_figwidth() / axes.get_gridspec().ncols
        axes.locator_params(axis="x", nbins=max(1, int(0.75 * width / (LETTER * letters))))


def curve(axes: Any, rows: list[Row], look: Look, options: Options) -> Any:
    """Means over training with their errors as a band; returns the line."""
    at = np.array([row["updates"] for row in rows], float)
    mean = np.array([row["mean"] for row in rows], float)
    low, high = np.array([ends(row, options.error) for row in rows]).T
    every = max(1, len(at) // 8)
    (line,) = axes.plot(
        at, mean, color=look.color, ls=look.line, marker=look.marker, ms=3.2, markevery=every, mew=0
    )
    axes.fill_between(at, mean - low, mean + high, color=look.color, alpha=0.18, lw=0)
    return line


def curves(axes: Any, rows: list[Row], names: Sequence[str], options: Options) -> dict[str, Any]:
    """A curve for each method; returns the lines for a legend."""
    looks, lines = style.looks(names), {}
    for name in names:
        own = chosen(rows, method=name)
        if own:
            lines[name] = curve(axes, own, looks[name], options)
    axes.grid(alpha=0.25, lw=0.5)
    axes.margins(x=0.02)
    return lines


def legend(figure: Any, lines: dict[str, Any]) -> None:
    """The methods' lines, right of all panels."""
    figure.legend(lines.values(), [plain(name) for name in lines], loc="outside right center")


def bottom_of_columns(panels: Any, count: int) -> list[Any]:
    """The lowest panel in use of each column; those not in use are hidden."""
    for axes in panels.flat[count:]:
        axes.set_visible(False)
    width = panels.shape[1]
    return [panels.flat[i] for i in range(count) if i + width >= count]


def about(rows: list[Row], options: Options) -> str:
    """`Mean and standard error over 5 seeds.`"""
    seeds = sorted({row["seeds"] for row in rows if row["seeds"]})
    if seeds == [1]:
        return "One seed, hence without an interval."
    number = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return f"Mean and {ERRORS[options.error]} over {number} seeds."


def about_games(games: Played) -> str:
    """`Split test: 13 levels, 10 games of each pair of seeds on each.`"""
    cells = [games.table[name] for name in ("updates", "a", "a_seed", "b", "b_seed", "level")]
    _, where = np.unique(np.stack([x.astype(str) for x in cells]), axis=1, return_inverse=True)
    counts = np.bincount(where.ravel(), games.table["episodes"])
    least, most = int(counts.min()), int(counts.max())
    number = str(most) if least == most else f"{least} to {most}"
    levels = f"{len(games.levels)} level" + "s" * (len(games.levels) > 1)
    if len(games.levels) == 1:
        levels = games.levels[0]
    updates = games.updates
    after = f" After {updates[0]} updates." if len(updates) == 1 and updates[0] else ""
    return f"Split {games.split}: {levels}, {number} games of each pair of seeds on each.{after}"


def word(quantity: str) -> str:
    """A quantity as it is written beside an axis."""
    return WORDS.get(quantity, quantity.replace("_", " "))
