"""Agents that come with the package: shipped from a study, listed, and found by their names."""

import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from ledger import AGENT, Always, certain
from maestro import cli
from maestro import games as known_games
from maestro.config import TINY
from maestro.evaluation import table
from maestro.games import Game, shipped
from maestro.methods import PAPER_METHODS
from maestro.runs import agent_file, entrants, players
from maestro.runs import folder as run_folder
from probes import RockPaperScissors
from runs_helpers import claim

PLAYERS = {"rock": Always(0, "rock"), "paper": Always(1, "paper")}
GAME = Game("shipped-rps", RockPaperScissors, type(AGENT), {"tiny": TINY}, PLAYERS)
CONFIG = replace(GAME.presets["tiny"], agent=AGENT, seeds=2, seed=5)
OPTION = ("--game", "test_cli_agents:GAME")
ACTIONS = {"maestro": (1, 2), "dr-sp": (0, 0)}  # of the students of each seed
ROOT = Path(__file__).parent.parent.parent


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def script():
    """The script that makes agents of a study those of the package."""
    spec = importlib.util.spec_from_file_location("ship_agents", ROOT / "benchmarks" / "ship_agents.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def a_run(path, config, actions):
    """A run without checkpoints, as a study keeps it."""
    folder = claim(path)
    run_folder.begin(folder, config)
    folder.agents.mkdir(parents=True)
    for i, action in enumerate(actions):
        file, seed = folder.agents / f"student-{config.seed + i}.safetensors", config.seed + i
        agent_file.save(file, config, certain(action, 0.1), {"seed": seed, "updates": 30})


def games(seed, other, level, wins, draws, losses, a="maestro", b="dr-sp"):
    """A row: maestro against dr-sp, or two others."""
    count = wins + draws + losses
    mean = (wins - losses) / count
    row = {"updates": 0, "a": a, "a_seed": seed, "b": b, "b_seed": other, "level": level}
    counts = {"episodes": count, "wins": wins, "draws": draws, "losses": losses}
    return {**row, "seat": 0, **counts, "a_return": mean, "b_return": -mean, "length": 1.0}


PLAYED = {
    "crossplay/test": [games(5, 5, "x", 4, 0, 0), games(5, 6, "y", 1, 1, 0), games(6, 5, "x", 0, 0, 4)],
    "crossplay/special": [games(5, 5, "x", 4, 0, 0, b="dr-sp@mine")],
    "evaluate/test/games": [games(5, 0, "x", 1, 0, 3, a, "rock") for a in ACTIONS],
}


@pytest.fixture
def study(tmp_path):
    """A small study: two methods and a specialist, and what was played at the end."""
    path = tmp_path / "study"
    for method, actions in ACTIONS.items():
        a_run(path / "runs" / method, replace(CONFIG, method=method), actions)
    level = GAME.levels.to_text(RockPaperScissors().sample_level(jax.random.key(0)), "mine")
    a_run(path / "runs" / "dr-sp@mine", replace(CONFIG, method="dr-sp", level=f"{level}\n"), (0, 0))
    for name, rows in PLAYED.items():
        (path / name).mkdir(parents=True)
        (path / name / "plan.json").write_text(json.dumps({"levels": "test"}))
        columns = table.of({name: [row[name] for row in rows] for name in table.COLUMNS})
        (path / name / "table.csv").write_text(table.to_csv(columns))
    return path


@pytest.fixture
def package(study, monkeypatch, capsys):
    """The agents of the study come with the package."""
    monkeypatch.setattr(shipped, "FOLDER", study.parent / "agents")
    script().main([str(study), "--out", str(shipped.FOLDER), *OPTION])
    assert "dr-sp@mine: a specialist, left out" in capsys.readouterr().out
    return shipped.FOLDER


def test_the_first_seed_of_each_method_is_shipped_in_half_precision(package):
    assert shipped.names(GAME.name) == ["dr-sp", "maestro"] and shipped.names("other") == []
    for name, (action, _) in ACTIONS.items():
        params = players.find(GAME, name).params
        close = jax.tree.map(lambda x, y: np.allclose(x, y, rtol=1e-3), params, certain(action, 0.1))
        assert all(jax.tree.leaves(close))
    card = shipped.cards(GAME.name)["maestro"]
    told = {"seed": 5, "seeds": 2, "updates": 30, "environment_steps": 30 * 64 * 64, "dtype": "float16"}
    assert {name: card[name] for name in told} == told and card["study"] == "study"


def test_a_card_says_how_the_agent_does_against_each_other_generalist_and_script(package):
    results = {name: card["results"] for name, card in shipped.cards(GAME.name).items()}
    (first, hunted), (second, _) = results["maestro"], results["dr-sp"]
    about = {"levels": "test", "games": 6, "seeds": 2, "drawn": 0.1667, "won": 0.8333, "lost": 0.0}
    low, high = first.pop("return_95")
    assert first == {"opponent": "dr-sp", **about, "return": 0.75}
    assert high - 0.75 == pytest.approx(0.75 - low) == pytest.approx(12.706 * 0.25, rel=0.05)  # two seeds
    about = {"levels": "test", "games": 8, "seeds": 2, "drawn": 0.0, "won": 0.5, "lost": 0.5}
    assert {name: second[name] for name in about} == about and second["opponent"] == "maestro"
    about = {"levels": "test", "games": 4, "seeds": 1, "won": 0.25, "drawn": 0.0, "lost": 0.75}
    assert hunted == {"opponent": "rock", **about, "return": -0.5, "return_95": None}


def test_a_card_has_the_mean_over_all_other_methods_with_its_interval_over_their_seeds(package):
    (standing,) = shipped.cards(GAME.name)["maestro"]["standings"]
    low, high = standing.pop("return_95")
    assert standing == {"levels": "test", "opponents": 1, "return": 0.75} and low < 0.75 < high


def test_an_agent_is_not_shipped_over_another(study, package):
    with pytest.raises(SystemExit, match="is already there"):
        script().main([str(study), "--out", str(package), *OPTION])


def test_they_are_listed_with_how_they_were_trained_and_how_they_do(package, capsys):
    code, out, _ = call(capsys, "agents", *OPTION)
    head, *rows = [line.split() for line in out.partition("\n\n")[0].splitlines()]
    assert code == 0 and head == ["agent", "updates", "steps", "on", "test"]
    assert [row[:4] for row in rows] == [
        ["dr-sp", "30", "122,880", "+0.00"],
        ["maestro", "30", "122,880", "+0.75"],
    ]
    assert "95 % interval over their seeds" in out and "not the\nbest one" in out
    assert json.loads(call(capsys, "agents", *OPTION, "--json")[1]) == shipped.cards(GAME.name)


def test_a_list_of_agents_with_different_levels_has_all_of_them(package, capsys):
    path = package / GAME.name / "dr-sp.json"
    card = json.loads(path.read_text())
    card["standings"] = [{"levels": "caves", "return": -0.5, "return_95": None}]
    path.write_text(json.dumps(card))
    head, first, second = call(capsys, "agents", *OPTION)[1].splitlines()[:3]
    assert head.split()[3:] == ["on", "caves", "on", "test"]
    assert first.split()[3:] == ["-0.50"] and second.split()[3] == "+0.75"


def test_one_of_them_is_told_in_full(package, capsys):
    code, out, _ = call(capsys, "agents", "Maestro", *OPTION)
    assert code == 0 and out.startswith("agent: maestro\nmethod: maestro\nupdates: 30\n")
    assert "mean return on test: +0.75 (" in out and "seed: 5, the first of 2" in out
    *_, other, hunter = [line.split() for line in out.splitlines()]
    assert other[:7] == ["dr-sp", "test", "6", "0.83", "0.17", "0.00", "+0.75"]
    assert hunter == ["rock", "test", "4", "0.25", "0.00", "0.75", "-0.50"]
    assert "stored as float16" in out and "study: study" in out
    card = json.loads(call(capsys, "agents", "maestro", *OPTION, "--json")[1])
    assert card == shipped.cards(GAME.name)["maestro"]


def test_without_any_the_list_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "nowhere")
    told = "No agents of shipped-rps come with this version; maestro train makes some.\n"
    assert call(capsys, "agents", *OPTION) == (0, told, "")
    assert call(capsys, "agents", *OPTION, "--json") == (0, "{}\n", "")
    code, _, errors = call(capsys, "agents", "maestro", *OPTION)
    assert code == 2 and "name: there is no agent 'maestro'; none come with this version" in errors


