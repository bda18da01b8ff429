"""LaserTag's rules in the page are the package's, state for state and view for view."""

import gzip
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import web_games
from maestro.envs.lasertag import maps, text
from maestro.envs.lasertag.game import SHOOT, LaserTag
from maestro.envs.lasertag.players import PLAYERS
from maestro.evaluation.opponents import trained
from oracles import lasertag_bridge as bridge
from web_page import scripts

TRACES = Path(__file__).parents[2] / "golden" / "lasertag_traces.json.gz"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with scripts(tmp_path_factory.mktemp("page")) as page:
        yield page


def differing(page, games):
    """(games, steps, rows that differ) of what the page makes of recorded choices."""
    count = len(games.first)
    asked = [web_games.asked(games, game) for game in range(count)]
    found = json.loads(page.evaluate(web_games.PLAY_AGAIN, asked))
    expected = [web_games.expected(games, game) for game in range(count)]
    assert [len(rows) for rows in found] == [len(rows) for rows in expected]
    wrong = [
        (game, t)
        for game in range(count)
        for t, (one, other) in enumerate(zip(found[game], expected[game], strict=True))
        if one != other
    ]
    return count, sum(len(rows) - 1 for rows in expected), wrong[:5]


def text_of(trace):
    """The text of a recorded game's level."""
    rows = [list(row[1:-1]) for row in trace["walls"][1:-1]]
    for letter, (x, y, _) in zip("AB", trace["agents"], strict=True):
        rows[y - 1][x - 1] = letter
    a, b = (("up", "right", "down", "left")[agent[2]] for agent in trace["agents"])
    return "\n".join(["time limit: 1000", f"A faces: {a}", f"B faces: {b}", *map("".join, rows)])


def recorded_rows(trace):
    """What was recorded after each step: agents, bolts, rewards, and views with channels last."""
    views = [["".join(np.array(list(v)).reshape(3, 25).T.ravel()) for v in both] for both in trace["obs"]]
    bolts = [sorted(bolts) for bolts in trace["bolts"]]
    return views[0], list(map(list, zip(trace["states"], bolts, trace["rewards"], views[1:], strict=True)))


def as_recorded(row):
    """A row of the page in the terms of the recording."""
    position, facing, alive, bolts, _, reward, _, _, views = row
    agents = [[x, y, facing[i]] if alive[i] else None for i, (y, x) in enumerate(position)]
    cells = sorted([cell % bridge.SIDE, cell // bridge.SIDE, code >> 2 & 1] for cell, code in bolts)
    return [agents, cells, reward, views]


def test_the_page_replays_the_166_games_recorded_elsewhere_without_a_mismatch(page):
    traces = json.loads(gzip.decompress(TRACES.read_bytes()))["traces"]
    asked = [{"text": text_of(t), "actions": t["actions"], "first": t["first_player"]} for t in traces]
    found = json.loads(page.evaluate(web_games.PLAY_AGAIN, asked))
    steps = mismatches = 0
    for trace, rows in zip(traces, found, strict=True):
        first, after = recorded_rows(trace)
        mismatches += rows[0][8] != first
        mismatches += sum(as_recorded(row) != wanted for row, wanted in zip(rows[1:], after, strict=True))
        mismatches += rows[-1][6] != trace["done_by_tag"]
        steps += len(after)
    assert (len(traces), steps, mismatches) == (166, 15_605, 0)


def test_games_of_trained_agents_on_the_test_levels_and_on_random_ones_are_the_same(page):
    drawn = [maps.LEVELS.load(name) for name in maps.TEST]
    levels = web_games.stacked([*drawn, *(web_games.one(web_games.generated(3, 13), i) for i in range(13))])
    a, b = (trained(*web_games.shipped_agent(name)) for name in ("maestro", "dr-sp"))
    games, steps, wrong = differing(page, web_games.play(levels, a, b, seed=1))
    assert (games, wrong) == (26, []) and steps > 1000


def test_games_of_random_players_are_the_same_to_their_last_step(page):
    random = PLAYERS["random"]
    recorded = web_games.play(web_games.generated(4, 40), random, random, seed=2)
    assert recorded.truncated.any() and recorded.terminated.any()
    games, steps, wrong = differing(page, recorded)
    assert (games, wrong) == (40, []) and steps > 3000


@jax.tree_util.register_static
class Shooter:
    """Shoots in two of three steps, and else does anything: many bolts meet."""

    name = "shooter"

    def start(self):
        return ()

    def act(self, key, memory, obs, sight):
        shoot, other = jax.random.split(key)
        action = jax.random.randint(other, (), 0, 5)
        return memory, jax.numpy.where(jax.random.bernoulli(shoot, 0.67), SHOOT, action).astype(np.int32)


@pytest.mark.long
def test_crossfire_in_small_rooms_is_the_same(page):
    keys = jax.random.split(jax.random.key(5), 200)
    levels = jax.jit(jax.vmap(LaserTag(2, 5).sample_level))(keys)
    games, steps, wrong = differing(page, web_games.play(levels, Shooter(), Shooter(), seed=3))
    assert (games, wrong) == (200, []) and steps > 2000


LANE = "time limit: 3\nA faces: right\nB faces: up\nA..B\n"


def test_a_hit_in_the_very_last_step_ends_the_game_as_a_hit(page):
    turret = PLAYERS["turret"]
    recorded = web_games.play(web_games.stacked([text.parse(LANE)]), turret, turret, seed=4)
    assert (recorded.terminated[0, 2], recorded.truncated[0, 2]) == (True, False)
    assert differing(page, recorded) == (1, 3, [])
