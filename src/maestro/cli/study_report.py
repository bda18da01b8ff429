"""A study in words: what there is to do, what came out, and what is left."""

from pathlib import Path

import jax

from maestro.analysis.study import pace
from maestro.analysis.study.drawings import DRAWN
from maestro.analysis.study.games import RANKING, read_ranking
from maestro.analysis.study.pace import Pace
from maestro.analysis.study.run_folders import Standing
from maestro.analysis.study.steps import Step
from maestro.cli.progress import roughly
from maestro.cli.table import lines, width
from maestro.evaluation.table import SHARES
from maestro.runs import folder as run_folder
from maestro.runs import lock


def overview(standings: list[Standing], steps: list[Step], out: Path) -> list[str]:
    """A table of the cohorts, and a line for each step."""
    rows = [
        {
            "cohort": one.planned.name,
            "seeds": str(one.planned.config.seeds),
            "updates": f"{one.updates}/{one.planned.config.schedule.total_updates}",
            "state": one.state,
        }
        for one in standings
    ]
    made = [f"{step.name}: {'done' if step.is_done(out) else 'to do'}" for step in steps]
    spent = pace.spent(standings)
    return [*lines(rows, width()), *made] + [f"trained for {roughly(spent)} so far"] * (spent > 0)


def left(
    cohorts: list[Standing], steps: list[Step], known: list[Pace], failed: dict[str, str], maker: str = ""
) -> list[str]:
    """A line for each thing that is left: the time that it may take, who is at it, why it failed."""
    device, found = jax.devices()[0].device_kind, []
    why = {name: f"; failed: {reason}" for name, reason in failed.items()}
    for one in cohorts:
        name, need = one.planned.name, pace.seconds(one, known, device)
        made = f" (at update {one.updates} of {one.updates + one.left})" * (one.updates > 0)
        time = f", about {roughly(need)}" if need else ""
        busy = f", {holder} works on it" if (holder := lock.holder(one.folder.path)) else ""
        found.append(f"  {name}{made}{time}{busy}{why.get(name, '')}")
    busy = f", {maker} makes what is ready" * bool(maker)
    return found + [f"  {step.name}{busy}{why.get(step.name, '')}" for step in steps]


def result(step: Step) -> list[str]:
    """A ranking, or which figures could not be drawn."""
    if step.result == DRAWN:
        missing = run_folder.read_json(step.folder / DRAWN).get("not drawn", {})
        return [f"  not drawn: {name}: {why}" for name, why in missing.items()]
    if step.result != RANKING:
        return []
    rows = read_ranking(step.folder / RANKING)
    title = f"by mean return on the {rows[0]['split']} split, best first:"
    return [title, *lines([row_of(row) for row in rows], width())]


def row_of(row: dict[str, str]) -> dict[str, str]:
    """A row of a ranking in words."""
    ends = f"{float(row['low']):+.3f} to {float(row['high']):+.3f}" if row["low"] else ""
    own = {"cohort": row["method"], "seeds": row["seeds"], "return": f"{float(row['return']):+.3f}"}
    shares = {name: f"{float(row[name]):.1%}" for name in SHARES}
    return {**own, "95 %": ends, **shares}
