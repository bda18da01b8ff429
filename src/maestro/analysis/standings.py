"""A table of games -> who stands where: the round robin of the paper, and results against opponents."""

from typing import Any

import numpy as np

from maestro.evaluation import resampling, round_robin
from maestro.evaluation.table import SHARES, Table, extras, select


def number(x: Any) -> float | None:
    """A number for JSON; None if it is not known."""
    return float(x) if np.isfinite(x) else None


def summary(values: np.ndarray) -> dict[str, Any]:
    """Mean, standard error and interval over seeds, [S]."""
    mean, error, seeds = (x[0] for x in round_robin.mean_error(values[None]))
    low, high = (x[0] for x in resampling.student_interval(values[None]))
    return {
        "seeds": int(seeds),
        "return": number(mean),
        "error": number(error),
        "low": number(low),
        "high": number(high),
    }


def interval(values: np.ndarray) -> dict[str, Any]:
    """Mean and interval over seeds, [S], of a number of the game's own."""
    low, high = (x[0] for x in resampling.student_interval(values[None]))
    mean = round_robin.mean_error(values[None])[0][0]
    return {"mean": number(mean), "low": number(low), "high": number(high)}


def standings(table: Table) -> list[dict[str, Any]]:
    """The round robin, best first: each method's mean over all others, by seeds."""
    cubes = {name: round_robin.cube(table, name) for name in ("return", *SHARES)}
    cube = cubes["return"]
    values = round_robin.round_robin(cube)
    scaled, _ = round_robin.normalized(round_robin.per_level(cube))
    shares = {name: round_robin.mean_error(round_robin.round_robin(cubes[name]))[0] for name in SHARES}
    own = {name: round_robin.round_robin(round_robin.cube(table, name)) for name in extras(table)}
    rows = [
        {
            "method": method,
            **summary(values[i]),
            **{name: number(shares[name][i]) for name in SHARES},
            "normalized": number(np.nanmean(scaled[i])) if np.isfinite(scaled[i]).any() else None,
            "own": {name: interval(found[i]) for name, found in own.items()},
        }
        for i, method in enumerate(cube.methods)
    ]
    return sorted(rows, key=lambda row: -(row["return"] if row["return"] is not None else -np.inf))


def against(table: Table) -> list[dict[str, Any]]:
    """Each method against each opponent of its own: seeds are the units."""
    found = []
    for a in dict.fromkeys(table["a"].tolist()):
        for b in dict.fromkeys(select(table, a=a)["b"].tolist()):
            games = select(table, a=a, b=b)
            seeds = [select(games, a_seed=seed) for seed in dict.fromkeys(games["a_seed"].tolist())]
            means = {
                name: np.array([np.average(g[f"a_{name}"], weights=g["episodes"]) for g in seeds])
                for name in ("return", *extras(table))
            }
            counts = {"won": "wins", "drawn": "draws", "lost": "losses"}
            each = {
                name: np.array([g[column].sum() / g["episodes"].sum() for g in seeds])
                for name, column in counts.items()
            }
            shares = {name: float(x.mean()) for name, x in each.items()}
            found.append(
                {
                    "who": a,
                    "against": b,
                    **summary(means.pop("return")),
                    **shares,
                    "won_by_seed": each["won"].tolist(),
                    "games": int(games["episodes"].sum()),
                    "own": {name: interval(values) for name, values in means.items()},
                }
            )
    return found
