"""All that a page shows of some folders, as plain data."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import maestro
from maestro.analysis.figures.source import Run
from maestro.analysis.report import agents, answer, crossplays, drawings, landscapes, recordings, runs
from maestro.analysis.report.choice import Choice
from maestro.analysis.report.games import Recorder
from maestro.analysis.report.opened import Found, look
from maestro.analysis.report.people import People
from maestro.analysis.report.scenes import Scenes
from maestro.games import Game
from maestro.runs import served
from maestro.runs.reporter import Reporter

FORMAT = 1
LEVELS, ALL_LEVELS = 12, 4000  # that are drawn of a moment and seed, and in all, about
Data = dict[str, Any]


class Quiet:
    """A reporter that nobody listens to."""

    def say(self, text: str) -> None: ...

    def show(self, status: dict[str, Any]) -> None: ...


def collect(paths: Sequence[Path], choice: Choice | None = None, reporter: Reporter | None = None) -> Data:
    """The data of the page about some folders; `FigureError` says what cannot be shown at all."""
    choice, told = choice or Choice(), reporter or Quiet()
    found = look(paths, choice.methods, told)
    told.show({"doing": "reading the runs"})
    scenes = Scenes(found.game)
    each, named = levels_each(found.runs), zip(found.runs, runs.names(found.runs), strict=True)
    entries = [runs.entry(run, name, scenes, each) for run, name in named]
    question, sentences = answer.of(found.played, found.runs)
    shown = {
        **head(paths, choice, found.game),
        "question": question,
        "answer": sentences,
        "tables": tables(found, entries),
        "figures": draw(found, told) if choice.figures and not choice.live else [],
        "runs": entries,
        **to_watch(found, choice, scenes, told),
    }
    return shown | {"left_out": [without_places(line, paths) for line in found.left_out]}


def to_watch(found: Found, choice: Choice, scenes: Scenes, told: Reporter) -> Data:
    """Matrices and landscapes with the games of their cells, and agents to play against."""
    people = People(found.game, found.runs)
    recorder = Recorder(scenes, people, told)
    matrices = [crossplays.matrix(played) for played in found.played]
    maps = [
        landscapes.heat_map(survey, seed, found.run_of(path, survey), scenes)
        for path, survey in found.surveys
        for seed in survey.seeds
    ]
    play = None
    if not choice.live:
        play, why = agents.play(people, found.runs, crossplays.ordered(found.played))
        found.left_out += [why] if why else []
    if choice.games and not choice.live:
        recordings.record(found, matrices, maps, recorder)
    shown = {"crossplays": matrices, "landscapes": [one.shown for one in maps], "play": play}
    return shown | {"scenes": scenes.found, "games": recorder.found}


def levels_each(own: list[Run]) -> int:
    """How many levels are drawn of each moment and seed."""
    drawn = sum(len(run.seeds) * len(served.points(run.folder)) for run in own)
    return max(2, min(LEVELS, ALL_LEVELS // max(1, drawn)))


def head(paths: Sequence[Path], choice: Choice, game: Game) -> Data:
    """What the page is."""
    names = ", ".join(dict.fromkeys(path.resolve().name for path in paths))
    seats, colors = game.draw.seats, game.draw.colors
    return {
        "format": FORMAT,
        "title": choice.title or (names if len(names) < 80 else f"{len(paths)} folders"),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "version": maestro.__version__,
        "game": game.name,
        "live": choice.live,
        "seats": list(seats) or ["first", "second"],
        "seat_colors": list(colors) or ["#d55e00", "#0072b2"],
    }


def tables(found: Found, entries: list[Data]) -> list[Data]:
    """Standings, landscapes in numbers, the runs and their settings."""
    shown = [crossplays.standing(played) for played in found.played]
    shown += [landscapes.table(survey) for _, survey in found.surveys]
    if entries:
        shown += [runs.table(found.runs, entries), drawings.settings(found.source, found.options)]
    return shown


def draw(found: Found, told: Reporter) -> list[Data]:
    """All figures that can be drawn; why others cannot is noted, once for all with the same reason."""
    shown = []
    reasons: dict[str, list[str]] = {}
    for name, made in drawings.all_of(found.source, found.options):
        told.show({"doing": f"drawing {name}"})
        if isinstance(made, str):
            reasons.setdefault(made, []).append(name)
        else:
            shown.append(drawings.picture(name, made))
    found.left_out += [f"Not drawn: {', '.join(names)} ({why})." for why, names in reasons.items()]
    return shown


def without_places(text: str, paths: Sequence[Path]) -> str:
    """A text in which folders go by their names alone: a page may be passed on."""
    for path in paths:
        for typed in (path, path.resolve()):
            text = text.replace(str(typed), path.resolve().name) if typed.name else text
    return text
