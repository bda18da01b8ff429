"""What rows of estimated and true regret say together: means by kind of level, and rank correlations."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from maestro.analysis.true_regret import Row
from maestro.evaluation.ranks import rank_correlation
from maestro.evaluation.resampling import student_interval
from maestro.evaluation.statistics import finite_mean
from maestro.evaluation.true_regret import KINDS
from maestro.regret import SCORES

MEANS = ("student_return", "student_won", "response_return", "response_won", "true_regret")
SETS = {"all": KINDS, "random": ("random",)}


def column(rows: Iterable[Row], name: str) -> np.ndarray:
    """One number of each row, by its name or by that of its score."""
    found = [row[name] if name in row else row["estimates"][name] for row in rows]
    return np.array([np.nan if value is None else value for value in found], float)


def names(rows: list[Row]) -> list[str]:
    """The scores that were estimated, as the table of scores has them."""
    known = list(rows[0]["estimates"])
    return [name for name in ("stored", *SCORES) if name in known]


def seeds_of(rows: list[Row]) -> list[list[Row]]:
    """The rows of each seed."""
    return [[row for row in rows if row["seed"] == seed] for seed in sorted({row["seed"] for row in rows})]


def by_kind(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """Means over the levels of each kind; the interval is over seeds, or over the levels of a single one."""
    return {kind: mean_of([row for row in rows if row["kind"] == kind]) for kind in KINDS}


def mean_of(rows: list[Row]) -> dict[str, Any]:
    """Means over some levels, seeds weighing alike."""
    seeds = seeds_of(rows)
    told: dict[str, Any] = {"levels": len(rows), "seeds": len(seeds)}
    for name in (*names(rows), *MEANS):
        each = [finite_mean(column(own, name)) for own in seeds]
        told[name] = finite_mean(np.array([np.nan if x is None else x for x in each]))
    known = [float(column(own, "true_regret").mean()) for own in seeds]
    units = np.array(known) if len(seeds) > 1 else column(rows, "true_regret")
    told["true_regret_95"] = [float(end) for end in student_interval(units)]
    return {**told, "units": "seeds" if len(seeds) > 1 else "levels"}


def correlations(rows: list[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """Spearman's correlation of each score with true regret, over all levels and over the random ones."""
    return {
        name: {
            where: correlation([row for row in rows if row["kind"] in kinds], name)
            for where, kinds in SETS.items()
        }
        for name in names(rows)
    }


def correlation(rows: list[Row], name: str) -> dict[str, Any]:
    """The mean over seeds with Student's interval; of a single known one the bootstrap's over its levels."""
    found = np.array([of_seed(own, name) for own in seeds_of(rows)])
    known = found[~np.isnan(found[:, 0])]
    if len(known) != 1:
        low, high = (float(np.clip(end, -1, 1)) for end in student_interval(known[:, 0]))
        value = float(known[:, 0].mean()) if len(known) else float("nan")
    else:
        value, low, high = known[0].tolist()
    units = "levels" if len(found) == 1 or len(known) == 1 else "seeds"
    return {"value": value, "low_95": low, "high_95": high, "units": units, "seeds": len(known)}


def of_seed(rows: list[Row], name: str) -> tuple[float, float, float]:
    """The correlation over one seed's levels; they were picked member by member and kind by kind."""
    strata = [row["member"] * len(KINDS) + KINDS.index(row["kind"]) for row in rows]
    return rank_correlation(column(rows, name), column(rows, "true_regret"), np.array(strata, int))
