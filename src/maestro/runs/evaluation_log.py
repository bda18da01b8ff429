"""Games against fixed opponents along a run: when they are played, what is logged and told of them."""

from typing import Any

import numpy as np

from maestro.config import RunConfig
from maestro.evaluation.statistics import interval
from maestro.runs.metrics_log import MetricsLog


def evaluation_points(config: RunConfig) -> list[int]:
    """Numbers of updates after which the students are evaluated; the last is the end."""
    total, times = config.schedule.total_updates, config.evaluation.times
    return sorted({max(1, round(total * i / times)) for i in range(1, times + 1)}) if times else []


def add(
    log: MetricsLog, config: RunConfig, updates: int, result: dict[str, Any], regret: dict[str, Any]
) -> str:
    """Log each seed's shares, [S, 3], against each opponent, and its landscape; returns the words for it."""
    shares = {name: x.astype(float) for name, x in result.items()}
    games, seeds = config.evaluation.levels, config.seeds
    bounds = {name: interval(x[:, 0], games) for name, x in shares.items()}
    each, won = ({name: np.round(x, 4).tolist() for name, x in d.items()} for d in (shares, bounds))
    more = {"landscape": {name: known(x) for name, x in regret.items()}} if regret else {}
    log.add_evaluation(updates, each, seeds=seeds, games=games, won_95=won, **more)
    told = ", ".join(told_of(name, x.mean(axis=0), bounds[name]) for name, x in shares.items())
    return f"update {updates}: won/drawn/lost against {told}" + f", {seeds} seeds" * (seeds > 1)


def known(values: np.ndarray) -> list[float | None]:
    """Each seed's number; None where it is not known."""
    return [round(float(x), 4) if np.isfinite(x) else None for x in values]


def told_of(opponent: str, shares: np.ndarray, won: np.ndarray) -> str:
    """Shares won, drawn and lost against an opponent, and how sure the first of them is."""
    means = "/".join(f"{share:.2f}" for share in shares)
    return f"{opponent} {means} (won {won[0]:.2f} to {won[1]:.2f})"
