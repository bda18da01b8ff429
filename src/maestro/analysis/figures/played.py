"""The games behind a figure, and what is made of them: means over seeds with their errors, as rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from maestro.analysis.figures.source import FigureError, Options, Row, Source
from maestro.analysis.figures.style import ordered
from maestro.evaluation import round_robin, table
from maestro.evaluation.resampling import student_interval
from maestro.evaluation.round_robin import Cube
from maestro.evaluation.table import Table
from maestro.runs.folder import read_json
from maestro.settings import nearest

USUAL = "test"  # the levels that are taken where there were games on several sets


@dataclass(frozen=True)
class Played:
    """Games on one set of levels between those who are shown."""

    table: Table = field(hash=False)
    split: str
    methods: tuple[str, ...]  # in the order in which they are shown
    levels: tuple[str, ...]

    @property
    def updates(self) -> list[int]:
        """The numbers of updates after which was played."""
        return np.unique(self.table["updates"]).tolist()

    def at(self, updates: int) -> "Played":
        """The games after so many updates."""
        rows = table.select(self.table, updates=updates)
        return Played(rows, self.split, self.methods, self.levels)

    def cube(self, quantity: str) -> Cube:
        """A quantity of everyone against everyone."""
        try:
            return round_robin.cube(self.table, quantity)
        except ValueError as error:
            raise FigureError(f"--quantity: {error}") from None


@dataclass(frozen=True)
class Folder:
    """A cross-play: on which levels, and who took part."""

    path: Path
    split: str
    labels: frozenset[str]
    scripted: frozenset[str]
    is_last: bool  # whether the students are those of the end, and not of milestones

    def read(self) -> Table:
        """Its games."""
        try:
            games = table.read(self.path / "table.csv")
        except FileNotFoundError:
            raise FigureError(f"{self.path}: its games are not all played yet") from None
        except (ValueError, OSError) as error:
            raise FigureError(str(error)) from None
        if not len(games["a"]):
            raise FigureError(f"{self.path / 'table.csv'}: nobody has played")
        return games


def opened(path: Path) -> Folder:
    """What the plan of a cross-play says."""
    plan = read_json(path / "plan.json")
    entrants: Any = plan.get("entrants")
    groups = {when: x for when, x in entrants.items() if x} if isinstance(entrants, dict) else {}
    if not groups or not all(isinstance(group, dict) for group in groups.values()):
        raise FigureError(f"{path / 'plan.json'} is damaged: entrants")
    everybody = [item for group in groups.values() for item in group.items()]
    scripted = {label for label, seeds in everybody if isinstance(seeds, dict) and not any(seeds.values())}
    labels = frozenset(label for label, _ in everybody)
    last = set(groups) <= {"0", "against"}
    return Folder(path, str(plan.get("levels") or path.name), labels, frozenset(scripted), last)


def of_split(
    source: Source, options: Options, fits: Callable[[Folder], bool] = lambda _: True, training: bool = False
) -> tuple[str, Table, set[str]]:
    """(set of levels, its games, the scripted players); of those with milestones where these are drawn."""
    folders = [opened(path) for path in source.crossplays]
    if not folders:
        raise FigureError("this figure is made of a cross-play, and there is none in the folders")
    fitting = [folder for folder in folders if fits(folder)] or folders
    early = training or options.updates is not None
    along = [folder for folder in fitting if early and not folder.is_last]
    split = split_of(fitting if options.split else along or fitting, options.split)
    own = [folder for folder in fitting if folder.split == split]
    own = [folder for folder in own if folder.is_last != early] or own
    try:
        games = table.concatenate([folder.read() for folder in own])
    except FigureError:
        raise
    except ValueError as error:
        raise FigureError(f"{own[0].path} and others: {error}") from None
    return split, games, {name for folder in own for name in folder.scripted}


def split_of(folders: list[Folder], wanted: str) -> str:
    """The set of levels asked for, the usual one, or the only one."""
    splits = list(dict.fromkeys(folder.split for folder in folders))
    if wanted and wanted not in splits:
        raise FigureError(f"--split: no cross-play on {wanted!r}; there are {', '.join(splits)}")
    if not wanted and len(splits) > 1 and USUAL not in splits:
        raise FigureError(f"--split: choose one of {', '.join(splits)}")
    return wanted or (USUAL if USUAL in splits else splits[0])


def played(source: Source, options: Options, training: bool = False) -> Played:
    """The games between the methods asked for, or all that were trained, but for specialists."""
    split, games, scripted = of_split(source, options, training=training)
    present = everyone(games)
    trained = [name for name in present if "@" not in name and name not in scripted]
    methods = checked("method", options.methods, present) or trained
    if len(methods) < 2:
        hidden = [name for name in present if name not in trained and not options.methods]
        more = f" ({', '.join(hidden)}: shown only if --methods names them)" * bool(hidden)
        raise FigureError(f"a comparison needs two methods; the table has {', '.join(present)}{more}")
    known = list(dict.fromkeys(games["level"].tolist()))
    levels = checked("level", options.levels, known) or known
    rows = table.select(games, a=methods, b=methods, level=levels)
    if not len(rows["a"]):
        raise FigureError("the selection is empty: nobody of these has played on these levels")
    return Played(rows, split, tuple(ordered(methods)), tuple(levels))


def everyone(games: Table) -> list[str]:
    """All who take part, in the order in which they are shown."""
    return ordered(np.unique(np.concatenate([games["a"], games["b"]])).tolist())


def latest(games: Played, updates: int | None) -> Played:
    """The games after the most updates, or after those asked for."""
    if updates is not None and updates not in games.updates:
        there = ", ".join(map(str, games.updates))
        raise FigureError(f"--updates: nobody has played after {updates}; there are {there}")
    return games.at(games.updates[-1] if updates is None else updates)


def checked(what: str, wanted: Iterable[str], known: list[str]) -> list[str]:
    """The names asked for, if they are all there."""
    for name in wanted:
        if name not in known:
            raise FigureError(f"the table has no {what} {name!r}; {nearest(name, known)}")
    return list(dict.fromkeys(wanted))


def summarized(values: Float[np.ndarray, " S"], **where: Any) -> Row:
    """A row: where it was measured, the mean over seeds, its error, its interval, the number of seeds."""
    mean, error, seeds = round_robin.mean_error(values)
    low, high = student_interval(values)
    numbers = {"mean": mean, "standard_error": error, "low_95": low, "high_95": high}
    return where | {name: float(value) for name, value in numbers.items()} | {"seeds": int(seeds)}
