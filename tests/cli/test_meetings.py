"""Who meets whom, by which name: students of runs that share a method, or files that share a name."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from maestro import cli
from maestro.cli import evaluate
from maestro.evaluation import table
from maestro.games import shipped
from maestro.runs import agent_file, entrants, exploiters
from maestro.runs import folder as run_folder
from study_helpers import GAME, PAPER, ROCK, SCISSORS, finished, study

HANDS = ("--game", "study_helpers:GAME", "--levels", "here", "--episodes", "2")
WON = {"paper": 0.0, "rock": 1.0, "scissors": -1.0}  # the return of paper against each


def run(place, name, *hands, **about):
    """The folder of a finished run whose students always show these hands."""
    (planned,) = study({"method": "dr-sp", **about}).cohorts
    return str(finished(place, replace(planned, name=name), hands).path)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Three runs of one method by what they show; and another of the first one's name, elsewhere."""
    monkeypatch.chdir(tmp_path)
    found = {
        name: run(tmp_path, name, hand, hand) for name, hand in zip(WON, (PAPER, ROCK, SCISSORS), strict=True)
    }
    return found | {"other paper": run(tmp_path / "other", "paper", ROCK)}


def told(capsys, *arguments):
    """What a command has told as JSON."""
    code = cli.run([*map(str, arguments), *HANDS, "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


@pytest.mark.parametrize("other", ["rock", "scissors"])
def test_a_run_is_measured_against_another_of_its_method_and_not_against_itself(capsys, runs, other):
    (row,) = told(capsys, "evaluate", runs["paper"], "--against", runs[other])["against"]
    assert (row["who"], row["against"], row["return"]) == ("paper", other, WON[other])
    assert row["games"] == 2 * 2 * 2 * 2


def test_students_of_one_number_of_other_runs_are_opponents(capsys, runs):
    one, other = (f"{runs[name]}/agents/student-0.safetensors" for name in ("paper", "scissors"))
    (row,) = told(capsys, "evaluate", one, "--against", other)["against"]
    assert (row["who"], row["against"], row["return"]) == ("paper/student-0", "scissors/student-0", -1)


def test_a_run_with_fewer_students_than_its_opponent_plays_itself(capsys, runs):
    rows = told(capsys, "evaluate", runs["other paper"], "--against", runs["paper"], runs["scissors"])
    assert [row["return"] for row in rows["against"]] == [-1, 1]
    assert [row["who"] for row in rows["against"]] == ["other/runs/paper"] * 2


def test_a_run_against_itself_plays_all_of_its_students(capsys, runs):
    (row,) = told(capsys, "evaluate", runs["paper"], "--against", f"{runs['paper']}/")["against"]
    assert (row["who"], row["against"], row["games"], row["seeds"]) == ("dr-sp", "dr-sp", 4 * 4, 2)


def test_only_those_who_share_a_name_are_called_by_more_of_their_paths(runs, tmp_path):
    student = "agents/student-1.safetensors"
    typed = [*runs.values(), f"{runs['paper']}/{student}", f"{runs['rock']}/{student}", f"{runs['rock']}:0"]
    labels = entrants.labels_of(GAME, [*typed, "Random", "paper"])
    top = tmp_path.name
    assert list(labels.values()) == [
        f"{top}/runs/paper",
        "rock",
        "scissors",
        "other/runs/paper",
        "paper/student-1",
        "rock/student-1",
        "rock:0",
        "random",
        "paper",
    ]
    assert list(entrants.labels_of(GAME, [runs["rock"], "rock"]).values()) == ["dr-sp", "rock"]


def test_what_is_named_twice_is_refused_however_it_is_typed(capsys, runs):
    for second in (runs["paper"], f"{runs['paper']}/", f"{runs['rock']}/../paper"):
        words = ("crossplay", runs["paper"], second, "--out", "games", *HANDS)
        assert cli.run(list(words)) == 2
        assert "is named twice, as 'dr-sp'; name each only once" in capsys.readouterr().err


def test_an_agent_of_the_package_keeps_its_name_beside_a_run_of_its_method(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "package")
    (planned,) = study({"method": "dr-sp"}).cohorts
    path = tmp_path / "package" / "hands" / "dr-sp.safetensors"
    path.parent.mkdir(parents=True)
    students = entrants.open_run(tmp_path / "runs" / "rock", GAME).students()
    agent_file.save(path, planned.config, students[0].player.params, {"seed": 0})
    found = entrants.find_all(GAME, [runs["paper"], "dr-sp"])
    assert list(found) == ["paper", "dr-sp"] and found["dr-sp"][0].digest == students[0].digest


def test_specialists_of_one_level_keep_it_in_their_names(runs, tmp_path):
    named = [
        run(tmp_path, name, PAPER, level="here") for name in ("spec", "spec2", "dr-sp@here", "spec-here")
    ]
    assert list(entrants.find_all(GAME, named[:3])) == ["spec@here", "spec2@here", "dr-sp@here"]
    plain = run(tmp_path, "a@here", ROCK)
    assert list(entrants.find_all(GAME, [plain, runs["rock"], *named[1::2]])) == [
        "a-here",
        "rock",
        "spec2@here",
        "spec@here",
    ]


def test_best_responses_are_trained_only_where_they_can_be_kept(capsys, runs, tmp_path, monkeypatch):
    (tmp_path / "runs" / "rock" / "exploiters").touch()
    monkeypatch.setattr(evaluate, "measured", lambda *words: pytest.fail("it has played"))
    words = ("evaluate", runs["paper"], runs["rock"], "--against", "paper", *HANDS, "--exploit", "1")
    assert cli.run(list(words)) == 2
    assert "--exploit: " in (told := capsys.readouterr().err) and "rock/exploiters' cannot be made" in told


def test_settings_that_no_response_can_be_trained_with_are_told_before_anything_is_played(
    capsys, runs, tmp_path, monkeypatch
):
    config = tmp_path / "runs" / "rock" / "config.toml"
    config.write_text(config.read_text().replace("clip = ", "clop = "))
    monkeypatch.setattr(evaluate, "measured", lambda *words: pytest.fail("it has played"))
    assert cli.run(["evaluate", runs["rock"], "--against", "paper", *HANDS, "--exploit", "1"]) == 2
    assert "config.toml is damaged" in capsys.readouterr().err


def test_best_responses_are_told_by_the_names_of_the_table(capsys, runs, tmp_path, monkeypatch):
    found = {"response": {}, "budget": {}}
    monkeypatch.setattr(exploiters, "exploit", lambda *words, **more: (found, None))
    monkeypatch.setattr(exploiters, "save", lambda out, config, names, *more: kept.append((out, names)))
    kept = []
    result = told(capsys, "evaluate", runs["rock"], "--against", runs["scissors"], "--exploit", "1")
    assert list(result["exploitability"]) == list(result["robustness"]) == ["rock"]
    assert kept == [(tmp_path / "runs" / "rock" / "exploiters", ["rock/0", "rock/1"])]
    assert kept[0][0].is_dir()


def test_games_along_training_are_counted_as_they_are_shown(capsys, runs, monkeypatch, tmp_path):
    own = entrants.find_all
    monkeypatch.setattr(entrants, "find_all", lambda game, who, at=None, labels=None: own(game, who))
    monkeypatch.setattr("maestro.runs.milestones.points", lambda folder: [2, 4])
    found = told(capsys, "crossplay", runs["paper"], runs["rock"], "--milestones", "--out", "games")
    played = table.read(tmp_path / "games" / "table.csv")
    assert found["games"] == 4 * 2 * 2 and played["episodes"].sum() == 2 * found["games"]


def test_a_command_that_a_message_names_can_be_typed(tmp_path):
    place = tmp_path / "runs live"
    folder = run(place, "one", PAPER)
    for path in run_folder.RunFolder(Path(folder)).agents.iterdir():
        path.unlink()
    with pytest.raises(run_folder.RunError) as caught:
        entrants.find_all(GAME, [folder])
    assert f"maestro export {shlex.quote(folder)} writes those of now" in str(caught.value)
    assert shlex.quote(folder) != folder


ORIGINS = {
    "where it was found": ({"game_from": "my_hands:GAME"}, "my_hands:GAME"),
    "by its name": ({"game_from": "hands"}, "hands"),
    "so that it can be typed": ({"game_from": "x; rm"}, "'x; rm'"),
    "not at all": ({"game_from": None}, "module:NAME"),
    "by what is no name": ({"game_from": 3}, "module:NAME"),
}


@pytest.mark.parametrize("about, typed", ORIGINS.values(), ids=ORIGINS)
def test_a_run_of_another_game_says_what_to_type_for_it(capsys, runs, about, typed):
    folder = run_folder.RunFolder(Path(runs["paper"]))
    run_folder.write_about(folder, {**run_folder.read_json(folder.about), **about})
    assert cli.run(["evaluate", runs["paper"]]) == 2
    message = f"is a run of 'hands', not of lasertag; if that is the game: --game {typed}\n"
    assert message in capsys.readouterr().err


def test_a_run_of_a_known_game_is_told_by_that(tmp_path, runs):
    (planned,) = study({"method": "dr-sp"}).cohorts
    folder = finished(tmp_path / "x", replace(planned, config=replace(planned.config, game="racing")), [])
    with pytest.raises(run_folder.RunError, match="if that is the game: --game racing"):
        entrants.open_run(folder.path, GAME)
