"""The measurements of a study that need more than games: landscapes, and best responses."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from maestro.analysis import landscape_file, landscapes, standings
from maestro.analysis.study.cohorts import Planned
from maestro.analysis.study.entries import Exploit
from maestro.analysis.study.games import entrants_of, levels_of
from maestro.analysis.study.plan import Study
from maestro.analysis.study.steps import Report, Step
from maestro.evaluation import table
from maestro.evaluation.cross_play import Entrant
from maestro.evaluation.level_sets import LevelSet
from maestro.runs import build, crowd, exploiters
from maestro.runs.files import write_file
from maestro.runs.folder import RunFolder

EXPLOITED = "exploit.json"


def landscape_step(study: Study, out: Path, cohort: Planned) -> Step:
    """The regret landscapes of a cohort."""
    make = partial(make_landscape, study, out)
    folder = out / "landscape" / cohort.name
    name = f"landscape of {cohort.name}"
    return Step(name, folder, landscape_file.FILE, (cohort,), study.landscape, make, along=True)


def make_landscape(study: Study, out: Path, step: Step, report: Report) -> None:
    """Measure it for every seed."""
    (cohort,), entry = step.cohorts, step.entry
    experiment = build.experiment(study.game, cohort.config, cohort.method)
    seeds = range(cohort.config.seed, cohort.config.seed + cohort.config.seeds)
    folder = RunFolder(out / "runs" / cohort.name)
    report(step.name)
    crowds = [crowd.load(folder, study.game, cohort.config, experiment.agent, seed) for seed in seeds]
    size = landscapes.Size(entry.levels, entry.rollouts)
    found = landscapes.measure(study.game, experiment, size, 0, crowds)
    about = landscapes.about(cohort.name, study.game, cohort.config, size, 0)
    landscape_file.write(step.folder, landscapes.Survey(about, found))


def exploit_step(study: Study, out: Path, games: tuple[Path, ...]) -> Step:
    """Best responses to the students of some cohorts, or of the best."""
    entry = study.exploit
    assert entry is not None
    sources = () if entry.cohorts else games[:1]
    cohorts = tuple(study.named(entry.cohorts))
    make = partial(make_exploit, study, out)
    return Step("exploit", out / "exploit", EXPLOITED, cohorts, entry, make, sources)


def make_exploit(study: Study, out: Path, step: Step, report: Report) -> None:
    """Train them, one student after another; what is there of an interrupted step is kept."""
    entry, results = step.entry, []
    levels = levels_of(study, entry)
    for name in exploited(step):
        cohort = next(c for c in step.cohorts if c.name == name)
        for student in entrants_of(study, out, cohort)[: entry.students]:
            results.append(exploit_one(study, cohort, student, levels, step, report))
    write_file(step.folder / EXPLOITED, json.dumps(results, indent=1).encode())


def exploited(step: Step) -> list[str]:
    """Against whom responses are trained: the cohorts that are named, or the best of a round robin."""
    if not step.sources:
        return [cohort.name for cohort in step.cohorts]
    games = table.read(step.sources[0])
    last = table.select(games, updates=int(games["updates"].max()))
    names = {cohort.name for cohort in step.cohorts}
    best = [row["method"] for row in standings.standings(last) if row["method"] in names]
    return best[: step.entry.best]


def exploit_one(
    study: Study, cohort: Planned, student: Entrant, levels: LevelSet, step: Step, report: Report
) -> dict[str, Any]:
    """The responses to one student: read if they are there, else trained and kept."""
    entry: Exploit = step.entry
    folder = step.folder / f"{cohort.name}-{student.seed}"
    if (folder / EXPLOITED).exists():
        return dict(json.loads((folder / EXPLOITED).read_bytes()))
    folder.mkdir(exist_ok=True)

    def told(updates: int, mean: float | None) -> None:
        report(f"exploit {student.name}: update {updates} of {entry.updates}")

    found, params = exploiters.exploit(
        study.game,
        cohort.config,
        [student.player.params],
        entry.updates,
        entry.seeds,
        levels.levels,
        entry.episodes,
        report=told,
    )
    exploiters.save(folder, cohort.config, [student.name], found, params)
    result = {"cohort": cohort.name, "seed": student.seed, "on": levels.name, **found}
    write_file(folder / EXPLOITED, json.dumps(result, indent=1).encode())
    return result
