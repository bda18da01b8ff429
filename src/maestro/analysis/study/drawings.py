"""The figures of a study."""

import json
from functools import partial
from pathlib import Path

from maestro.analysis import figures
from maestro.analysis.study.plan import ALL, Study
from maestro.analysis.study.steps import Report, Step
from maestro.runs.files import write_file

DRAWN = "drawn.json"


def figures_step(study: Study, out: Path, before: list[Step]) -> Step:
    """All figures, of all that was made before."""
    sources = tuple(step.folder / step.result for step in before)
    make = partial(make_figures, study, out, [step.folder for step in before])
    return Step("figures", out / "figures", DRAWN, study.cohorts, study.top, make, sources)


def make_figures(study: Study, out: Path, made: list[Path], step: Step, report: Report) -> None:
    """Draw all that is asked for; of all figures, those that can be drawn."""
    asked = study.top.figures
    names = list(figures.KINDS) if ALL in asked else list(asked)
    drawn: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        report(f"figure {number} of {len(names)}: {name}")
        try:
            drawn[name] = draw(name, study, out, made, step.folder)
        except figures.FigureError as error:
            reasons[name] = str(error)
    if reasons and ALL not in asked:
        raise ValueError("; ".join(f"{name}: {why}" for name, why in reasons.items()))
    content = {"drawn": drawn, "not drawn": reasons}
    write_file(step.folder / DRAWN, json.dumps(content, indent=1).encode())


def draw(name: str, study: Study, out: Path, made: list[Path], folder: Path) -> list[str]:
    """The files of one figure: of the runs and landscapes, or else of each cross-play."""
    plays = [path for path in made if path.parent == out / "crossplay"]
    runs = [out / "runs" / cohort.name for cohort in study.cohorts]
    runs += [path for path in made if path.parent == out / "landscape"]
    places = [(folder, runs), *((folder / play.name, [play, *runs]) for play in plays)]
    problems = []
    files: list[Path] = []
    for place, paths in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            files += figures.draw(name, paths, place)
            if place == folder:
                break
        except figures.FigureError as error:
            problems.append(error)
    if not files:
        raise problems[-1]
    return [str(path.relative_to(folder)) for path in files]
