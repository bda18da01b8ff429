"""The games of a study: cross-plays, and rankings against the opponents of a split."""

import csv
import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from maestro.analysis import crossplay, standings
from maestro.analysis.study.cohorts import Planned
from maestro.analysis.study.entries import CrossPlay, Evaluate
from maestro.analysis.study.plan import Study
from maestro.analysis.study.steps import Report, Step
from maestro.evaluation import level_sets, table
from maestro.evaluation.cross_play import Entrant, Play, default_batch
from maestro.evaluation.level_sets import LevelSet
from maestro.runs import entrants, milestones
from maestro.runs.entrants import Groups
from maestro.runs.files import write_file
from maestro.runs.folder import RunFolder

TABLE, RANKING = crossplay.TABLE, "ranking.csv"


def entrants_of(study: Study, out: Path, cohort: Planned, updates: int | None = None) -> list[Entrant]:
    """The students of a cohort under its name."""
    found = entrants.open_run(out / "runs" / cohort.name, study.game).students(updates)
    return [replace(entrant, label=cohort.name) for entrant in found]


def groups_of(study: Study, out: Path, cohorts: tuple[Planned, ...], updates: int | None = None) -> Groups:
    """The students of several cohorts."""
    return {cohort.name: entrants_of(study, out, cohort, updates) for cohort in cohorts}


def players_of(study: Study, names: tuple[str, ...]) -> Groups:
    """Scripted players."""
    return {name: [entrants.single(study.game, name)] for name in names}


def levels_of(study: Study, entry: Any, seed: int = 0) -> LevelSet:
    """The levels of an entry; generated ones are those of the first cohort's settings."""
    return level_sets.find(study.game, ",".join(entry.levels), study.cohorts[0].config.environment, seed)


def played(study: Study, step: Step, folder: Path, what: crossplay.CrossPlay, report: Report) -> table.Table:
    """The games of a folder, with progress."""
    names = [block.name for block in what.blocks]

    def told(name: str, done: int, total: int) -> None:
        report(f"{step.name}, {names.index(name) + 1} of {len(names)}: {name}, {done:,} of {total:,} games")

    return crossplay.run(folder, what, told)


def crossplay_step(study: Study, out: Path, entry: CrossPlay) -> Step:
    """Everyone against everyone."""
    cohorts = tuple(study.named(entry.cohorts))
    make = partial(make_crossplay, study, out)
    folder = out / "crossplay" / entry.name
    return Step(f"crossplay {entry.name}", folder, TABLE, cohorts, entry, make, along=entry.milestones)


def make_crossplay(study: Study, out: Path, step: Step, report: Report) -> None:
    """Play it: at the end of training, and after each number of updates that all have kept, if asked for."""
    entry = step.entry
    kept = [set(milestones.points(RunFolder(out / "runs" / c.name))) for c in step.cohorts]
    points: list[int | None] = [*sorted(set.intersection(*kept))] if entry.milestones else [None]
    scripts = players_of(study, entry.players)
    groups = {at or 0: groups_of(study, out, step.cohorts, at) | scripts for at in points}
    env = study.cohorts[0].config.environment
    levels, batch = levels_of(study, entry, entry.seed), default_batch()
    play = Play(env, levels, entry.episodes, entry.seed, batch, study.game.shares)
    found = crossplay.CrossPlay(study.game.name, play, groups)
    played(study, step, step.folder, found, report)


def ranking_step(study: Study, out: Path, place: str, entry: Evaluate) -> Step:
    """Students on a split against its scripted opponents, best first."""
    cohorts = tuple(study.named(entry.cohorts))
    name = f"{place} ({entry.split} split)"
    return Step(name, out / place, RANKING, cohorts, entry, partial(make_ranking, study, out))


def make_ranking(study: Study, out: Path, step: Step, report: Report) -> None:
    """Play it, and rank the cohorts by their mean return, with intervals over seeds."""
    entry = step.entry
    play = Play(
        study.cohorts[0].config.environment,
        level_sets.of_split(study.game, entry.split),
        entry.episodes,
        batch=default_batch(),
        shares=study.game.shares,
    )
    opponents = players_of(study, study.game.splits[entry.split].opponents)
    groups = {0: groups_of(study, out, step.cohorts)}
    games = played(
        study,
        step,
        step.folder / "games",
        crossplay.CrossPlay(study.game.name, play, groups, opponents),
        report,
    )
    names = {cohort.name for cohort in step.cohorts}
    rows = [{"split": entry.split, **row} for row in standings.standings(games) if row["method"] in names]
    for row in rows:
        row.pop("normalized")
        row |= {name: found["mean"] for name, found in row.pop("own").items()}
    write_file(step.folder / RANKING, to_csv(rows).encode())


def to_csv(rows: list[dict[str, Any]]) -> str:
    """Rows of equal columns; empty where something is not known."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_ranking(path: Path) -> list[dict[str, str]]:
    """The rows of a ranking, best first."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
