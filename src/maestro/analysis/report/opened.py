"""What the folders of a page hold, opened: runs, games and landscapes of one game."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro import games
from maestro.analysis.figures import style
from maestro.analysis.figures.played import USUAL
from maestro.analysis.figures.source import FigureError, Options, Run, Source, find, opened
from maestro.analysis.landscapes import Survey
from maestro.analysis.report import crossplays, landscapes
from maestro.games import Game
from maestro.runs.folder import read_json
from maestro.runs.reporter import Reporter


@dataclass
class Found:
    """All that a page is made of, and what had to be left out."""

    source: Source
    options: Options
    game: Game
    runs: list[Run]
    played: list[crossplays.Played] = field(default_factory=list)
    surveys: list[tuple[Path, Survey]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def read(self, path: Path, of: Callable[[Path], Any], told: Reporter) -> list[Any]:
        """What is in one of the folders; nothing, and a word about it, where that cannot be read."""
        told.show({"doing": f"reading {path.name}"})
        try:
            return [of(path)]
        except ValueError as error:
            self.left_out.append(f"{path.name}: {error}")
            return []

    def run_of(self, path: Path, survey: Survey) -> Run | None:
        """The run that landscapes are of: the one around them, else the one of that name."""
        inside = [run for run in self.runs if run.folder.path.resolve() == path.resolve().parent]
        named = [run for run in self.runs if run.folder.path.resolve().name == survey.about["run"]]
        return next(iter(inside or named), None)


def look(paths: Sequence[Path], methods: tuple[str, ...], told: Reporter) -> Found:
    """Open all that the folders hold; games and landscapes that cannot be read are left out."""
    source, options = find(paths), Options(methods=methods)
    own = opened(source, options) if source.runs else []
    order = style.ordered(run.label for run in own)
    own = sorted(own, key=lambda run: ("@" in run.label, order.index(run.label)))
    found = Found(source, options, game_of(source, own), own)
    for path in source.crossplays:
        found.played += found.read(path, lambda path: crossplays.read(path, methods), told)
    found.played.sort(key=lambda played: played.folder.split != USUAL)
    for path in source.landscapes:
        there = found.read(path, landscapes.read, told)
        found.surveys += [(path, own) for own in there if not methods or own.about["method"] in methods]
    return found


def game_of(source: Source, own: list[Run]) -> Game:
    """The game of all that was found, which must be one."""
    names = [str(run.settings.get("game")) for run in own]
    names += [str(read_json(path / "plan.json").get("game")) for path in source.crossplays]
    names += [str(landscapes.read(path).about["game"]) for path in source.landscapes[: not names]]
    known = list(dict.fromkeys(names))
    if len(known) > 1:
        raise FigureError(f"a report is about one game, and the folders hold {', '.join(known)}")
    try:
        return games.known(known[0])
    except games.NotFound as error:
        raise FigureError(str(error)) from None
