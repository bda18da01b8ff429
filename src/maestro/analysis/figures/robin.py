"""Everyone against everyone: bars at the end, curves over training, and the ablation."""

from typing import Any

import numpy as np

from maestro.analysis.figures import panels, style
from maestro.analysis.figures.played import Played, latest, played, summarized
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source
from maestro.curriculum import Source as LevelSource
from maestro.evaluation import round_robin
from maestro.evaluation.table import SHARES
from maestro.methods import PAPER_METHODS

# One source of levels, three rules for the co-player.
ABLATION = tuple(name for name, method in PAPER_METHODS.items() if method.levels is LevelSource.PER_COPLAYER)


def values(games: Played, quantity: str) -> dict[str, np.ndarray]:
    """The round robin of each method, one value for each seed."""
    cube = games.cube("return" if quantity == "normalized" else quantity)
    found = round_robin.round_robin(cube)
    if quantity == "normalized":
        found = round_robin.mean_of(round_robin.scaled(round_robin.per_level(cube)), axis=-1)
    return {name: found[cube.index(name)] for name in games.methods if name in cube.methods}


def rows_of(games: Played, quantities: tuple[str, ...]) -> list[Row]:
    """A row for each quantity and method."""
    where = {"updates": games.updates[0], "split": games.split}
    return [
        summarized(found, quantity=quantity, method=name, **where)
        for quantity in quantities
        for name, found in values(games, quantity).items()
    ]


def bars(source: Source, options: Options) -> Made:
    """Return, shares and normalized return of each method against all others."""
    games = latest(played(source, options), options.updates)
    rows = rows_of(games, ("return", *SHARES, "normalized"))
    names = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = style.sheet(style.WIDTH, 0.95 + panels.BAR * len(names), 1, 3, sharey=True)
    left, middle, right = axes[0]
    panels.bars(left, panels.chosen(rows, quantity="return"), names, options)
    panels.shares(middle, rows, names, options)
    panels.bars(right, panels.chosen(rows, quantity="normalized"), names, options)
    titles = ("return", "won, drawn, lost", "normalized return")
    for panel, title in zip(axes[0], titles, strict=True):
        panel.set_title(title)
    against = f"Against all others of the {len(names)}. Full: won, pale: drawn, empty: lost."
    caption = f"{panels.about(rows, options)} {against} {panels.about_games(games)}"
    return Made(rows, style.finish(figure, options.title, caption))


def ablation(source: Source, options: Options) -> Made:
    """The round robin between variants of one method."""
    changed = Options(**{**vars(options), "methods": options.methods or ABLATION})
    return bars(source, changed)


def curves(source: Source, options: Options) -> Made:
    """Return, win rate and normalized return over training."""
    games = played(source, options, training=True)
    several(games)
    quantities = ("return", "win_rate", "normalized")
    rows = [row for at in games.updates for row in rows_of(games.at(at), quantities)]
    figure, axes = style.sheet(style.WIDTH, 2.5, 1, 3)
    lines: dict[str, Any] = {}
    for panel, quantity in zip(axes[0], quantities, strict=True):
        lines |= panels.curves(panel, panels.chosen(rows, quantity=quantity), list(games.methods), options)
        panel.set_title(panels.word(quantity))
        panel.set_xlabel("updates")
    panels.legend(figure, lines)
    caption = (
        f"{panels.about(rows, options)} Against all others at the same time. {panels.about_games(games)}"
    )
    return Made(rows, style.finish(figure, options.title, caption))


def several(games: Played) -> None:
    """Refuse to draw a curve through one point."""
    if len(games.updates) < 2:
        raise FigureError(
            f"a curve needs games after several numbers of updates, and the table has {games.updates} only; "
            "maestro crossplay --milestones plays them"
        )
