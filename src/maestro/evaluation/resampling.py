"""How far statistics over few seeds can be trusted (Agarwal et al. 2021; Hesterberg 2015; Newcombe 2006)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from maestro.evaluation.round_robin import Numbers, divided, mean_error, mean_of
from maestro.evaluation.statistics import CONFIDENCE

DRAWS = 2000  # samples of a bootstrap
HALVINGS = 50  # of the range in which an end of an interval is sought

Ends = tuple[np.ndarray, np.ndarray]  # low, high


class Estimate(NamedTuple):
    """A value, its 95 % confidence interval, and how many seeds of each method it is made of."""

    value: float
    low: float
    high: float
    seeds: tuple[int, ...]


def interquartile_mean(values: Float[np.ndarray, "*b S L"] | Float[np.ndarray, " S"]) -> np.ndarray:
    """The mean of the middle half of all seeds x levels; a value at an edge counts by its part inside."""
    values = with_levels(values)
    ordered = np.sort(values.reshape(*values.shape[:-2], -1), axis=-1)  # NaN comes last
    count = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    rank = np.arange(ordered.shape[-1])
    inside = np.clip(np.minimum(rank + 1, 0.75 * count) - np.maximum(rank, 0.25 * count), 0, None)
    return divided(np.sum(np.nan_to_num(ordered) * inside, axis=-1), count[..., 0] / 2)


def with_levels(values: np.ndarray) -> np.ndarray:
    """[..., S, L] as it is; [S] as on a single level."""
    return values[:, None] if values.ndim == 1 else values


def probability_of_improvement(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """P(x > y) + P(x = y) / 2 of a seed of x and one of y, [..., S, L] or [S]; mean over levels."""
    x, y = with_levels(x), with_levels(y)
    better, pairs = np.zeros(()), np.zeros(())
    for seed in range(x.shape[-2]):
        one = x[..., seed, None, :]
        better = better + np.sum((one > y) + 0.5 * (one == y), axis=-2)
        pairs = pairs + np.sum(~np.isnan(one + y), axis=-2)
    return mean_of(divided(better, pairs), axis=-1)


def stratified_bootstrap(
    values: Sequence[np.ndarray], statistic: Callable[..., np.ndarray], draws: int = DRAWS, seed: int = 0
) -> Float[np.ndarray, " D"]:
    """The statistic of methods, [S, L] or [S] each, whose seeds are drawn anew within each; levels are kept.

    `statistic` takes as many arrays [draws, S, L] and returns [draws].
    """
    dice, samples = np.random.default_rng(seed), []
    for own in map(present, values):
        samples.append(own[dice.integers(len(own), size=(draws, len(own)))])
    return statistic(*samples)


def present(values: np.ndarray) -> Float[np.ndarray, "S L"]:
    """The seeds that have played at all."""
    rows = with_levels(values)
    own = rows[~np.all(np.isnan(rows), axis=-1)]
    if not len(own):
        raise ValueError("a method without seeds cannot be drawn anew")
    return own


def percentile(draws: Float[np.ndarray, "D ..."], share: float = CONFIDENCE) -> Ends:
    """The middle share of the draws; too narrow for few seeds."""
    low, high = np.quantile(draws, [(1 - share) / 2, (1 + share) / 2], axis=0)
    return np.asarray(low), np.asarray(high)


def expanded_percentile(draws: Float[np.ndarray, "D ..."], seeds: int) -> Ends:
    """Percentiles so far out that for a mean of many normal seeds they are Student's; not for three seeds.

    Phi(t sqrt(n / (n - 1))) in place of 2.5 %, t < 0 being Student's of n - 1 degrees of freedom.
    """
    from scipy.stats import norm  # slow to load

    if seeds < 2:
        raise ValueError(f"{seeds} seed: an interval over seeds needs two")
    outside = norm.cdf(-student_t(seeds - 1) * np.sqrt(seeds / (seeds - 1)))
    return percentile(draws, float(1 - 2 * outside))


def student_t(degrees: Numbers | float | int) -> np.ndarray:
    """Student's quantile for so many degrees of freedom; NaN for none."""
    from scipy.stats import t  # slow to load

    return np.where(np.greater(degrees, 0), t.ppf((1 + CONFIDENCE) / 2, np.maximum(degrees, 1)), np.nan)


def student_interval(values: Float[np.ndarray, "*b S"]) -> Ends:
    """A 95 % interval of the mean over the seeds that are there; NaN for fewer than two."""
    mean, error, seeds = mean_error(values)
    half = student_t(seeds - 1) * error
    return np.asarray(mean - half), np.asarray(mean + half)


def welch(value: float, variances: Sequence[float], seeds: Sequence[int]) -> tuple[float, float]:
    """Student's interval of a statistic, each method's seeds adding a variance of so many degrees of freedom.

    A method of one seed is taken as fixed, as a scripted player is; without any other there is no interval.
    """
    drawn = [(variance, n - 1) for variance, n in zip(variances, seeds, strict=True) if n > 1]
    total = sum(variance for variance, _ in drawn)
    if not drawn or total == 0:
        return (value, value) if drawn else (np.nan, np.nan)
    degrees = total**2 / sum(variance**2 / freedom for variance, freedom in drawn)
    half = float(student_t(degrees)) * float(np.sqrt(total))
    return value - half, value + half


def stratified_interval(
    values: Sequence[np.ndarray], statistic: Callable[..., np.ndarray], draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Student's interval with the standard error of the bootstrap, times sqrt(n / (n - 1)), for few seeds.

    The seeds of one method are drawn at a time, and the variances added (Welch, for the degrees of freedom).
    """
    own = [present(one) for one in values]
    value = float(statistic(*(one[None] for one in own))[0])
    seeds, variances = tuple(map(len, own)), []
    for i, n in enumerate(seeds):
        drawn = stratified_bootstrap(
            [own[i]], lambda x, i=i: statistic(*own[:i], x, *own[i + 1 :]), draws, seed + i
        )
        variances.append(float(np.var(drawn)) * n / max(n - 1, 1))
    return Estimate(value, *welch(value, variances, seeds), seeds)


def improvement_interval(x: np.ndarray, y: np.ndarray) -> Estimate:
    """The probability of improvement with Newcombe's score interval (2006, method 5), as on one level."""
    from scipy.stats import norm  # slow to load

    x, y = present(x), present(y)
    m, n = len(x), len(y)
    value = float(probability_of_improvement(x, y))
    z, extra = float(norm.ppf((1 + CONFIDENCE) / 2)), (m + n) / 2 - 1

    def holds(p: float) -> bool:
        variance = p * (1 - p) * (1 + extra * (1 - p) / (2 - p) + extra * p / (1 + p)) / (m * n)
        return (p - value) ** 2 <= z**2 * variance

    return Estimate(value, farthest(holds, value, 0.0), farthest(holds, value, 1.0), (m, n))


def farthest(holds: Callable[[float], bool], inside: float, end: float) -> float:
    """The last value on the way to an end that still belongs to an interval."""
    if holds(end):
        return end
    for _ in range(HALVINGS):
        middle = (inside + end) / 2
        inside, end = (middle, end) if holds(middle) else (inside, middle)
    return inside
