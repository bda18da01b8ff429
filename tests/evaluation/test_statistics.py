"""Shares, and the interval that goes with a share."""

import math

import pytest
from scipy.stats import norm

from maestro.evaluation.statistics import interval

Z = norm.ppf(0.975)


@pytest.mark.parametrize(
    ("successes", "games"), [(1, 2), (3, 10), (250, 500), (499, 500), (17, 1000), (70, 71)]
)
def test_the_interval_is_wilsons_at_95_percent(successes: int, games: int) -> None:
    share = successes / games
    middle = (share + Z**2 / (2 * games)) / (1 + Z**2 / games)
    half = Z * math.sqrt(share * (1 - share) / games + Z**2 / (4 * games**2)) / (1 + Z**2 / games)
    assert interval(successes, games) == pytest.approx((middle - half, middle + half), rel=1e-12)


@pytest.mark.parametrize("games", [1, 10, 500])
def test_at_the_ends_the_interval_stays_within_0_and_1(games: int) -> None:
    beyond = Z**2 / (games + Z**2)
    assert interval(0, games) == pytest.approx((0.0, beyond), abs=1e-12)
    assert interval(games, games) == pytest.approx((1 - beyond, 1.0), abs=1e-12)
    assert interval(0, games)[0] >= 0 and interval(games, games)[1] <= 1


def test_the_interval_is_a_pair_of_plain_numbers_that_json_can_hold() -> None:
    assert [type(end) for end in interval(3, 7)] == [float, float]
