"""Worst case and CVaR over cells, a cell being a level with a held-out co-player."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from maestro.evaluation.resampling import Estimate, student_interval
from maestro.evaluation.round_robin import divided, mean_error, mean_of

ALPHA = 0.1  # the share of cells that CVaR is about
Halves = Float[np.ndarray, "2 S C"]  # each cell's mean over one half of its episodes, and over the other


@dataclass(frozen=True)
class Robustness:
    """Results of each seed; those named naive pick the worst cells and score them on the same episodes."""

    mean: Float[np.ndarray, " S"]
    worst: Float[np.ndarray, " S"]
    cvar: Float[np.ndarray, " S"]
    naive_worst: Float[np.ndarray, " S"]
    naive_cvar: Float[np.ndarray, " S"]

    def estimates(self) -> dict[str, Estimate]:
        """Means over seeds with Student's intervals."""
        found = {}
        for name, values in vars(self).items():
            mean, _, seeds = mean_error(values)
            low, high = student_interval(values)
            found[name] = Estimate(float(mean), float(low), float(high), (int(seeds),))
        return found


def halves(results: Float[np.ndarray, "S C N"]) -> Halves:
    """Every other episode of each cell goes to the same half: even ones, odd ones. NaN is no episode."""
    return np.stack([mean_of(results[..., i::2], axis=-1) for i in range(2)])


def robustness(halves: Halves, alpha: float = ALPHA) -> Robustness:
    """Mean, worst case, CVaR of each seed; cells are picked on one half, scored on the other, both ways."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha = {alpha}: the share of cells must be above 0 and at most 1")
    halves = np.where(np.isnan(halves).any(axis=0), np.nan, halves)  # a cell needs both
    whole = mean_of(halves, axis=0)
    swapped = halves[::-1]
    return Robustness(
        mean=mean_of(whole, axis=-1),
        worst=mean_of(scored(halves, swapped, 0.0), axis=0),
        cvar=mean_of(scored(halves, swapped, alpha), axis=0),
        naive_worst=scored(whole, whole, 0.0),
        naive_cvar=scored(whole, whole, alpha),
    )


def scored(
    picked_by: Float[np.ndarray, "*b C"], by: Float[np.ndarray, "*b C"], alpha: float
) -> Float[np.ndarray, "*b"]:
    """The mean of the worst share of cells according to the first, by the values of the second."""
    rows = [tail_weights(row, alpha) for row in picked_by.reshape(-1, picked_by.shape[-1])]
    weights = np.array(rows).reshape(picked_by.shape)
    return divided(np.sum(weights * np.nan_to_num(by), axis=-1), np.sum(weights, axis=-1))


def tail_weights(values: Float[np.ndarray, " C"], alpha: float) -> Float[np.ndarray, " C"]:
    """1 for each of the worst alpha C cells, at least one; a fraction at the edge; equal cells share."""
    there = ~np.isnan(values)
    worst = max(alpha * np.sum(there), 1.0)
    by_rank = np.clip(worst - np.arange(np.sum(there)), 0, 1)
    _, group, sizes = np.unique(values[there], return_inverse=True, return_counts=True)
    shared = np.bincount(np.sort(group), by_rank, len(sizes)) / sizes
    weights = np.zeros(values.shape)
    weights[there] = shared[group]
    return weights
