"""What comes after the training of a study, in order."""

from pathlib import Path
from typing import Literal

from maestro.analysis.study.drawings import figures_step
from maestro.analysis.study.entries import Evaluate
from maestro.analysis.study.games import TABLE, crossplay_step, ranking_step
from maestro.analysis.study.measures import exploit_step, landscape_step
from maestro.analysis.study.plan import Study
from maestro.analysis.study.steps import Step

VALIDATION: Literal["validation"] = "validation"


def steps(study: Study, out: Path) -> list[Step]:
    """All that comes after training, in order."""
    found = [crossplay_step(study, out, entry) for entry in study.crossplays]
    games = tuple(step.folder / TABLE for step in found)
    found += [ranking_step(study, out, *entry) for entry in rankings(study)]
    if study.landscape is not None:
        found += [landscape_step(study, out, c) for c in study.named(study.landscape.cohorts)]
    if study.exploit is not None:
        found.append(exploit_step(study, out, games))
    if study.top.figures:
        found.append(figures_step(study, out, found))
    return found


def rankings(study: Study) -> list[tuple[str, Evaluate]]:
    """(folder, what is measured): what the file asks for, and a selection on validation for grids."""
    asked = [(f"evaluate/{study.evaluate.split}", study.evaluate)] if study.evaluate is not None else []
    points = tuple(cohort.name for cohort in study.cohorts if cohort.grid)
    possible = points and VALIDATION in study.game.splits
    return asked + ([("select", Evaluate(VALIDATION, points))] if possible else [])
