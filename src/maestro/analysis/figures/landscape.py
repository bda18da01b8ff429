"""Regret landscapes as heat maps: co-players are rows, levels columns; a panel for each seed."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from maestro.analysis import landscape_file
from maestro.analysis.figures import style
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source
from maestro.analysis.landscapes import Survey, averages, places
from maestro.evaluation.landscape import Landscape

MOST = 24  # panels on a page
NUMBERED = 20  # levels beside each other that leave room for a number in each cell
MISSING = "#dddddd"
DARKEST = 0.7  # of the color map, so that frames can be seen on every cell
MARKS = {"independent": (style.VERMILION, 0.98), "joint": (style.GREEN, 0.7)}  # color and size of a frame
WORDS = {"max_mc": "MaxMC", "positive_value_loss": "positive value loss", "mean_mc": "mean MC"}
NOTHING = "this figure is made of landscapes, and there is none in the folders; maestro landscape makes them"
Seeds = list[tuple[str, Landscape]]  # with the title of each


def landscape(source: Source, options: Options) -> Made:
    """The figure of the landscapes in some folders."""
    try:
        surveys = [landscape_file.read(folder) for folder in source.landscapes]
    except ValueError as error:
        raise FigureError(str(error)) from None
    wanted = options.methods or ((options.of,) if options.of else ())
    there = [survey for survey in surveys if not wanted or survey.about["method"] in wanted]
    if not there:
        known = ", ".join(survey.about["method"] for survey in surveys)
        raise FigureError(f"no landscape of that method; there are {known}" if known else NOTHING)
    return draw(there, options.title)


def draw(surveys: list[Survey], title: str = "") -> Made:
    """The heat maps of some runs' seeds."""
    seeds = [
        (f"{survey.about['method']}, seed {number}: the student of {seed.student}", seed)
        for survey in surveys
        for number, seed in survey.seeds.items()
    ]
    rows = [row for survey in surveys for row in rows_of(survey)]
    with style.drawing():
        return Made(rows, picture(seeds[:MOST], title, caption(surveys, seeds)))


def rows_of(survey: Survey) -> Iterable[Row]:
    """A row of data for each cell; levels count from 1."""
    for number, seed in survey.seeds.items():
        marked = places(seed)
        for (i, j), score in np.ndenumerate(seed.scores):
            yield {
                "run": survey.about["run"],
                "method": survey.about["method"],
                "seed": number,
                "student": seed.student,
                "member": seed.members[i],
                "level": j + 1,
                "regret": float(score),
                "regret_first_half": float(seed.halves[0, i, j]),
                "regret_second_half": float(seed.halves[1, i, j]),
                "episodes": int(seed.episodes[i, j]),
                "marked": " ".join(name for name, place in marked.items() if place == (i, j)),
            }


