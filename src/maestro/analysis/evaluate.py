"""Students against the opponents of a split: shares, returns, and how bad it gets in the worst cells."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from maestro.analysis.crossplay import CrossPlay, Report
from maestro.analysis.kept import Kept
from maestro.analysis.standings import against, number
from maestro.evaluation import table
from maestro.evaluation.robustness import ALPHA, robustness
from maestro.evaluation.table import Table, select

HALVES = 2  # of the episodes: worst cells are picked by one, and scored by the other


def evaluate(
    what: CrossPlay, report: Report | None = None, kept: Kept | None = None
) -> tuple[dict[str, Any], Table]:
    """(what there is to tell, the table of games); everyone plays everyone of those that are against them."""
    plays = [replace(what.play, first=i * what.play.episodes) for i in range(HALVES)]
    tables = [half(replace(what, play=play), i, report, kept or Kept()) for i, play in enumerate(plays)]
    whole = joined(tables)
    who = list(dict.fromkeys(whole["a"].tolist()))
    found = {
        "levels": what.play.levels.name,
        "games": int(whole["episodes"].sum()),
        "against": against(whole),
        "robustness": {name: robust([select(half, a=name) for half in tables]) for name in who},
    }
    return found, whole


def half(what: CrossPlay, number: int, report: Report | None, kept: Kept) -> Table:
    """The games of one half; those of a pair that are kept are not played again."""
    blocks = []
    for i, block in enumerate(what.blocks):
        name = f"{block.name}, half {number + 1} of {HALVES}"
        told = None if report is None else partial(report, name)
        blocks.append(kept.table(f"{number}-{i:05d}", partial(block.table, what.play, told)))
    return table.concatenate(blocks)


def joined(tables: list[Table]) -> Table:
    """One row in place of the same row of each half: counts are added, means averaged."""
    columns = {name: np.stack([half[name] for half in tables]) for name in tables[0]}
    counts = ("episodes", "wins", "draws", "losses")
    return {
        name: x[0] if name in table.KEY else x.sum(axis=0) if name in counts else x.mean(axis=0)
        for name, x in columns.items()
    }


def robust(tables: list[Table]) -> dict[str, Any]:
    """Mean, worst case and CVaR of the return over levels x opponents, from both halves of the games."""
    seeds = list(dict.fromkeys(tables[0]["a_seed"].tolist()))
    cells = list(dict.fromkeys(zip(tables[0]["level"].tolist(), tables[0]["b"].tolist(), strict=True)))
    values = np.full((len(tables), len(seeds), len(cells)), np.nan)
    for h, half in enumerate(tables):
        for s, seed in enumerate(seeds):
            values[h, s] = cell_means(select(half, a_seed=seed), cells)
    found = robustness(values).estimates()
    told = {
        name: {"value": number(x.value), "low": number(x.low), "high": number(x.high), "seeds": len(seeds)}
        for name, x in found.items()
    }
    return {"cells": len(cells), "alpha": ALPHA, **told}


def cell_means(games: Table, cells: list[tuple[str, str]]) -> np.ndarray:
    """The mean return in each cell, over seats and the opponent's seeds."""
    place = {cell: i for i, cell in enumerate(cells)}
    where = [place[cell] for cell in zip(games["level"].tolist(), games["b"].tolist(), strict=True)]
    total = np.bincount(where, games["a_return"] * games["episodes"], len(cells))
    return total / np.bincount(where, games["episodes"], len(cells))