@pytest.mark.parametrize("typed", ["maestr", "papr"])
def test_a_wrong_name_is_told_the_nearest_of_scripts_and_agents(package, capsys, typed):
    meant = {"maestr": "maestro", "papr": "paper"}[typed]
    code, _, errors = call(capsys, "duel", "random", "--a", typed, *OPTION)
    assert code == 2 and f"--a: unknown player '{typed}'; did you mean {meant}?" in errors
    code, _, errors = call(capsys, "agents", "maestr", *OPTION)
    assert code == 2 and errors == "maestro: name: there is no agent 'maestr'; did you mean maestro?\n"


def test_they_play_by_their_names_and_are_called_by_them(package, capsys):
    code, out, _ = call(capsys, "duel", "random", "--a", "maestro", "--b", "DR-SP", "--games", 3, *OPTION)
    assert (code, out) == (0, "3 games: A maestro won 3, B dr-sp won 0, drawn 0\n")
    someone = entrants.single(GAME, "maestro")
    assert (someone.label, someone.seed) == ("maestro", 5)
    assert someone.digest == shipped.cards(GAME.name)["maestro"]["sha256"]
    script_one = entrants.single(GAME, "Rock")
    assert (script_one.label, script_one.seed, script_one.digest) == ("rock", 0, "")


