"""Statistics over few seeds and their intervals: equal to slow twins, and as trustworthy as the page says."""

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from games_tables import same_every_time
from maestro.evaluation import resampling as rs
from oracles import statistics as oracle

ROOT = Path(__file__).parent.parent.parent
shapes = st.fixed_dictionaries(
    {"seed": st.integers(0, 999), "seeds": st.integers(1, 5), "levels": st.integers(1, 4)}
)


def results(seed: int, seeds: int, levels: int) -> np.ndarray:
    """[S, L] with ties, and some that were not played."""
    dice = np.random.default_rng(seed)
    values = dice.integers(-3, 4, (seeds, levels)) / 2
    return np.where(dice.random((seeds, levels)) < 0.15, np.nan, values)


def mean(x: np.ndarray) -> np.ndarray:
    """Over seeds and levels."""
    return x.mean(axis=(-2, -1))


@same_every_time
@given(shapes)
def test_the_interquartile_mean_equals_its_twin(shape):
    values = results(**shape)
    expected = oracle.interquartile_mean(values.ravel())
    np.testing.assert_allclose(rs.interquartile_mean(values), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2, 3], 2), ([0, 0, 9], 1.5), ([5], 5), ([1, 3], 2), ([0, 1, 2, 50], 1.5), ([-90, 4, 5, 6, 90], 5)],
)
def test_the_interquartile_mean_by_hand(values, expected):
    assert rs.interquartile_mean(np.array(values, float)) == pytest.approx(expected)


def test_the_interquartile_mean_is_scipys_where_quarters_are_whole():
    values = np.random.default_rng(0).normal(size=(6, 4, 10))
    expected = [stats.trim_mean(one, 0.25, axis=None) for one in values]
    np.testing.assert_allclose(rs.interquartile_mean(values), expected, rtol=1e-12)


@same_every_time
@given(shapes, shapes)
def test_the_probability_of_improvement_equals_its_twin(one, other):
    x, y = results(**one), results(**(other | {"levels": one["levels"]}))
    found = rs.probability_of_improvement(x, y)
    np.testing.assert_allclose(found, oracle.probability_of_improvement(x.tolist(), y.tolist()), rtol=1e-12)
    np.testing.assert_allclose(found + rs.probability_of_improvement(y, x), 1, rtol=1e-12)


def test_the_probability_of_improvement_by_hand():
    x, y = np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    assert rs.probability_of_improvement(x, y) == pytest.approx((1 + 0.5 + 0 + 1 + 1 + 0.5) / 6)
    two_levels = rs.probability_of_improvement(np.array([[1.0, 0.0]]), np.array([[0.0, 5.0], [0.0, 0.0]]))
    assert two_levels == pytest.approx((1 + 0.25) / 2)


def test_seeds_are_drawn_within_their_method_with_all_their_levels():
    x, y = np.arange(8.0).reshape(4, 2), 100 + np.arange(6.0).reshape(3, 2)
    with_gap = np.concatenate([x, np.full((2, 2), np.nan)])  # places of seeds that are not there
    drawn = []
    rs.stratified_bootstrap([with_gap, y], lambda *both: drawn.extend(both) or both[0][:, 0, 0], 500)
    for sample, method in zip(drawn, (x, y), strict=True):
        assert sample.shape == (500, *method.shape)
        assert {tuple(row) for row in sample.reshape(-1, 2)} == {tuple(row) for row in method}
        counts = [np.sum(sample[..., 0] == row[0]) for row in method]
        np.testing.assert_allclose(np.array(counts) / 500, 1, atol=0.15)
    again = [rs.stratified_bootstrap([x], mean, 10, seed) for seed in (1, 1, 2)]
    assert np.array_equal(again[0], again[1]) and not np.array_equal(again[0], again[2])
    with pytest.raises(ValueError, match="without seeds"):
        rs.stratified_bootstrap([x, np.full((2, 2), np.nan)], mean)


@pytest.mark.parametrize("statistic", [mean, rs.interquartile_mean])
def test_the_bootstrap_varies_as_all_samples_together_do(statistic):
    values = np.random.default_rng(5).normal(size=(4, 3))
    drawn = rs.stratified_bootstrap([values], statistic, 20_000)
    exact = oracle.bootstrap_variance(values, lambda rows: float(statistic(np.array(rows))))
    assert np.var(drawn) == pytest.approx(exact, rel=0.05)


def test_expanded_percentiles_of_normal_draws_are_students():
    draws = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    for seeds in (5, 10, 30):
        half = stats.t.ppf(0.975, seeds - 1) * np.sqrt(seeds / (seeds - 1))
        np.testing.assert_allclose(rs.expanded_percentile(draws, seeds), [-half, half], rtol=2e-3)
    np.testing.assert_allclose(rs.percentile(draws), [-1.96, 1.96], rtol=1e-3)
    with pytest.raises(ValueError, match="1 seed: an interval over seeds needs two"):
        rs.expanded_percentile(draws, 1)


