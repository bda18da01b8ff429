"""Round robin and its relatives: equal to slow twins, and to what is counted by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from games_tables import random_table, recipes, rows_of, same_every_time
from maestro.evaluation import round_robin as rr
from maestro.evaluation import table
from oracles import statistics as oracle

close = {"rtol": 1e-12, "atol": 1e-12}


def game(a: str, b: str, outcome: tuple[int, int, int], score: float, **other) -> dict:
    """A row: a's wins, draws and losses, and its score; seeds, level and seat are 0 unless told."""
    row = {"updates": 5, "a": a, "a_seed": 0, "b": b, "b_seed": 0, "level": "P", "seat": 0} | other
    counts = dict(zip(("wins", "draws", "losses"), outcome, strict=True), episodes=sum(outcome))
    return row | counts | {"a_return": score, "b_return": -score, "length": 10.0}


def table_of(*rows: dict) -> table.Table:
    """A table of such rows."""
    return table.of({name: [row[name] for row in rows] for name in rows[0]})


BY_HAND = table_of(
    game("x", "y", (2, 0, 0), 1.0),
    game("x", "y", (0, 1, 1), -0.5, seat=1),
    game("x", "y", (1, 0, 1), 0.0, level="Q"),
    game("x", "z", (0, 2, 0), 0.0),
    game("x", "z", (2, 0, 0), 1.0, a_seed=4),
    game("y", "z", (0, 0, 2), -1.0, b_seed=0),
)


def test_a_small_table_by_hand():
    cube = rr.cube(BY_HAND)
    assert cube.methods == ("x", "y", "z") and cube.levels == ("P", "Q")
    assert cube.seeds == ((0, 4), (0,), (0,))
    nan = np.nan
    # x, seed 0: against y .25 on P (both seats) and 0 on Q, so .125; against z 0. Seed 4: z alone.
    # y: -.125 and -1. z: against x 0 and -1, so -.5; against y 1.
    np.testing.assert_allclose(rr.round_robin(cube), [[0.0625, 1.0], [-0.5625, nan], [0.25, nan]])
    np.testing.assert_allclose(rr.per_level(cube)[0], [[0.125, 0.0], [1.0, nan]])
    np.testing.assert_allclose(rr.one_to_one(cube, "x"), [[nan, nan], [0.125, nan], [0.0, 1.0]])
    np.testing.assert_allclose(rr.matrix(cube), [[nan, 0.125, 0.5], [-0.125, nan, -1.0], [-0.5, 1.0, nan]])


def test_shares_by_hand():
    shares = {"won": 0.5, "drawn": 0.25, "lost": 0.25, "win_rate": 0.625}
    x_against_y = shares | {"decisive": 1 / 3, "affine": 0.625}
    for quantity, value in x_against_y.items():
        cell = rr.cube(table.select(BY_HAND, b="y", level="P"), quantity).values[0, 0, 1, 0, 0]
        assert cell == pytest.approx(value), quantity


def test_a_seat_counts_the_same_however_many_episodes_it_has():
    games = table_of(game("x", "y", (1, 0, 0), 1.0), game("x", "y", (0, 0, 9), -1.0, seat=1))
    assert rr.cube(games).values[0, 0, 1, 0, 0] == 0
    assert rr.cube(games, "decisive").values[0, 0, 1, 0, 0] == pytest.approx(-0.8)  # both seats together


def test_games_of_a_seed_with_itself_are_seen_from_both_sides():
    games = table_of(game("x", "x", (3, 0, 1), 0.5), game("x", "x", (1, 0, 3), -0.5, seat=1))
    assert rr.cube(games).values.shape == (1, 1, 1, 1, 1)
    assert rr.cube(games, "win_rate").values.item() == 0.5 and rr.cube(games).values.item() == 0
    assert np.isnan(rr.round_robin(rr.cube(games))).all()


@same_every_time
@given(recipes)
def test_all_statistics_of_random_tables_equal_their_twins(recipe):
    games = random_table(**recipe)
    rows = rows_of(games)
    seeds, levels = oracle.entrants(rows)
    for quantity in (*rr.QUANTITIES, "grass"):
        cube = rr.cube(games, quantity)
        assert dict(zip(cube.methods, map(list, cube.seeds), strict=True)) == seeds
        assert list(cube.levels) == levels
        found = oracle.cells(rows, quantity)
        everyone = [(a, i, s) for a in cube.methods for i, s in enumerate(seeds[a])]
        assert np.sum(~np.isnan(cube.values)) == len(found)
        for (a, i, s), (b, j, t) in itertools.product(everyone, repeat=2):
            expected = [found.get((a, s, b, t, level), np.nan) for level in levels]
            np.testing.assert_allclose(cube.values[cube.index(a), i, cube.index(b), j], expected, **close)
    rounds, by_level, matrix = rr.round_robin(cube), rr.per_level(cube), rr.matrix(cube)
    for (p, a), (q, b) in itertools.product(enumerate(cube.methods), repeat=2):
        np.testing.assert_allclose(matrix[p, q], oracle.matrix(found, a, b), **close)
        for i, s in enumerate(seeds[a]):
            np.testing.assert_allclose(rounds[p, i], oracle.round_robin(found, seeds, levels, a, s), **close)
            expected = [oracle.round_robin(found, seeds, [level], a, s) for level in levels]
            np.testing.assert_allclose(by_level[p, i], expected, **close)
            pair = rr.one_to_one(cube, a)[q, i]
            np.testing.assert_allclose(pair, oracle.one_to_one(found, seeds, levels, a, s, b), **close)


