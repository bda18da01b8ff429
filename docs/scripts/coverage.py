"""How often 95 % intervals hold the truth, by simulation; writes the table of docs/statistics.md."""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maestro.evaluation import comparison
from maestro.evaluation import resampling as rs
from maestro.evaluation.round_robin import Cube

PAGE = Path(__file__).parent.parent / "statistics.md"
BEGIN, END = "<!-- coverage: made by docs/scripts/coverage.py -->\n\n", "\n\n<!-- end of coverage -->"
SEEDS = (3, 5, 10)
LEVELS = 13
TIMES, DRAWS = 1000, 1000  # simulated studies for each number: 95 % are then known to 0.7 % (standard error)
KINDS = ("normal", "skewed", "shares")
METHODS = 3  # in the simulated round robin
Dice = np.random.Generator


class Case(NamedTuple):
    """A statistic: its truth, its value, and the interval that is recommended for it."""

    truth: Callable[[str], float]
    sample: Callable[[Dice, str, int], Any]
    draws: Callable[[Any, int, int], np.ndarray]
    recommended: Callable[[Any, int, int], tuple[float, float]]


def results(dice: Dice, kind: str, seeds: int, better: float = 0.0) -> np.ndarray:
    """[seeds, LEVELS] of a method: seeds differ, and do more or less well on each level."""
    own, each = dice.normal(size=(seeds, 1)), dice.normal(size=(seeds, LEVELS))
    level = np.linspace(-0.5, 0.5, LEVELS)
    if kind == "normal":
        return own + 0.5 * each + level + better
    if kind == "skewed":
        return np.exp(0.8 * own + 0.3 * each + level) + better
    rate = dice.beta(6 + 6 * better, 2, size=(seeds, 1)) ** np.exp(level)
    return dice.binomial(10, rate) / 10  # shares of ten games


@cache
def many(kind: str, better: float = 0.0) -> np.ndarray:
    """So many seeds that their statistic is the truth."""
    return results(np.random.default_rng(1), kind, 100_000, better)


def mean(x: np.ndarray) -> np.ndarray:
    """Over seeds and levels."""
    return np.mean(x, axis=(-2, -1))


def improvement_truth(kind: str, levels: int) -> float:
    """The probability of improvement of two methods, level by level."""
    x, y = many(kind, 1.0)[:, :levels], np.random.default_rng(2).permutation(many(kind)[:, :levels])
    return float(np.mean((x > y) + 0.5 * (x == y)))


def played(dice: Dice, kind: str, seeds: int) -> Cube:
    """A round robin: the first method is better by 1 (in units of the seeds' skills) than all others."""
    skill = np.stack([results(dice, kind, seeds, float(m == 0)) for m in range(METHODS)])
    noise = 0.5 * dice.normal(size=(METHODS, seeds) * 2 + (LEVELS,))
    luck = noise - np.transpose(noise, (2, 3, 0, 1, 4))
    values = skill[:, :, None, None] - skill[None, None] + luck
    names = tuple(f"method {m}" for m in range(METHODS))
    return Cube(names, (tuple(range(seeds)),) * METHODS, tuple(f"level {i}" for i in range(LEVELS)), values)


def ahead(cube: Cube, draws: int, seed: int) -> np.ndarray:
    """Differences in round robin with the seeds of all methods drawn anew at once."""
    dice, n = np.random.default_rng(seed), cube.values.shape[1]
    counts = dice.multinomial(n, np.full(n, 1 / n), (draws, METHODS)).astype(float)
    found = comparison.round_robins(cube, counts)
    return found[:, 0] - found[:, 1]


def ahead_truth(kind: str) -> float:
    """Each is ahead by its skill; and in round robin by what the other loses to it besides."""
    return float(many(kind, 1.0).mean() - many(kind).mean()) * METHODS / (METHODS - 1)


def one(statistic: Callable[..., np.ndarray]) -> dict[str, Any]:
    """Sample and draws of a statistic of a single method."""

    def draws(x: np.ndarray, draws: int, seed: int) -> np.ndarray:
        return rs.stratified_bootstrap([x], statistic, draws, seed)

    return {"sample": results, "draws": draws}


def improvement(levels: int) -> Case:
    """A better method against another, on so many levels."""
    return Case(
        truth=lambda kind: improvement_truth(kind, levels),
        sample=lambda dice, kind, n: [results(dice, kind, n, better)[:, :levels] for better in (1.0, 0.0)],
        draws=lambda x, draws, seed: rs.stratified_bootstrap(x, rs.probability_of_improvement, draws, seed),
        recommended=lambda x, draws, seed: rs.improvement_interval(*x)[1:3],
    )


CASES = {
    "mean": Case(
        truth=lambda kind: float(mean(many(kind))),
        recommended=lambda x, draws, seed: rs.student_interval(x.mean(axis=1)),
        **one(mean),
    ),
    "interquartile mean": Case(
        truth=lambda kind: float(rs.interquartile_mean(many(kind))),
        recommended=lambda x, *dice: rs.stratified_interval([x], rs.interquartile_mean, *dice)[1:3],
        **one(rs.interquartile_mean),
    ),
    "probability of improvement": improvement(LEVELS),
    "the same, on one level": improvement(1),
    "difference in round robin": Case(
        truth=ahead_truth,
        sample=played,
        draws=ahead,
        recommended=lambda x, *dice: comparison.difference(x, "method 0", "method 1", *dice)[1:3],
    ),
}


def covered(name: str, kind: str, seeds: int, times: int = TIMES, draws: int = DRAWS) -> list[float]:
    """How often the interval holds the truth: percentile, expanded percentile, recommended."""
    case, dice = CASES[name], np.random.default_rng([len(name), len(kind), seeds])
    truth, held = case.truth(kind), np.zeros(3)
    for time in range(times):
        x = case.sample(dice, kind, seeds)
        drawn = case.draws(x, draws, time)
        usual = rs.percentile(drawn), rs.expanded_percentile(drawn, seeds)
        held += [low <= truth <= high for low, high in (*usual, case.recommended(x, draws, time))]
    return (held / times).tolist()


def table() -> str:
    """Coverage in percent; in a cell 3, 5 and 10 seeds."""
    rows = ["| statistic | data | percentile | expanded | recommended |", "|---|---|---|---|---|"]
    for name, kind in product(CASES, KINDS):
        found = zip(*(covered(name, kind, seeds) for seeds in SEEDS), strict=True)
        cells = [" / ".join(f"{100 * share:.1f}" for share in shares) for shares in found]
        rows.append(f"| {name} | {kind} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    made = table()
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + made + END + rest.split(END)[1])
