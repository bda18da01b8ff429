"""Generalists against those who were trained on one level, on that level only."""

from typing import Any

from maestro.analysis.figures import panels, style
from maestro.analysis.figures.played import Folder, Played, checked, everyone, latest, of_split, summarized
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source
from maestro.analysis.figures.versus import against
from maestro.evaluation import table
from maestro.evaluation.table import Table

QUANTITIES = ("return", "win_rate")


def specialists(source: Source, options: Options) -> Made:
    """Return and win rate of each generalist against each specialist."""
    split, games, scripted = of_split(source, options, fits=has_specialists)
    present = everyone(games)
    experts = sorted((name for name in present if "@" in name), key=level_of)
    if not experts:
        raise FigureError("there is no specialist (METHOD@LEVEL) in the cross-play")
    checked("specialist of", options.levels, [level_of(name) for name in experts])
    general = [name for name in present if "@" not in name and name not in scripted]
    asked = checked("method", options.methods or (options.of,) * bool(options.of), general) or general
    rows = []
    for expert in experts:
        if level_of(expert) in (options.levels or (level_of(expert),)):
            rows += rows_of(games, split, expert, asked, options)
    if not rows:
        raise FigureError(f"nobody has met a specialist on its level; there are {', '.join(experts)}")
    return Made(rows, picture(rows, split, options))


def has_specialists(folder: Folder) -> bool:
    """Whether any take part in a cross-play."""
    return any("@" in name for name in folder.labels)


def level_of(expert: str) -> str:
    """The level that a specialist was trained on."""
    return expert.partition("@")[2]


def rows_of(games: Table, split: str, expert: str, general: list[str], options: Options) -> list[Row]:
    """A row for each quantity and each generalist that has met a specialist on its level."""
    names, level = [expert, *general], level_of(expert)
    own = table.select(games, a=names, b=names, level=level)
    met = (own["a"] == expert) ^ (own["b"] == expert)
    own = {name: column[met] for name, column in own.items()}
    if not len(own["a"]):
        return []
    shown = latest(Played(own, split, tuple(names), (level,)), options.updates)
    where = {"level": level, "updates": shown.updates[0], "split": split}
    cubes = {quantity: shown.cube(quantity) for quantity in QUANTITIES}
    return [
        summarized(against(cube, name, expert), quantity=quantity, method=name, against=expert, **where)
        for quantity, cube in cubes.items()
        for name in style.ordered(general)
        if name in cube.methods
    ]


def picture(rows: list[Row], split: str, options: Options) -> Any:
    """Two panels for each specialist, one below the other."""
    experts = list(dict.fromkeys(row["against"] for row in rows))
    names = style.ordered(row["method"] for row in rows)
    height = len(experts) * (0.5 + 0.17 * len(names)) + 0.5
    figure, axes = style.sheet(style.WIDTH, height, len(experts), 2, sharey=True, sharex="col")
    for line, expert in zip(axes, experts, strict=True):
        for panel, quantity in zip(line, QUANTITIES, strict=True):
            panels.bars(panel, panels.chosen(rows, against=expert, quantity=quantity), names, options)
            panel.set_title(f"{panels.word(quantity)} against {style.plain(expert)}")
        line[1].axvline(0.5, color=panels.INK, lw=0.6, ls=":")
        line[1].set_xlim(0, 1)
    updates = sorted({row["updates"] for row in rows})
    when = f" After {', '.join(map(str, updates))} updates." * any(updates)
    caption = f"On the level of the specialist only. {panels.about(rows, options)} Split {split}.{when}"
    return style.finish(figure, options.title, caption)