@same_every_time
@given(recipes)
def test_means_errors_and_the_normalized_table_equal_their_twins(recipe):
    values = rr.per_level(rr.cube(random_table(**recipe)))
    means, errors, seeds = rr.mean_error(np.moveaxis(values, 1, -1))
    scaled_means, scaled_errors = rr.normalized(values)
    again = rr.mean_error(np.moveaxis(rr.scaled(values), 1, -1))
    np.testing.assert_allclose(again[0], scaled_means, **close)
    np.testing.assert_allclose(again[1], scaled_errors, **close)
    for level in range(values.shape[2]):
        by_method = values[:, :, level].tolist()
        twins = np.array([oracle.mean_error(own) for own in by_method])
        found = np.stack([x[:, level] for x in (means, errors, seeds)], -1)
        np.testing.assert_allclose(found, twins, **close)
        found = np.stack([scaled_means[:, level], scaled_errors[:, level]], -1)
        np.testing.assert_allclose(found, oracle.normalized(by_method), **close)
        there = found[~np.isnan(found[:, 0]), 0]
        assert not len(there) or {0.0, 1.0} <= set(there) or set(there) == {0.5}
        assert ((there >= 0) & (there <= 1)).all()


@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 2, 3, 5]])
def test_round_robin_returns_of_a_complete_zero_sum_table_sum_to_zero(sizes):
    cube = rr.cube(random_table(1, sizes, 3, 1.0))
    means = rr.mean_error(rr.round_robin(cube))[0]
    assert np.abs(means).max() > 1e-3 and abs(means.sum()) < 1e-12
    levels = rr.mean_error(np.moveaxis(rr.per_level(cube), 1, -1))[0]
    np.testing.assert_allclose(levels.sum(axis=0), 0, atol=1e-12)


def test_the_matrix_is_antisymmetric_even_if_games_are_missing():
    matrix = rr.matrix(rr.cube(random_table(2, [2, 3, 1], 3, 0.4)))
    np.testing.assert_allclose(matrix, -matrix.T, atol=1e-12)


def test_who_is_called_a_does_not_matter():
    games = random_table(3, [2, 1, 3], 2, 0.7)
    swapped = {name: games[table.other(name)] for name in games} | {"seat": 1 - games["seat"]}
    one, other = rr.cube(games, "win_rate"), rr.cube(swapped, "win_rate")
    order = [other.index(name) for name in one.methods]
    levels = [other.levels.index(name) for name in one.levels]
    values = other.values[order][:, :, order][..., levels]
    np.testing.assert_array_equal(one.values, values)


def test_on_a_level_where_all_methods_are_equal_all_get_a_half_without_error():
    values = np.array([[[0.3, 0.0], [0.3, 0.2]], [[0.2, 1.0], [0.4, 1.0]]])
    mean, error = rr.normalized(values)
    np.testing.assert_allclose(mean, [[0.5, 0.0], [0.5, 1.0]])
    np.testing.assert_allclose(error, [[0.0, 0.1 / 0.9], [0.0, 0.0]])
    np.testing.assert_allclose(rr.scaled(values)[:, :, 0], 0.5)


def test_one_seed_has_a_mean_and_no_error():
    mean, error, seeds = rr.mean_error(np.array([[0.5, np.nan], [np.nan, np.nan]]))
    np.testing.assert_array_equal(mean, [0.5, np.nan])
    assert np.isnan(error).all() and seeds.tolist() == [1, 0]


def test_what_a_table_cannot_answer_is_refused():
    twice = table.concatenate([random_table(0, [1, 1], 1, 1.0, updates=n) for n in (5, 7)])
    with pytest.raises(ValueError, match=r"several numbers of updates, select one: \[5, 7\]"):
        rr.cube(twice)
    with pytest.raises(ValueError, match=r"no quantity 'grasses'; there are return, .*, length, grass"):
        rr.cube(table.select(twice, updates=5), "grasses")
    with pytest.raises(ValueError, match="nobody is not in the table; there are x, y, z"):
        rr.one_to_one(rr.cube(BY_HAND), "nobody")
