"""Who stands where, by a table of games: the game's own numbers beside returns and shares."""

import numpy as np
import pytest

from games_tables import random_table, rows_of
from maestro.analysis.standings import against, standings
from maestro.cli.table import own


def grass(games, **where):
    """The mean of a game's own number over rows, weighed by their games."""
    rows = [row for row in rows_of(games) if all(row[name] == value for name, value in where.items())]
    return np.average([row["a_grass"] for row in rows], weights=[row["episodes"] for row in rows])


def test_a_games_own_numbers_are_told_of_each_seed_against_each_opponent() -> None:
    games = random_table(3, [2, 1, 1], levels=2, share=1.0)
    found = {(row["who"], row["against"]): row["own"]["grass"] for row in against(games)}
    for seed_means, who, opponent in (
        ([grass(games, a="method 0", a_seed=s, b="method 1") for s in (0, 3)], "method 0", "method 1"),
        ([grass(games, a="method 1", a_seed=1, b="method 2")], "method 1", "method 2"),
    ):
        assert found[who, opponent]["mean"] == pytest.approx(np.mean(seed_means))
        assert (found[who, opponent]["low"] is None) == (len(seed_means) == 1)


def test_a_games_own_numbers_stand_in_the_round_robin() -> None:
    games = random_table(3, [1, 1], levels=3, share=1.0)
    first, second = ({row["method"]: row for row in standings(games)}[f"method {i}"] for i in range(2))
    played = [row for row in rows_of(games) if row["episodes"]]
    levels = [[row for row in played if row["level"] == f"level {i}"] for i in range(3)]
    for found, side in ((first, "a"), (second, "b")):
        expected = np.mean([np.mean([row[f"{side}_grass"] for row in rows]) for rows in levels])
        assert found["own"]["grass"]["mean"] == pytest.approx(expected)


def test_shares_are_told_in_percent_and_what_is_not_known_is_left_empty() -> None:
    row = {"own": {"grass_time": {"mean": 0.0625}, "hits": {"mean": 12.34567}, "rain": {"mean": None}}}
    assert own(row, {"grass_time", "rain"}) == {"grass time": "6.2%", "hits": "12.35", "rain": ""}
