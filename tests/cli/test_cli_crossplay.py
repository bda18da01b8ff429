"""`maestro crossplay` and `maestro evaluate` on runs, agents and scripted players; and who takes part."""

import json
import shutil
from pathlib import Path

import pytest

from maestro import cli
from maestro.evaluation import table
from maestro.runs import agent_file, entrants
from maestro.runs.folder import RunError
from probes import RACE
from runs_helpers import micro, trained_run

KEPT = {"times": 0, "keep_students": True}
GAME = ("--game", "probes:RACE")
FEW = ("--levels", "generated:3", "--episodes", "2")


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that were trained for a moment, and a third of the same method as the first."""
    base, found = tmp_path_factory.mktemp("runs"), {}
    for name, method, seeds in (("one", "maestro", 2), ("two", "dr-sp", 1)):
        config = micro(method, seeds=seeds, evaluation=KEPT)
        found[name] = trained_run(base / name, config, exported=True)
    shutil.copytree(base / "one", base / "again")
    return {name: str(folder.path) for name, folder in found.items()} | {"again": str(base / "again")}


def test_students_of_runs_and_scripted_players_meet(capsys, runs, tmp_path) -> None:
    who = (runs["one"], runs["two"], "random")
    code, out, errors = call(capsys, "crossplay", *who, *GAME, *FEW, "--out", tmp_path / "games")
    assert code == 0, errors
    assert "generated:3 (3 levels)" in out and "maestro" in out and "dr-sp" in out and "table.csv" in out
    games = table.read(tmp_path / "games" / "table.csv")
    assert set(games["a"]) | set(games["b"]) == {"maestro", "dr-sp", "random"}
    assert games["episodes"].sum() == (2 * 1 + 2 * 1 + 1 * 1) * 3 * 2 * 2
    again = call(capsys, "crossplay", *who, *GAME, *FEW, "--out", tmp_path / "games", "--json")
    told = json.loads(again[1])
    assert told["games"] == games["episodes"].sum()
    assert {row["method"]: row["seeds"] for row in told["standings"]} == {
        "maestro": 2,
        "dr-sp": 1,
        "random": 1,
    }


def test_milestones_meet_their_like(capsys, runs, tmp_path) -> None:
    out = tmp_path / "games"
    words = (runs["one"], runs["two"], *GAME, *FEW, "--milestones", "--out", out)
    code, _, errors = call(capsys, "crossplay", *words)
    assert code == 0, errors
    assert sorted(set(table.read(out / "table.csv")["updates"].tolist())) == [0, 3, 6, 8]


def test_two_runs_of_one_method_go_by_their_folders(runs) -> None:
    groups = entrants.find_all(RACE, [runs["one"], runs["again"], runs["two"], "Random"])
    assert list(groups) == ["one", "again", "dr-sp", "random"]
    assert [e.name for e in groups["one"]] == ["one/0", "one/1"] and groups["one"][0].digest
    found = entrants.runs_among(RACE, [runs["two"], runs["again"], "Random", runs["one"]])
    assert [run.label for run in found.values()] == ["dr-sp", "again", "one"]


def test_an_agents_file_and_a_student_of_a_run_take_part(runs) -> None:
    file = Path(runs["one"]) / "agents" / "student-1.safetensors"
    (found,) = entrants.find_all(RACE, [str(file)])["student-1"]
    assert found.seed == 1 and found.digest == agent_file.read_card(file.with_suffix(".json"))["sha256"]
    old = entrants.open_run(Path(runs["one"]), RACE).students(3)
    assert len(old) == 2 and old[0].digest != found.digest


def test_a_specialist_is_called_by_its_level(runs, tmp_path) -> None:
    shutil.copytree(runs["two"], tmp_path / "run")
    text = (tmp_path / "run" / "config.toml").read_text()
    (tmp_path / "run" / "config.toml").write_text(text.replace('level = ""', 'level = "some\\nfile"'))
    assert entrants.open_run(tmp_path / "run", RACE).label == "dr-sp@file"


MISTAKES = {
    "no run": (("empty", "random", *FEW), "is no run folder: it has no config.toml"),
    "no students": (("bare", "random", *FEW), "has no students yet; maestro export"),
    "player": (("nobody", "random", *FEW), "unknown player 'nobody'"),
    "nobody": (FEW, "who: nobody is named"),
    "one alone": (("two", *FEW), "one alone has nobody to play against"),
    "twice": (("two", "two", *FEW), "name each only once"),
    "level": (("two", "random", "--levels", "Cross"), "--levels: unknown level 'Cross'"),
    "no levels": (("two", "random", "--levels", ","), "--levels: no level is selected"),
    "episodes": (("two", "random", *FEW[:2], "--episodes", 0), "--episodes: 0 is not between"),
    "milestones": (("random", *FEW, "--milestones"), "--milestones: there is no number of updates"),
}


@pytest.fixture
def places(runs, tmp_path):
    """Folders by the names that the mistakes give them."""
    (tmp_path / "empty").mkdir()
    without = shutil.ignore_patterns("agents")
    shutil.copytree(runs["two"], tmp_path / "bare", ignore=without)
    return {**runs, "empty": tmp_path / "empty", "bare": tmp_path / "bare"}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_cross_play_is_told_with_code_2(capsys, places, tmp_path, name) -> None:
    words, message = MISTAKES[name]
    typed = [places.get(word, word) for word in words]
    code, _, errors = call(capsys, "crossplay", *typed, *GAME, "--out", tmp_path / "out")
    assert code == 2 and message in errors and "Traceback" not in errors
    assert not (tmp_path / "out").exists()


def test_another_game_and_a_folder_in_use_are_refused(capsys, runs, tmp_path) -> None:
    code, _, errors = call(capsys, "crossplay", runs["two"], "random", "--out", tmp_path / "out")
    assert code == 2 and "is a run of 'race', not of lasertag" in errors
    code, _, errors = call(capsys, "crossplay", runs["two"], "random", *GAME, *FEW, "--out", runs["one"])
    assert code == 2 and "--out:" in errors and "is not empty" in errors


def test_students_are_measured_against_opponents_of_ones_choice(capsys, runs, tmp_path) -> None:
    words = (runs["one"], *GAME, *FEW, "--against", "random", runs["two"], "--out", tmp_path / "games.csv")
    code, out, errors = call(capsys, "evaluate", *words)
    assert code == 0, errors
    assert "levels: generated:3, 48 games" in out and "CVaR 10%" in out
    assert set(table.read(tmp_path / "games.csv")["b"]) == {"random", "dr-sp"}


@pytest.mark.long
def test_a_best_response_is_trained_and_kept(capsys, runs) -> None:
    words = (runs["one"], runs["again"], *GAME, *FEW, "--against", "random", "--exploit", 2, "--json")
    code, out, errors = call(capsys, "evaluate", *words)
    assert code == 0, errors
    found = json.loads(out)["exploitability"]
    assert {name: one["budget"]["updates"] for name, one in found.items()} == {"one": 2, "again": 2}
    assert list(Path(runs["again"]).glob("exploiters/*.safetensors"))


WRONG = {
    "split": (("--split", "tets"), "race has no splits; or both --levels and --against"),
    "odd": ((*FEW[:2], "--against", "random", "--episodes", 3), "--episodes: 3 is odd"),
    "ending": ((*FEW, "--against", "random", "--out", "games.txt"), "--out: 'games.txt' does not end in"),
    "exploit": ((*FEW, "--against", "random", "--exploit", -1), "--exploit: -1 is not between"),
}


def test_a_best_response_needs_a_run(capsys) -> None:
    code, out, errors = call(capsys, "evaluate", "random", *GAME, *FEW, "--against", "random", "--exploit", 2)
    assert (code, out) == (2, "") and "--exploit: needs the folder of a run" in errors


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_an_evaluation_is_told_with_code_2(capsys, runs, name) -> None:
    words, message = WRONG[name]
    code, _, errors = call(capsys, "evaluate", runs["two"], *GAME, *words)
    assert code == 2 and message in errors and "Traceback" not in errors


def test_a_damaged_run_is_refused(runs, tmp_path) -> None:
    shutil.copytree(runs["two"], tmp_path / "run")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace('game = "race"', 'game = "chess"'))
    with pytest.raises(RunError, match="the game 'chess' is not known here"):
        entrants.open_run(tmp_path / "run")
