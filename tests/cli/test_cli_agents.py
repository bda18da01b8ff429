"""Agents that come with the package: shipped from a study, listed, and found by their names."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from ledger import AGENT, Always, certain
from maestro import cli
from maestro.config import TINY
from maestro.evaluation import table
from maestro.games import Game, shipped
from maestro.runs import agent_file, entrants, players
from maestro.runs import folder as run_folder
from probes import RockPaperScissors

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
    folder = run_folder.claim(path)
    run_folder.begin(folder, config)
    folder.agents.mkdir(parents=True)
    for i, action in enumerate(actions):
        file, seed = folder.agents / f"student-{config.seed + i}.safetensors", config.seed + i
        agent_file.save(file, config, certain(action, 0.1), {"seed": seed, "updates": 30})


def games(seed, other, level, wins, draws, losses):
    """A row: maestro against dr-sp."""
    count = wins + draws + losses
    mean = (wins - losses) / count
    row = {"updates": 0, "a": "maestro", "a_seed": seed, "b": "dr-sp", "b_seed": other, "level": level}
    counts = {"episodes": count, "wins": wins, "draws": draws, "losses": losses}
    return {**row, "seat": 0, **counts, "a_return": mean, "b_return": -mean, "length": 1.0}


ROWS = [games(5, 5, "x", 4, 0, 0), games(5, 6, "y", 1, 1, 0), games(6, 5, "x", 0, 0, 4)]


@pytest.fixture
def study(tmp_path):
    """A small study: two methods and a specialist, and what was played at the end."""
    path = tmp_path / "study"
    for method, actions in ACTIONS.items():
        a_run(path / "runs" / method, replace(CONFIG, method=method), actions)
    level = GAME.levels.to_text(RockPaperScissors().sample_level(jax.random.key(0)), "mine")
    a_run(path / "runs" / "dr-sp@mine", replace(CONFIG, method="dr-sp", level=f"{level}\n"), (0, 0))
    (path / "crossplay" / "test").mkdir(parents=True)
    (path / "crossplay" / "test" / "plan.json").write_text(json.dumps({"levels": "test"}))
    columns = table.of({name: [row[name] for row in ROWS] for name in table.COLUMNS})
    (path / "crossplay" / "test" / "table.csv").write_text(table.to_csv(columns))
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


def test_a_card_says_how_the_agent_does_against_each_other_method(package):
    results = {name: card["results"] for name, card in shipped.cards(GAME.name).items()}
    about = {"levels": "test", "games": 6, "seeds": 2, "drawn": 0.1667}
    assert results["maestro"] == [
        {"opponent": "dr-sp", **about, "won": 0.8333, "lost": 0.0, "return": 0.8333}
    ]
    about = {"levels": "test", "games": 8, "seeds": 2, "drawn": 0.0}
    assert results["dr-sp"] == [{"opponent": "maestro", **about, "won": 0.5, "lost": 0.5, "return": 0.0}]


def test_an_agent_is_not_shipped_over_another(study, package):
    with pytest.raises(SystemExit, match="is already there"):
        script().main([str(study), "--out", str(package), *OPTION])


def test_they_are_listed_with_how_they_were_trained_and_how_they_do(package, capsys):
    code, out, _ = call(capsys, "agents", *OPTION)
    rows = {line.split()[0]: " ".join(line.split()) for line in out.splitlines()}
    assert code == 0 and list(rows) == ["agent", "dr-sp", "maestro"]
    assert rows["maestro"] == "maestro maestro 30 122,880 5 (first of 2) 100 test +0.83"
    assert json.loads(call(capsys, "agents", *OPTION, "--json")[1]) == shipped.cards(GAME.name)


def test_one_of_them_is_told_in_full(package, capsys):
    code, out, _ = call(capsys, "agents", "Maestro", *OPTION)
    assert code == 0 and out.startswith("agent: maestro\nmethod: maestro\nupdates: 30\n")
    assert out.splitlines()[-1].split() == ["dr-sp", "test", "6", "0.83", "0.17", "0.00", "+0.83"]
    assert "precision: float16" in out and "study: study" in out
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
    for folder in shipped.FOLDER.glob("*"):
        for name in shipped.names(folder.name):
            agent_file.load_params(shipped.FOLDER / folder.name / f"{name}.safetensors")
