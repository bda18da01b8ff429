"""The tables of the results page: how they are made of a study, and that they agree with themselves."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from figure_studies import SEEDS, random_games
from maestro.evaluation import round_robin
from maestro.evaluation.resampling import Estimate
from maestro.methods import PAPER_METHODS

ROOT = Path(__file__).parent.parent
ROW = re.compile(
    r"^\| `(\S+)` \| (\S+) \| (\S+) \| (\S+) to (\S+) \| (\S+) / (\S+) / (\S+) \| (.+) \|$", re.M
)


@pytest.fixture(scope="module")
def script():
    """The script that makes them."""
    path = ROOT / "docs" / "scripts" / "study_tables.py"
    spec = importlib.util.spec_from_file_location("study_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(text):
    """(method, mean, error, low, high, [won, drawn, lost], seeds) of each line of a round robin."""
    for name, *numbers, seeds in ROW.findall(text):
        mean, error, low, high, *shares = map(float, numbers)
        yield name, mean, error, low, high, shares, [float(x) for x in seeds.split()]


def test_a_round_robin_is_listed_best_first_with_every_seed(script):
    games = random_games(SEEDS)
    cube = round_robin.cube(games)
    rows = list(rows_of(script.standing(games)))
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
    for name, mean, error, low, high, shares, seeds in rows:
        own = round_robin.round_robin(cube)[cube.index(name)][: SEEDS[name]]
        np.testing.assert_allclose(seeds, own, atol=6e-4)
        np.testing.assert_allclose([mean, error], [own.mean(), own.std(ddof=1) / len(own) ** 0.5], atol=6e-4)
        assert low < mean < high and sum(shares) == pytest.approx(1, abs=0.011)
    assert len(rows) == len(SEEDS)


def test_an_interval_that_leaves_out_0_is_bold(script):
    assert script.told(Estimate(0.1234, 0.01, 0.2, (5,))) == "**+.123 (+.010 to +.200)**"
    assert script.told(Estimate(-1.5, -2.0, -1.0, (5,))) == "**-1.500 (-2.000 to -1.000)**"
    assert script.told(Estimate(-0.00001, -0.2, 0.1, (5,))) == ".000 (-.200 to +.100)"


def test_who_is_ahead_is_told_from_the_better_to_the_worse(script):
    games = random_games({"dr-sp": 3, "maestro": 3})
    for side, sign in (("a", 1), ("b", -1)):  # dr-sp is a
        games[f"{side}_return"] = sign + 0.01 * games[f"{side}_return"]
    cube = round_robin.cube(games)
    assert script.differing(cube) == [("dr-sp", "maestro")]
    told = script.better({"test": cube}).splitlines()
    assert told[2:] == ["| `dr-sp` | `maestro` |", "| pairs | 1 of 1 |"]


def test_a_table_goes_into_its_place_and_nowhere_else(script):
    page = f"before\n\n{script.PLACE.format('x', 'old', 'x')}\n\nafter"
    assert script.filled(page, {"x": "new"}) == page.replace("old", "new")
    with pytest.raises(SystemExit, match="no place for the table 'y'"):
        script.filled(page, {"y": "new"})


@pytest.mark.parametrize("name", ["round robin, test", "round robin, generated"])
def test_the_round_robins_on_the_page_agree_with_themselves(script, name):
    page = script.PAGE.read_text()
    begin, end = script.PLACE.format(name, "|", name).split("|")
    rows = list(rows_of(page.partition(begin)[2].partition(end)[0]))
    assert {row[0] for row in rows} == set(PAPER_METHODS)
    assert sum(row[1] for row in rows) == pytest.approx(0, abs=0.0005 * len(rows))  # the game is zero-sum
    for _, mean, error, low, high, (won, _, lost), seeds in rows:
        assert np.mean(seeds) == pytest.approx(mean, abs=0.001) and len(seeds) == 5
        assert np.std(seeds, ddof=1) / 5**0.5 == pytest.approx(error, abs=0.001)
        assert low < mean < high and won - lost == pytest.approx(mean, abs=0.011)