def test_students_interval_is_scipys_and_leaves_out_what_is_not_there():
    values = np.array([[0.1, 0.5, 0.4, 0.9], [1.0, np.nan, 2.0, 4.0], [3.0, np.nan, np.nan, np.nan]])
    low, high = rs.student_interval(values)
    for row in (0, 1):
        own = values[row][~np.isnan(values[row])]
        expected = stats.t.interval(0.95, len(own) - 1, np.mean(own), stats.sem(own))
        np.testing.assert_allclose([low[row], high[row]], expected, rtol=1e-12)
    assert np.isnan(low[2]) and np.isnan(high[2])


def test_for_means_the_stratified_interval_is_students_and_welchs():
    dice = np.random.default_rng(3)
    x, y = dice.normal(0, 1, 4), dice.normal(1, 3, 6)
    one = rs.stratified_interval([x], mean, 40_000)
    np.testing.assert_allclose([one.low, one.high], rs.student_interval(x), rtol=0.02, atol=0.01)
    assert one.value == pytest.approx(x.mean()) and one.seeds == (4,)
    two = rs.stratified_interval([x, y], lambda x, y: mean(x) - mean(y), 40_000)
    expected = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose([two.low, two.high], [expected.low, expected.high], rtol=0.02)
    assert two.value == pytest.approx(x.mean() - y.mean()) and two.seeds == (4, 6)


def test_a_method_of_one_seed_is_taken_as_fixed():
    x, fixed = np.array([0.0, 1.0, 2.0]), np.array([0.5])
    alone = rs.stratified_interval([x], mean)
    both = rs.stratified_interval([x, fixed], lambda x, y: mean(x) - mean(y))
    np.testing.assert_allclose(np.array(both[:3]) + 0.5, alone[:3], rtol=1e-9)
    assert both.seeds == (3, 1)
    assert np.isnan(rs.stratified_interval([fixed], mean)[1:3]).all()
    assert rs.stratified_interval([np.ones(3)], mean)[:3] == (1, 1, 1)


@pytest.mark.parametrize(("m", "n"), [(3, 3), (5, 3), (10, 10)])
def test_the_score_interval_ends_where_newcombes_equation_holds(m, n):
    more = (m + n) / 2 - 1

    def excess(p: float, found: float) -> float:
        variance = p * (1 - p) * (1 + more * (1 - p) / (2 - p) + more * p / (1 + p)) / (m * n)
        return (p - found) ** 2 - stats.norm.ppf(0.975) ** 2 * variance

    dice = np.random.default_rng(m)
    x, y = dice.normal(0.5, 1, m), dice.normal(0, 1, n)
    found = rs.improvement_interval(x, y)
    assert 0 < found.low < found.value < found.high < 1 and found.seeds == (m, n)
    for end in found[1:3]:
        assert excess(end, found.value) == pytest.approx(0, abs=1e-12)
    back = rs.improvement_interval(y, x)
    np.testing.assert_allclose([1 - back.high, 1 - back.low], found[1:3], rtol=1e-12)


def test_seeds_that_are_all_better_leave_room_for_doubt():
    found = rs.improvement_interval(np.array([2.0, 3.0, 4.0]), np.array([0.0, 1.0, 1.5]))
    assert found.value == found.high == 1 and 0.3 < found.low < 0.7


def coverage() -> ModuleType:
    """The script that writes the table of coverages."""
    path = ROOT / "docs" / "scripts" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_script", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = coverage()
TIMES = 120  # simulated studies: 95 % are then known to 2 % (standard error)


def on_the_page() -> dict[tuple[str, str], list[list[float]]]:
    """Coverages of the page: {(statistic, data): [[of each number of seeds] for each interval]}."""
    text = SCRIPT.PAGE.read_text().split(SCRIPT.BEGIN)[1].split(SCRIPT.END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {
        (name, kind): [[float(share) / 100 for share in re.split(" / ", cell)] for cell in cells]
        for name, kind, *cells in rows
    }


@pytest.mark.parametrize(("name", "kind"), list(itertools.product(SCRIPT.CASES, SCRIPT.KINDS)))
def test_intervals_hold_the_truth_as_often_as_the_page_says(name, kind):
    """Within four standard errors of both simulations, and 1 % for fewer draws."""
    seeds = SCRIPT.SEEDS.index(5)
    said = [shares[seeds] for shares in on_the_page()[name, kind]]
    found = SCRIPT.covered(name, kind, 5, TIMES, 200)
    for share, promised in zip(found, said, strict=True):
        error = np.sqrt(max(promised * (1 - promised), 0.01) * (1 / TIMES + 1 / SCRIPT.TIMES))
        assert abs(share - promised) < 4 * error + 0.01, (found, said)


def test_recommended_intervals_hold_what_they_promise_but_for_means_of_skewed_seeds():
    for (name, kind), cells in on_the_page().items():
        least = 0.82 if (name, kind) == ("mean", "skewed") else 0.91
        assert min(cells[-1]) >= least, (name, kind, cells[-1])
    assert set(on_the_page()) == set(itertools.product(SCRIPT.CASES, SCRIPT.KINDS))


def test_percentiles_of_three_seeds_promise_far_too_much():
    plain, expanded, recommended = SCRIPT.covered("mean", "normal", 3, 400, 300)
    assert plain < 0.82 and expanded < 0.82 and 0.91 < recommended < 0.99
