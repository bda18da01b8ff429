"""Worst case and CVaR: equal to slow twins, and not deceived by noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games_tables import same_every_time
from maestro.evaluation.robustness import halves, robustness, tail_weights
from oracles import statistics as oracle

NAMES = ("worst", "cvar", "naive_worst", "naive_cvar")


@same_every_time
@given(st.integers(0, 999), st.integers(1, 9), st.integers(2, 5), st.sampled_from([0.05, 0.1, 0.35, 1.0]))
def test_worst_case_and_cvar_equal_their_twins(seed, cells, episodes, alpha):
    dice = np.random.default_rng(seed)
    results = dice.integers(-1, 2, (3, cells, episodes)).astype(float)
    results[dice.random(results.shape) < 0.1] = np.nan
    found = robustness(halves(results), alpha)
    for own in range(3):
        expected = oracle.robustness(results[own].tolist(), alpha)
        np.testing.assert_allclose([getattr(found, name)[own] for name in NAMES], expected, atol=1e-12)


def test_a_small_case_by_hand():
    even, odd = [0.0, 0.2, 0.4, 0.6], [0.5, 0.1, 0.3, 0.7]
    found = robustness(np.array([[even], [odd]]), alpha=0.375)  # one cell and a half of the next
    assert found.mean[0] == pytest.approx(0.35)
    assert found.worst[0] == pytest.approx((0.5 + 0.2) / 2)  # even picks the first cell, odd the second
    assert found.naive_worst[0] == pytest.approx(0.15)
    assert found.naive_cvar[0] == pytest.approx((0.15 + 0.5 * 0.25) / 1.5)
    picked_by_even, picked_by_odd = (0.5 + 0.5 * 0.1) / 1.5, (0.2 + 0.5 * 0.4) / 1.5
    assert found.cvar[0] == pytest.approx((picked_by_even + picked_by_odd) / 2)


@pytest.mark.parametrize(
    ("values", "alpha", "weights"),
    [
        ([3, 1, 2, 4], 0.5, [0, 1, 1, 0]),
        ([3, 1, 2, 4], 0.4, [0, 1, 0.6, 0]),
        ([3, 1, 2, 4], 0.01, [0, 1, 0, 0]),
        ([1, 1, 2, 1], 0.5, [2 / 3, 2 / 3, 0, 2 / 3]),
        ([np.nan, 1, 0, np.nan], 0.5, [0, 0, 1, 0]),
    ],
)
def test_the_worst_share_of_cells_has_a_fraction_at_its_edge_and_equal_cells_share(values, alpha, weights):
    np.testing.assert_allclose(tail_weights(np.array(values, float), alpha), weights)


def test_on_pure_noise_the_naive_worst_case_is_far_below_and_the_split_one_is_unbiased():
    """400 seeds, 100 equal cells whose true mean is 0, 8 episodes of standard deviation 1."""
    found = robustness(halves(np.random.default_rng(0).normal(size=(400, 100, 8)))).estimates()
    assert found["naive_worst"].value < -0.8 and found["naive_cvar"].value < -0.5
    for name in ("mean", "worst", "cvar"):
        low, high = found[name].low, found[name].high
        assert low < 0 < high and high - low < 0.12, name


def test_the_truth_lies_between_the_naive_and_the_split_worst_case():
    dice = np.random.default_rng(1)
    truth = dice.uniform(-1, 1, 50)
    found = robustness(halves(truth[:, None] + dice.normal(size=(300, 50, 8))), 0.1).estimates()
    worst, cvar = np.min(truth), np.mean(np.sort(truth)[:5])
    assert found["naive_worst"].high < worst < found["worst"].low
    assert found["naive_cvar"].high < cvar < found["cvar"].low
    assert found["worst"].high - worst < 0.35  # and not far above


def test_with_many_episodes_both_find_the_worst_cell():
    truth = np.linspace(-1, 1, 21)
    found = robustness(halves(truth[:, None] + np.random.default_rng(2).normal(size=(3, 21, 40_000))), 2 / 21)
    np.testing.assert_allclose([found.worst, found.naive_worst], -1.0, atol=0.03)
    np.testing.assert_allclose([found.cvar, found.naive_cvar], -0.95, atol=0.03)


def test_the_order_of_cells_does_not_matter():
    dice = np.random.default_rng(3)
    results = dice.integers(-1, 2, (4, 30, 4)).astype(float)
    order = dice.permutation(30)
    one, other = (robustness(halves(cells), 0.2) for cells in (results, results[:, order]))
    for name in vars(one):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_all_cells_are_the_mean_and_a_share_outside_its_range_is_refused():
    two = halves(np.random.default_rng(4).normal(size=(2, 5, 6)))
    found = robustness(two, 1.0)
    np.testing.assert_allclose([found.cvar, found.naive_cvar], [found.mean] * 2, atol=1e-12)
    for alpha in (0.0, 1.01, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"alpha = .*: the share of cells must be above 0 and at most 1"):
            robustness(two, alpha)


def test_estimates_carry_the_number_of_seeds_that_have_played():
    results = np.zeros((3, 2, 4))
    results[2] = np.nan
    found = robustness(halves(results)).estimates()
    assert {one.seeds for one in found.values()} == {(2,)}
    assert np.isnan(robustness(halves(results)).worst[2])
