"""Intervals of round robins: the seeds of all methods are drawn anew, as players and as opponents."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import t

from games_tables import random_table, recipes, same_every_time
from maestro.evaluation import comparison
from maestro.evaluation import round_robin as rr
from maestro.evaluation.round_robin import Cube
from oracles import statistics as oracle


def repeated(cube: Cube, drawn: list[list[int]]) -> Cube:
    """The same table as if these seeds had been trained: places of each method's seeds, with repetition."""
    width = max(map(len, drawn))
    places = np.array([own + [own[0]] * (width - len(own)) for own in drawn])
    values = np.full((len(drawn), width, len(drawn), width, len(cube.levels)), np.nan)
    for (a, i), (b, j) in itertools.product(np.ndindex(*places.shape), repeat=2):
        if i < len(drawn[a]) and j < len(drawn[b]):
            values[a, i, b, j] = cube.values[a, places[a, i], b, places[b, j]]
    return Cube(cube.methods, tuple(tuple(range(len(own))) for own in drawn), cube.levels, values)


@same_every_time
@given(recipes)
def test_seeds_that_are_drawn_twice_count_twice_as_players_and_as_opponents(recipe):
    cube = rr.cube(random_table(**recipe))
    dice = np.random.default_rng(recipe["seed"])
    drawn = [dice.integers(len(own), size=len(own)).tolist() for own in cube.seeds]
    counts = np.zeros((2, *cube.values.shape[:2]))
    for method, own in enumerate(drawn):
        counts[0, method] = np.bincount(own, minlength=counts.shape[2])
    counts[1] = comparison.once(cube, 1)[0] if len(drawn) else 0
    found = comparison.round_robins(cube, counts)
    if drawn:
        expected = [rr.mean_error(rr.round_robin(one))[0] for one in (repeated(cube, drawn), cube)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


CUBE = rr.cube(random_table(4, [3, 2, 3, 1], 2, 1.0))
NAMES = CUBE.methods


def difference(drawn: list[list[int]]) -> float:
    """How far the first method is ahead of the third, with these seeds."""
    means = rr.mean_error(rr.round_robin(repeated(CUBE, drawn)))[0]
    return float(means[0] - means[2])


def test_the_interval_of_a_difference_adds_the_variances_of_all_methods():
    all_seeds = [list(range(len(own))) for own in CUBE.seeds]
    exact, sizes = [], []
    for i, own in enumerate(all_seeds):

        def with_sample(sample: list[int], i: int = i) -> float:
            return difference([*all_seeds[:i], sample, *all_seeds[i + 1 :]])

        exact.append(oracle.bootstrap_variance(own, with_sample) * len(own) / max(len(own) - 1, 1))
        sizes.append(len(own))
    assert sum(value > 0 for value in exact) == 3  # opponents matter, the single seed of the last is fixed
    found = comparison.difference(CUBE, NAMES[0], NAMES[2], draws=20_000)
    assert found.value == pytest.approx(difference(all_seeds)) and found.seeds == (3, 3)
    degrees = sum(exact) ** 2 / sum(v**2 / (n - 1) for v, n in zip(exact, sizes, strict=True) if n > 1)
    half = t.ppf(0.975, degrees) * sum(exact) ** 0.5
    np.testing.assert_allclose([found.low, found.high], [found.value - half, found.value + half], rtol=0.03)


def test_a_difference_turns_its_sign_with_the_two():
    one, other = (comparison.difference(CUBE, *pair) for pair in ((NAMES[0], NAMES[2]), (NAMES[2], NAMES[0])))
    assert one.value == -other.value and one.low == pytest.approx(-other.high, rel=1e-9)


def test_one_to_one_and_round_robin_have_the_value_of_their_tables():
    means = rr.mean_error(rr.round_robin(CUBE))[0]
    for i, name in enumerate(NAMES):
        found = comparison.round_robin_estimate(CUBE, name, draws=200)
        assert found.value == pytest.approx(means[i]) and found.low < found.value < found.high
        assert found.seeds == (len(CUBE.seeds[i]),)
    pair = comparison.one_to_one_estimate(CUBE, NAMES[1], NAMES[2], draws=200)
    assert pair.value == pytest.approx(np.mean(rr.one_to_one(CUBE, NAMES[1])[2, :2])) and pair.seeds == (2, 3)
    back = comparison.one_to_one_estimate(CUBE, NAMES[2], NAMES[1], draws=200)
    assert back.value == pytest.approx(-pair.value)


def test_without_a_second_seed_of_anyone_there_is_no_interval():
    found = comparison.difference(rr.cube(random_table(4, [1, 1], 2, 1.0)), NAMES[0], NAMES[1], draws=10)
    assert np.isnan([found.low, found.high]).all() and not np.isnan(found.value)
