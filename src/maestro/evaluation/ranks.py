"""Rank correlation with an interval over what was ranked."""

import numpy as np
from jaxtyping import Float, Int

from maestro.evaluation.resampling import DRAWS, percentile


def spearman(x: Float[np.ndarray, "*b L"], y: Float[np.ndarray, "*b L"]) -> Float[np.ndarray, "*b"]:
    """Spearman's correlation along the last axis, equals sharing a rank; NaN where all are equal."""
    from scipy.stats import rankdata  # slow to load

    a, b = (rankdata(values, axis=-1) for values in (x, y))
    a, b = (ranks - ranks.mean(axis=-1, keepdims=True) for ranks in (a, b))
    spread = np.sqrt(np.sum(a * a, axis=-1) * np.sum(b * b, axis=-1))
    known = spread > 0
    return np.asarray(np.where(known, np.sum(a * b, axis=-1) / np.where(known, spread, 1.0), np.nan))


def rank_correlation(
    x: Float[np.ndarray, " L"], y: Float[np.ndarray, " L"], strata: Int[np.ndarray, " L"], seed: int = 0
) -> tuple[float, float, float]:
    """(Spearman's correlation, the ends of its 95 % interval) by a bootstrap of the levels.

    Levels are drawn anew within each stratum, as they were picked; draws in which all are equal say
    nothing and are left out. Pairs of which one is not known do not count.
    """
    known = ~np.isnan(x) & ~np.isnan(y)
    x, y, strata = x[known], y[known], strata[known]
    if x.size < 3:
        return np.nan, np.nan, np.nan
    value, draws = float(spearman(x, y)), redrawn(strata, seed)
    found = spearman(x[draws], y[draws])
    found = found[~np.isnan(found)]
    if np.isnan(value) or not found.size:
        return value, np.nan, np.nan
    low, high = percentile(found)
    return value, float(low), float(high)


def redrawn(strata: Int[np.ndarray, " L"], seed: int) -> Int[np.ndarray, "D L"]:
    """So many samples of places, as many of each stratum as there are."""
    dice, draws = np.random.default_rng(seed), np.zeros((DRAWS, strata.size), int)
    for stratum in np.unique(strata):
        places = np.flatnonzero(strata == stratum)
        draws[:, places] = places[dice.integers(places.size, size=(DRAWS, places.size))]
    return draws
