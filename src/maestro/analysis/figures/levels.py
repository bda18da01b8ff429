"""A panel for each level: bars at the end, or curves over training."""

from typing import Any

import numpy as np

from maestro.analysis.figures import panels, style
from maestro.analysis.figures.played import Played, latest, played, summarized
from maestro.analysis.figures.robin import several
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source
from maestro.evaluation import round_robin

MOST = 24  # panels on a page


def values(games: Played, quantity: str) -> dict[tuple[str, str], np.ndarray]:
    """The round robin of each method on each level, one value for each seed."""
    cube = games.cube("return" if quantity == "normalized" else quantity)
    found = round_robin.per_level(cube)
    if quantity == "normalized":
        found = round_robin.scaled(found)
    return {
        (level, name): found[cube.index(name), :, cube.levels.index(level)]
        for level in games.levels
        for name in games.methods
        if name in cube.methods and level in cube.levels
    }


def rows_of(games: Played, quantity: str) -> list[Row]:
    """A row for each level and method."""
    where = {"quantity": quantity, "updates": games.updates[0], "split": games.split}
    return [
        summarized(found, level=level, method=name, **where)
        for (level, name), found in values(games, quantity).items()
    ]


def selected(source: Source, options: Options, training: bool = False) -> Played:
    """The games, on no more levels than fit onto a page."""
    games = played(source, options, training)
    if len(games.levels) > MOST:
        few = ", ".join(games.levels[:3])
        raise FigureError(
            f"{len(games.levels)} levels are too many for one page (at most {MOST}); "
            f"choose some: --levels, from {few}, ..."
        )
    return games


def bars(source: Source, options: Options) -> Made:
    """Bars of each method on each level."""
    games = latest(selected(source, options), options.updates)
    quantity = options.quantity or "return"
    rows, names = rows_of(games, quantity), list(games.methods)
    height, width = style.grid_shape(len(games.levels))
    size = height * (0.42 + 0.145 * len(names)) + 0.5
    figure, axes = style.sheet(style.WIDTH, size, height, width, sharex=True, sharey=True)
    for panel, level in zip(axes.flat, games.levels, strict=False):
        panels.bars(panel, panels.chosen(rows, level=level), names, options)
        panel.set_title(style.plain(level, 18), fontsize=8)
        panel.tick_params(axis="y", labelsize=7)
    for panel in panels.bottom_of_columns(axes, len(games.levels)):
        panel.tick_params(axis="x", labelbottom=True)
    caption = f"{panels.word(quantity).capitalize()} against all others. {panels.about(rows, options)}"
    return Made(rows, style.finish(figure, options.title, f"{caption} {panels.about_games(games)}"))


def curves(source: Source, options: Options) -> Made:
    """Curves of each method on each level."""
    games = selected(source, options, training=True)
    several(games)
    quantity = options.quantity or "return"
    rows = [row for at in games.updates for row in rows_of(games.at(at), quantity)]
    height, width = style.grid_shape(len(games.levels))
    figure, axes = style.sheet(style.WIDTH, height * 1.35 + 0.6, height, width, sharex=True, sharey=True)
    lines: dict[str, Any] = {}
    for panel, level in zip(axes.flat, games.levels, strict=False):
        lines |= panels.curves(panel, panels.chosen(rows, level=level), list(games.methods), options)
        panel.set_title(style.plain(level, 18), fontsize=8)
    for panel in panels.bottom_of_columns(axes, len(games.levels)):
        panel.tick_params(axis="x", labelbottom=True)
        panel.set_xlabel("updates")
    panels.legend(figure, lines)
    caption = f"{panels.word(quantity).capitalize()} against all others. {panels.about(rows, options)}"
    return Made(rows, style.finish(figure, options.title, f"{caption} {panels.about_games(games)}"))
