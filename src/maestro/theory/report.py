"""Everything that is shown of the theory: computed in turn, then told as rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maestro.theory import condition, convergence, table_1
from maestro.theory.condition import Counterexample, Gaps
from maestro.theory.convergence import Excess
from maestro.theory.table_1 import COPLAYERS, LEVELS, Table1
from maestro.theory.tabular import TABLE_1

SOLVED = 100  # random games that are only solved, not learned
Row = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """What `maestro theory` finds out."""

    table_1: Table1
    counterexample: Counterexample
    gaps: list[Gaps]
    teachers: list[Excess]
    populations: list[Excess]


def compute(seed: int, games: int, steps: int, doing: Callable[[str], None]) -> Findings:
    """All of it; `doing` hears what comes next."""
    doing("Table 1: the teacher chooses among its pairs")
    table = table_1.run(seed)
    doing("linear programs: equilibria and their gaps")
    gaps, example = condition.random_gaps(seed, SOLVED), condition.counterexample()
    doing(f"teachers: {steps:,} steps of the loop on {games} games, seen, half seen and hidden")
    taught = convergence.teachers(seed, games, steps)
    doing(f"populations: {steps:,} steps of the loop on {games} win-or-lose games, seen and hidden")
    return Findings(table, example, gaps, taught, convergence.populations(seed, games, steps))


def ends(excesses: list[Excess]) -> list[Row]:
    """A row for each way to teach: where its students end, compared with the first way in the same view."""
    first = {found.view: found for found in reversed(excesses)}
    return [
        {
            "level": found.view,
            "teacher": found.name,
            "games": len(found.end),
            "median": float(np.median(found.end)),
            "least": float(found.end.min()),
            "most": float(found.end.max()),
            "worse than first": found.worse_than(first[found.view]),
        }
        for found in excesses
    ]


def curves(excesses: list[Excess]) -> list[Row]:
    """The curves at a few steps: median and quartiles over games."""
    rows = []
    for found in excesses:
        for step in convergence.marks(found.curves.shape[1]):
            low, middle, high = np.quantile(found.curves[:, step - 1], [0.25, 0.5, 0.75])
            place = {"level": found.view, "teacher": found.name, "step": int(step)}
            rows.append(place | {"median": float(middle), "lower": float(low), "upper": float(high)})
    return rows


def gap_rows(gaps: list[Gaps]) -> list[Row]:
    """Every random game that was solved, with its distance from equilibrium."""
    return [
        {"condition": found.condition, "level": found.view, "game": number, "gap": float(gap)}
        for found in gaps
        for number, gap in enumerate(found.nash)
    ]


def table_rows(found: Table1) -> list[Row]:
    """Table 1, with the share of steps in which the teacher served each pair."""
    return [
        {"co-player": name, "level": level, "regret": float(regret), "served": float(share)}
        for name, regrets, shares in zip(COPLAYERS, TABLE_1, found.served, strict=True)
        for level, regret, share in zip(LEVELS, regrets, shares, strict=True)
    ]