def picture(seeds: Seeds, title: str, below: str) -> Any:
    """A panel for each seed, all on one scale."""
    columns = 1 if len(seeds) <= 4 else 2
    height = sum(0.55 + 0.2 * min(40, len(seed.members)) for _, seed in seeds) / columns
    figure, axes = style.sheet(style.WIDTH, height + 0.7, -(-len(seeds) // columns), columns)
    low, high, beyond = limits([seed.scores for _, seed in seeds])
    for panel in axes.flat[len(seeds) :]:
        panel.set_visible(False)
    for panel, (name, seed) in zip(axes.flat, seeds, strict=False):
        image = heat_map(panel, seed, low, high)
        if seed.scores.shape[1] * columns <= NUMBERED:
            numbers(panel, seed.scores, low + 0.8 * (high - low))
        frames(panel, seed)
        panel.set_title(style.plain(name, 90 // columns), fontsize=8)
    pointed = "min" if beyond else "neither"
    figure.colorbar(image, ax=axes, label="estimated regret", pad=0.01, fraction=0.03, extend=pointed)
    return style.finish(figure, title, below)


def limits(scores: list[np.ndarray]) -> tuple[float, float, bool]:
    """(lowest, highest, whether any lie lower) of the scale, which a few estimates below 0 do not stretch."""
    found = np.concatenate([x[~np.isnan(x)] for x in scores])
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    if low < 0 < high:
        return 0.0, high, True
    return (low, high, False) if high > low else (low - 0.5, low + 0.5, False)


def heat_map(panel: Any, seed: Landscape, low: float, high: float) -> Any:
    """The cells in color; unknown ones gray."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    panel.set_facecolor(MISSING)
    colors = ListedColormap(colormaps["Blues"](np.linspace(0, DARKEST, 256)))
    known = np.ma.masked_invalid(seed.scores)
    image = panel.imshow(known, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    rows, columns = seed.scores.shape
    some = range(0, rows, -(-rows // 20))
    panel.set_yticks(some, [style.plain(seed.members[i]) for i in some])
    some = range(0, columns, -(-columns // 16))
    panel.set_xticks(some, [str(i + 1) for i in some])
    panel.tick_params(length=0)
    return image


def numbers(panel: Any, scores: np.ndarray, dark: float) -> None:
    """The number in each cell, white on dark ones."""
    for (i, j), score in np.ndenumerate(scores):
        ink = "white" if score > dark else "#222222"
        text = "?" if np.isnan(score) else f"{score:.2f}".replace("-0.00", "0.00")
        panel.text(j, i, text, ha="center", va="center", fontsize=5.5, color=ink)


def frames(panel: Any, seed: Landscape) -> None:
    """Red around the row and the column of the highest means and bold where they meet; green: the maximum."""
    from matplotlib.patches import Rectangle

    def frame(x: float, y: float, width: float, height: float, color: str, bold: float) -> None:
        look: dict[str, Any] = {"fill": False, "clip_on": False, "zorder": 3, "joinstyle": "miter"}
        panel.add_patch(Rectangle((x, y), width, height, edgecolor="white", lw=bold + 1.2, **look))
        panel.add_patch(Rectangle((x, y), width, height, edgecolor=color, lw=bold, **look))

    rows, columns = seed.scores.shape
    for name, (row, column) in places(seed).items() if np.isfinite(seed.scores).any() else ():
        color, size = MARKS[name]
        if name == "independent":
            frame(-0.5, row - 0.5, float(columns), 1.0, color, 0.8)
            frame(column - 0.5, -0.5, 1.0, float(rows), color, 0.8)
        frame(column - size / 2, row - size / 2, size, size, color, 1.8)


def caption(surveys: list[Survey], seeds: Seeds) -> str:
    """What was measured, and what the marks say."""
    score = " or ".join(dict.fromkeys(WORDS.get(s.about["score"], s.about["score"]) for s in surveys))
    mean = averages(seed for _, seed in seeds)
    values = {name: told_of(x, len(seeds)) for name, x in mean.items()}
    over = f"; means of {len(seeds)} seeds" * (len(seeds) > 1)
    more = f" The first {MOST} of {len(seeds)} seeds are shown." * (len(seeds) > MOST)
    rollouts, steps = (spanned(s.about[name] for s in surveys) for name in ("rollouts", "steps"))
    how = f"{rollouts} rollouts of {steps} steps on generated levels, each seed's own"
    return (
        f"Regret ({score}) over {how}. Red: co-player and level of the highest means, "
        f"{values['independent']} where they meet; green: the highest cell, {values['joint']}; "
        f"gap {values['gap']}, split-half {values['split_gap']}{over}. Gray: no episode ended.{more}"
    )


def spanned(numbers: Iterable[int]) -> str:
    """`8`, or `4 to 8`."""
    known = sorted(set(numbers))
    return f"{known[0]} to {known[-1]}" if len(known) > 1 else str(known[0])


def told_of(mean: dict[str, Any], seeds: int) -> str:
    """A mean over seeds, with their number where some of them do not know it."""
    if np.isnan(mean["mean"]):
        return "unknown"
    return f"{mean['mean']:.2f}" + f" (known in {mean['seeds']})" * (mean["seeds"] < seeds)
