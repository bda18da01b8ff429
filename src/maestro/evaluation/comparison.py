"""Is one method better than another? Intervals over the seeds of all who played."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from maestro.evaluation.resampling import DRAWS, Estimate, welch
from maestro.evaluation.round_robin import Cube, divided, mean_of, others

Counts = np.ndarray  # [D, A, S]: how often each seed of each method is drawn


def estimate(cube: Cube, statistic: Callable[[Counts], np.ndarray], draws: int, seed: int) -> Estimate:
    """A statistic of the table: the seeds of one method are drawn anew at a time, and the variances added."""
    value = float(statistic(once(cube, 1))[0])
    dice, sizes, variances = np.random.default_rng(seed), list(map(len, cube.seeds)), []
    for i, n in enumerate(sizes):
        counts = once(cube, draws)
        counts[:, i, :n] = dice.multinomial(n, np.full(n, 1 / n), draws)
        variances.append(float(np.var(statistic(counts))) * n / max(n - 1, 1))
    return Estimate(value, *welch(value, variances, sizes), tuple(sizes))


def once(cube: Cube, draws: int) -> Counts:
    """Every seed drawn once."""
    width = cube.values.shape[1]
    exists = np.arange(width) < np.array([len(own) for own in cube.seeds])[:, None]
    return np.repeat(exists[None].astype(float), draws, axis=0)


def round_robins(cube: Cube, counts: Counts) -> Float[np.ndarray, "D A"]:
    """Round robin of all methods for seeds drawn so often."""
    values = others(cube)
    there = ~np.isnan(values)
    total, number = np.sum(values, -1, where=there), np.sum(there, -1, dtype=float)
    against = [np.einsum("asbt,dbt->dasb", part, counts, optimize=True) for part in (total, number)]
    return weighted(mean_of(divided(*against), axis=-1), counts)


def weighted(values: Float[np.ndarray, "D A S"], counts: Counts) -> Float[np.ndarray, "D A"]:
    """The mean over seeds, each as often as it was drawn."""
    there = counts * ~np.isnan(values)
    return divided(np.sum(np.nan_to_num(values) * there, -1), np.sum(there, -1))


def round_robin_estimate(cube: Cube, method: str, draws: int = DRAWS, seed: int = 0) -> Estimate:
    """A method's round robin; its opponents' seeds are drawn anew too."""
    i = cube.index(method)
    found = estimate(cube, lambda counts: round_robins(cube, counts)[:, i], draws, seed)
    return found._replace(seeds=(len(cube.seeds[i]),))


def difference(cube: Cube, a: str, b: str, draws: int = DRAWS, seed: int = 0) -> Estimate:
    """By how much a is ahead of b in round robin."""
    i, j = cube.index(a), cube.index(b)

    def ahead(counts: Counts) -> np.ndarray:
        results = round_robins(cube, counts)
        return results[:, i] - results[:, j]

    found = estimate(cube, ahead, draws, seed)
    return found._replace(seeds=(len(cube.seeds[i]), len(cube.seeds[j])))


def one_to_one_estimate(cube: Cube, a: str, b: str, draws: int = DRAWS, seed: int = 0) -> Estimate:
    """a against b alone, over the seeds of both."""
    pair = [cube.index(a), cube.index(b)]
    seeds = tuple(cube.seeds[i] for i in pair)
    two = Cube((a, b), seeds, cube.levels, cube.values[np.ix_(pair, range(cube.values.shape[1]), pair)])
    return estimate(two, lambda counts: round_robins(two, counts)[:, 0], draws, seed)