def test_a_script_comes_before_an_agent_and_an_agent_before_a_folder(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maestro").mkdir()
    assert players.file_of(GAME, "maestro") == package / GAME.name / "maestro.safetensors"
    for ending in (".safetensors", ".json"):
        (package / GAME.name / f"rock{ending}").write_bytes(
            (package / GAME.name / f"maestro{ending}").read_bytes()
        )
    assert players.find(GAME, "rock") == PLAYERS["rock"]


def test_the_agents_of_this_version_are_what_their_cards_say():
    assert set(PAPER_METHODS) <= set(shipped.names("lasertag"))
    for folder in shipped.FOLDER.glob("*"):
        for name in shipped.names(folder.name):
            agent_file.load_params(shipped.FOLDER / folder.name / f"{name}.safetensors")


def test_the_cards_of_this_version_tell_training_and_results_and_no_place_on_a_machine():
    for name, card in shipped.cards("lasertag").items():
        assert (card["method"], card["seed"], card["dtype"]) == (name, 0, "float16")
        assert card["updates"] > 0 and card["seeds"] > 1 and "/" not in json.dumps(card)
        assert {row["opponent"] for row in card["results"]} == {*shipped.names("lasertag"), "hunter"} - {name}
        for row in card["results"]:
            assert row["won"] + row["drawn"] + row["lost"] == pytest.approx(1, abs=2e-4)
            assert row["won"] - row["lost"] == pytest.approx(row["return"], abs=2e-4)


def test_on_every_set_of_levels_the_agents_that_come_along_have_met_each_other():
    cards = shipped.cards("lasertag")
    assert {tuple(row["levels"] for row in card["standings"]) for card in cards.values()} == {
        ("generated:64", "test")
    }
    for card in cards.values():
        for standing in card["standings"]:
            own = [r["return"] for r in card["results"] if r["levels"] == standing["levels"]]
            own = own[: standing["opponents"]]  # the scripted player is the last
            assert np.mean(own) == pytest.approx(standing["return"], abs=2e-4)


@pytest.mark.parametrize("where", [100_000, -1])
def test_an_agent_of_this_version_with_a_flipped_bit_does_not_play(tmp_path, monkeypatch, where):
    shutil.copytree(shipped.FOLDER / "lasertag", tmp_path / "lasertag")
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    path = tmp_path / "lasertag" / "maestro.safetensors"
    game = known_games.known("lasertag")
    assert players.find(game, "maestro").name
    content = bytearray(path.read_bytes())
    content[where] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not the file that its card describes"):
        players.find(game, "maestro")
