"""Cross-play as a folder: what is played once stays, and nothing else is taken for it."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evaluation_players import Guesser
from maestro.analysis import crossplay, standings
from maestro.analysis.crossplay import CrossPlay, PlanError
from maestro.analysis.evaluate import evaluate
from maestro.evaluation import cross_play, table
from maestro.evaluation.cross_play import Entrant, Play
from maestro.evaluation.level_sets import LevelSet
from maestro.runs import lock
from maestro.runs.lock import Locked
from probes import Level, Race

LEVELS = LevelSet("some", ("one", "two"), Level(jnp.array([3, 7]), jnp.array([5, 5])))
SKILLS = {"strong": (0.9, 0.8), "middle": (0.5, 0.6), "weak": (0.2, 0.1)}


def entrants(label):
    return [Entrant(label, i, Guesser(jnp.float32(x)), f"digest {x}") for i, x in enumerate(SKILLS[label])]


def games(*labels, episodes=4, **more):
    groups = {label: entrants(label) for label in labels}
    return CrossPlay("race", Play(Race(), LEVELS, episodes), {0: groups}, **more)


ALL = games(*SKILLS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("crossplay") / "games"
    crossplay.run(path, ALL)
    return path


def test_every_pair_of_methods_is_played_once(folder) -> None:
    plan, found = crossplay.read(folder)
    pairs = set(zip(found["a"].tolist(), found["b"].tolist(), strict=True))
    assert pairs == {("strong", "middle"), ("strong", "weak"), ("middle", "weak")}
    assert plan["entrants"]["0"]["weak"] == {"0": "digest 0.2", "1": "digest 0.1"}
    assert len(found["a"]) == 3 * 4 * 2 * 2


def test_an_interrupted_cross_play_ends_with_the_same_table(folder, tmp_path) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(name, done, total):
        if name == "middle - weak":
            raise Interrupted

    with pytest.raises(Interrupted):
        crossplay.run(tmp_path / "games", ALL, interrupt)
    assert not (tmp_path / "games" / "table.csv").exists()
    with pytest.raises(PlanError, match="not all played"):
        crossplay.read(tmp_path / "games")
    played = []
    crossplay.run(tmp_path / "games", ALL, lambda name, done, total: played.append(name))
    assert set(played) == {"middle - weak"}
    assert (tmp_path / "games" / "table.csv").read_bytes() == (folder / "table.csv").read_bytes()


def test_a_second_time_nothing_is_played(folder) -> None:
    before = (folder / "table.csv").read_bytes()
    crossplay.run(folder, ALL, lambda *told: pytest.fail(f"played again: {told}"))
    assert (folder / "table.csv").read_bytes() == before


def test_a_folder_with_other_games_is_refused(folder, tmp_path) -> None:
    with pytest.raises(PlanError, match=r"holds other games .different: episodes."):
        crossplay.run(folder, games(*SKILLS, episodes=2))
    with pytest.raises(PlanError, match="different: entrants"):
        crossplay.run(folder, games("strong", "weak"))
    (tmp_path / "letter").write_text("not ours")
    with pytest.raises(PlanError, match="is not empty"):
        crossplay.run(tmp_path, ALL)
    with pytest.raises(PlanError, match="no folder of cross-play"):
        crossplay.read(tmp_path)


def test_two_cannot_play_into_one_folder(folder) -> None:
    with lock.hold(folder), pytest.raises(Locked, match="in use"):
        crossplay.run(folder, ALL)


def test_the_standings_are_those_of_the_skills_and_sum_to_zero(folder) -> None:
    rows = standings.standings(crossplay.read(folder)[1])
    assert [row["method"] for row in rows] == ["strong", "middle", "weak"]
    assert abs(sum(row["return"] for row in rows)) < 1e-9
    assert [row["normalized"] for row in rows][::2] == [1, 0] and {row["seeds"] for row in rows} == {2}
    for row in rows:
        assert row["won"] + row["drawn"] + row["lost"] == pytest.approx(1)
        assert row["low"] < row["return"] < row["high"]
    json.dumps(rows, allow_nan=False)


def test_against_held_out_opponents_only() -> None:
    what = games("strong", "middle", against={"weak": entrants("weak")}, episodes=8)
    found, whole = evaluate(what)
    assert set(whole["b"].tolist()) == {"weak"} and found["games"] == 2 * 2 * 2 * 2 * 2 * 8 * 2
    strong, middle = found["against"]
    assert (strong["who"], strong["against"], middle["who"]) == ("strong", "weak", "middle")
    wins = table.select(whole, a="strong")
    assert strong["won"] == pytest.approx(wins["wins"].sum() / wins["episodes"].sum())
    robust = found["robustness"]["strong"]
    assert robust["cells"] == 2 and robust["naive_worst"]["value"] <= robust["mean"]["value"]
    assert robust["mean"]["value"] == pytest.approx(strong["return"])
    assert len(np.unique(table.select(whole, a="strong", level="one")["wins"])) > 1


def test_a_method_against_itself_is_even_as_each_of_its_seeds_meets_all() -> None:
    found, whole = evaluate(games("strong", against={"strong": entrants("strong")}, episodes=200))
    pairs = set(zip(whole["a_seed"].tolist(), whole["b_seed"].tolist(), strict=True))
    assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}
    (row,) = found["against"]
    assert row["seeds"] == 2 and row["games"] == found["games"] == 4 * 2 * 2 * 400
    assert abs(row["return"]) < 4 / row["games"] ** 0.5


def test_evaluations_with_other_seeds_share_no_game(monkeypatch) -> None:
    seen = []

    def recorded(*numbers):
        seen.append(dice(*numbers))
        return seen[-1]

    dice = cross_play.dice
    monkeypatch.setattr(cross_play, "dice", recorded)
    what = games("middle", against={"weak": entrants("weak")}, episodes=2)
    drawn = []
    for seed in (0, 1):
        evaluate(replace(what, play=replace(what.play, seed=seed)))
        drawn.append({bytes(key) for keys in seen for key in jax.random.key_data(keys).reshape(-1, 2)})
        seen.clear()
    assert len(drawn[0]) == len(drawn[1]) == 4 * 2 * 2 * 4 and not drawn[0] & drawn[1]


def test_each_number_of_updates_has_games_of_its_own() -> None:
    groups = {label: entrants(label) for label in ("strong", "weak")}
    what = CrossPlay("race", Play(Race(), LEVELS, 2), {10: groups, 20: groups})
    assert [(block.updates, block.name) for block in what.blocks] == [
        (10, "strong - weak after 10 updates"),
        (20, "strong - weak after 20 updates"),
    ]
    with_itself = CrossPlay("race", Play(Race(), LEVELS, 2), {0: groups}, itself=True)
    assert [block.name for block in with_itself.blocks] == [
        "strong - strong",
        "weak - weak",
        "strong - weak",
    ]


def test_the_halves_have_dice_of_their_own() -> None:
    """Were they the same, the naive worst case would be the other one."""
    what = games("middle", against={"weak": entrants("weak")}, episodes=2)
    robust = evaluate(what)[0]["robustness"]["middle"]
    assert robust["naive_worst"]["value"] < robust["worst"]["value"]
