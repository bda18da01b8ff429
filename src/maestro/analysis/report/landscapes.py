"""Regret landscapes: what each cell was estimated at, and a game of it to watch."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro.analysis import landscape_file
from maestro.analysis.figures.source import FigureError, Run
from maestro.analysis.landscapes import Survey, averages, places
from maestro.analysis.report.games import Recorder
from maestro.analysis.report.numbers import listed, short
from maestro.analysis.report.people import People
from maestro.analysis.report.scenes import Scenes
from maestro.envs.levels import LevelError
from maestro.evaluation.landscape import Landscape
from maestro.exploiters import Newcomer
from maestro.runs import entrants

TRIES = 2  # games of a cell, of which one is shown
AFTER = re.compile(r"(exploiter of )?update (\d{1,15})")  # a student or a member, by when it was kept
COLUMNS = ["regret", "mean", "95 % from", "to", "seeds"]
WORDS = {
    "independent": "where the co-player and the level of the highest means meet",
    "joint": "of the highest cell",
    "gap": "gap: joint less independent",
    "split_gap": "gap, picked by one half of the rollouts and scored by the other",
}


def read(path: Path) -> Survey:
    """The landscapes in a folder."""
    try:
        return landscape_file.read(path)
    except ValueError as error:
        raise FigureError(str(error)) from None


def table(survey: Survey) -> dict[str, Any]:
    """Means over seeds with their intervals."""
    found = averages(survey.seeds.values())
    rows = [
        [told, *(short(found[name][key]) for key in ("mean", "low_95", "high_95", "seeds"))]
        for name, told in WORDS.items()
        if name in found
    ]
    about = survey.about
    note = f"{about['rollouts']} rollouts of {about['steps']} steps of each pair, on generated levels."
    return {"title": f"Regret of {about['method']}", "note": note, "columns": COLUMNS, "rows": rows}


@dataclass(frozen=True)
class Map:
    """The landscape of a seed."""

    shown: dict[str, Any]  # as a page has it
    own: Landscape
    levels: list[Any]  # None for texts that are none of this game
    run: Run | None


def heat_map(survey: Survey, seed: int, run: Run | None, scenes: Scenes) -> Map:
    """The landscape of a seed, with no games yet."""
    own, name = survey.seeds[seed], run.label if run else survey.about["method"]
    levels = [parsed(scenes, text) for text in own.levels]
    marks = places(own) if own.episodes.any() else {}
    shown = {
        "run": name,
        "seed": seed,
        "student": own.student,
        "score": survey.about["score"],
        "members": list(own.members),
        "levels": [
            scenes.add_text(text, f"level {i + 1}") if level is None else scenes.add(level, f"level {i + 1}")
            for i, (level, text) in enumerate(zip(levels, own.levels, strict=True))
        ],
        "regret": listed(own.scores),
        "episodes": own.episodes.tolist(),
        "joint": list(marks["joint"]) if marks else None,
        "independent": list(marks["independent"]) if marks else None,
        "games": [[None for _ in own.levels] for _ in own.members],
    }
    return Map(shown, own, levels, run)


def parsed(scenes: Scenes, text: str) -> Any:
    """The level of a text; None if it is none of this game."""
    try:
        return scenes.game.levels.parse(text)
    except LevelError:
        return None


def record(one: Map, recorder: Recorder) -> None:
    """Add a game to each cell: the student against that member on that level."""
    assert one.run is not None
    people, seed = recorder.people, one.shown["seed"]
    env = entrants.open_run(one.run.folder.path, people.game).environment
    student = kept(people, one.run, seed, one.own.student)
    for i, told in enumerate(one.own.members):
        member = kept(people, one.run, seed, told)
        for j, level in enumerate(one.levels):
            if student is not None and member is not None and level is not None:
                a, b = (f"the student ({one.own.student})", student), (f"member of {told}", member)
                one.shown["games"][i][j] = recorder.record(env, a, b, [(f"level {j + 1}", level)], TRIES)


def kept(people: People, run: Run, seed: int, told: str) -> Any:
    """Who was kept at `update N`, or the exploiter of that student."""
    found = AFTER.fullmatch(told)
    return people.member(run, seed, Newcomer(int(found[2]), bool(found[1]))) if found else None
