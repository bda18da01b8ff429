"""The scripted players of LaserTag against each other: what the page says is measured again."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from maestro import games
from maestro.evaluation import level_sets
from maestro.evaluation.cross_play import Entrant, Play, cross_play

PAGE = Path(__file__).parents[2] / "docs" / "evaluation.md"
GAME = games.known("lasertag")
ROW = re.compile(
    r"^\| ([\w-]+) \| ([\w-]+) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE
)
EPISODES = 10


def told():
    """(games, shares won, drawn and lost) of each pair on the page."""
    rows = ROW.findall(PAGE.read_text())
    return {(a, b): (int(n.replace(",", "")), *(float(x) / 100 for x in shares)) for a, b, n, *shares in rows}


def test_every_pair_is_on_the_page() -> None:
    rows = told()
    assert set(rows) == set(combinations(GAME.players, 2))
    for count, *shares in rows.values():
        assert count >= 2600 and abs(sum(shares) - 1) < 0.002


@pytest.mark.long
@pytest.mark.parametrize(("a", "b"), told())
def test_a_pair_does_as_the_page_says(a, b) -> None:
    """With other dice, within 5 standard errors of the games here and there."""
    play = Play(GAME.environment(), level_sets.find(GAME, "test"), EPISODES, seed=1)
    found = cross_play(play, *([Entrant(name, 0, GAME.player(name))] for name in (a, b)))
    count, *shares = told()[a, b]
    for column, share in zip(("wins", "draws", "losses"), shares, strict=True):
        games_here = found["episodes"].sum()
        spread = max(share * (1 - share), 0.002)
        error = (spread / games_here + spread / count) ** 0.5
        assert abs(found[column].sum() / games_here - share) < 5 * error + 0.001, column
