"""Shares, and the interval that goes with a share: how often it holds the truth."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from maestro.evaluation.statistics import interval

Z = norm.ppf(0.975)
TIMES = 20_000  # runs of a simulation: 95 % are then known to 0.15 %


def of_one(successes: int, games: int) -> list[float]:
    """The interval of a single seed."""
    return interval(np.array([successes / games]), games).tolist()


@pytest.mark.parametrize(
    ("successes", "games"), [(1, 2), (3, 10), (250, 500), (499, 500), (17, 1000), (70, 71)]
)
def test_the_interval_of_one_seed_is_wilsons_at_95_percent(successes: int, games: int) -> None:
    share = successes / games
    middle = (share + Z**2 / (2 * games)) / (1 + Z**2 / games)
    half = Z * math.sqrt(share * (1 - share) / games + Z**2 / (4 * games**2)) / (1 + Z**2 / games)
    assert of_one(successes, games) == pytest.approx([middle - half, middle + half], rel=1e-12)


@pytest.mark.parametrize("games", [1, 10, 500])
def test_at_the_ends_the_interval_stays_within_0_and_1(games: int) -> None:
    beyond = Z**2 / (games + Z**2)
    assert of_one(0, games) == pytest.approx([0.0, beyond], abs=1e-12)
    assert of_one(games, games) == pytest.approx([1 - beyond, 1.0], abs=1e-12)
    assert of_one(0, games)[0] >= 0 and of_one(games, games)[1] <= 1


def simulated(a: float, b: float, seeds: int, games: int) -> np.ndarray:
    """[TIMES, seeds]: shares won of games by students whose true rates follow a beta distribution."""
    random = np.random.default_rng([int(a * 10), int(b * 10), seeds, games])
    return random.binomial(games, random.beta(a, b, (TIMES, seeds))) / games


def covered(bounds: np.ndarray, truth: float) -> float:
    """How often an interval holds the mean of the distribution."""
    return float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])))


RATES = [(6, 4), (2, 2), (1, 1), (8, 2), (2, 8), (20, 2), (60, 40), (1e6, 1e6)]  # the last hardly differ


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize("games", [64, 500])
def test_95_percent_intervals_hold_the_truth_in_93_to_97_of_100_cases(seeds: int, games: int) -> None:
    for a, b in RATES:
        found = covered(interval(simulated(a, b, seeds, games), games), a / (a + b))
        assert 0.935 < found < 0.97, (a, b, found)


@pytest.mark.parametrize("games", [64, 500])
def test_so_do_those_of_one_seed_of_its_own_rate(games: int) -> None:
    for rate in (0.3, 0.5, 0.62, 0.8):
        won = np.random.default_rng(games).binomial(games, rate, (TIMES, 1)) / games
        assert 0.93 < covered(interval(won, games), rate) < 0.97


def test_games_that_are_pooled_over_seeds_would_promise_far_too_much() -> None:
    shares = simulated(6, 4, 5, 500)
    pooled = interval(shares.mean(axis=1, keepdims=True), 5 * 500)
    assert covered(pooled, 0.6) < 0.3


def test_more_games_of_the_same_seeds_do_not_narrow_what_the_seeds_leave_open() -> None:
    few, many = (interval(np.array([0.4, 0.6, 0.8]), games) for games in (10, 1_000_000))
    np.testing.assert_array_equal(few, many)
    assert many[1] - many[0] > 0.5


@pytest.mark.parametrize(("won", "games"), [(0, 7), (7, 7), (3, 7), (500, 500), (1, 10)])
def test_seeds_that_do_not_differ_leave_the_uncertainty_of_their_games(won: int, games: int) -> None:
    """However a share is rounded, the interval is that of all games together, and never a point."""
    found = interval(np.full(3, won / games), games)
    expected = binomtest(3 * won, 3 * games).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(found, [expected.low, expected.high], atol=1e-12)
    assert 0 <= found[0] < found[1] <= 1


def test_seeds_that_nearly_agree_at_an_end_stay_within_0_and_1() -> None:
    for shares in ([1.0, 1.0, 0.998], [0.0, 0.002, 0.0]):
        low, high = interval(np.array(shares), 500)
        assert 0 <= low < np.mean(shares) < high <= 1 and 0.005 < high - low < 0.05
