"""One method against each other one."""

from typing import Any

import numpy as np

from maestro.analysis.figures import panels, style
from maestro.analysis.figures.played import Played, checked, latest, played, summarized
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source
from maestro.evaluation import table
from maestro.evaluation.round_robin import Cube, mean_of

USUAL = "maestro"


def against(cube: Cube, name: str, other: str) -> np.ndarray:
    """Of each seed of a method: the mean against another one, over its seeds and the levels."""
    return mean_of(cube.values[cube.index(name), :, cube.index(other)], axis=(1, 2))


def one_to_one(source: Source, options: Options) -> Made:
    """Return, win rate and the game's own numbers of one method and of each that it meets."""
    games = latest(played(source, options), options.updates)
    own = checked("method", [options.of], list(games.methods))[0] if options.of else USUAL
    if own not in games.methods:
        raise FigureError(f"--of: say which method; there are {', '.join(games.methods)}")
    own_numbers = ("return", "win_rate", *table.extras(games.table))
    quantities = (options.quantity,) if options.quantity else own_numbers
    rows = [row for quantity in quantities for row in rows_of(games, quantity, own)]
    height = 0.95 + 0.3 * (len(games.methods) - 1)
    figure, axes = style.sheet(style.WIDTH, height, 1, len(quantities), sharey=True)
    for panel, quantity in zip(axes[0], quantities, strict=True):
        paired(panel, panels.chosen(rows, quantity=quantity), own, options)
        panel.set_title(panels.word(quantity))
    caption = f"Upper bars: {own}; lower bars: the method it meets. {panels.about(rows, options)}"
    return Made(rows, style.finish(figure, options.title, f"{caption} {panels.about_games(games)}"))


def rows_of(games: Played, quantity: str, own: str) -> list[Row]:
    """Two rows for each pair: what one has reached, and what the other has."""
    cube = games.cube(quantity)
    where = {"updates": games.updates[0], "split": games.split}
    others = [name for name in games.methods if name != own and name in cube.methods]
    return [
        summarized(against(cube, a, b), quantity=quantity, method=a, against=b, **where)
        for other in others
        for a, b in ((own, other), (other, own))
    ]


def paired(axes: Any, rows: list[Row], own: str, options: Options) -> None:
    """Two bars for each pair: the one's above the other's."""
    others = [row["against"] for row in panels.chosen(rows, method=own)]
    looks = style.looks([own, *others])
    for row in rows:
        first = row["method"] == own
        place = others.index(row["against"] if first else row["method"]) + (-0.19 if first else 0.19)
        panels.bar(axes, row, place, looks[row["method"]], options, size=0.36)
    axes.axvline(0, color=panels.INK, lw=0.6)
    panels.name_bars(axes, [row for row in rows if row["method"] != own], others)
