"""The command that compares estimated with true regret, on a small run with its checkpoint."""

import json
import shutil

import pytest

from maestro import cli
from maestro.analysis import true_regret
from runs_helpers import micro, new_folder, trained_run

CONFIG = micro(seeds=2, seed=5)
GAME = ("--game", "probes:RACE")
SIZE = ("--levels", 2, "--games", 4, "--updates", 2, "--rollouts", 2)


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run."""
    return trained_run(tmp_path_factory.mktemp("true") / "run", CONFIG).path


def refuse(*_):
    """In place of what must not be measured again."""
    raise AssertionError("measured again")


@pytest.mark.long
def test_levels_are_measured_written_drawn_and_told_and_not_measured_twice(capsys, run, monkeypatch):
    code, out, _ = call(capsys, "landscape", "--true", run, *SIZE, *GAME)
    assert code == 0 and "rank correlation" in out and "2 top" in out.replace("4 top", "2 top")
    found = json.loads((run / "true_regret" / "true_regret.json").read_text())
    assert {row["seed"] for row in found["levels"]} == {5, 6} and len(found["levels"]) == 12
    assert (found["games"], found["updates"], found["student"]) == (4, 2, 8)
    for row in found["levels"]:
        assert row["true_regret"] == pytest.approx(row["response_return"] - row["student_return"], abs=1e-5)
        assert {"stored", "max_mc", "positive_value_loss"} <= set(row["estimates"])
        assert json.loads(row["text"])["number"] < 48
    top = [row["estimates"]["stored"] for row in found["levels"] if row["seed"] == 5][:2]
    assert top == sorted(top, reverse=True)
    for name in ("true_regret.json", "true_regret.csv", "scatter.png", "scatter.pdf"):
        assert str(run / "true_regret" / name) in out and (run / "true_regret" / name).stat().st_size > 0
    assert not (run / "true_regret" / "levels.png").exists()  # this game has no pictures
    monkeypatch.setattr(true_regret.Survey, "measure", refuse)
    code, out, errors = call(capsys, "landscape", "--true", run, *SIZE, *GAME, "--json", "--seed", 6)
    again = json.loads(out)
    assert code == 0 and "seed 6" in errors and "measured before" in errors
    assert again["levels"] == [row for row in found["levels"] if row["seed"] == 6]
    with pytest.raises(AssertionError, match="measured again"):
        call(capsys, "landscape", "--true", run, *SIZE, *GAME, "--dice", 1)


MISTAKES = {
    "odd rollouts": (("--rollouts", 3), "--rollouts: 3 is odd"),
    "no levels": (("--levels", 0), "--levels: 0 is not between 1 and 1024"),
    "one game": (("--games", 1), "--games: 1 is not between 2 and 4096"),
    "no budget": (("--updates", 0), "--updates: 0 is not between 1 and 1000000"),
    "no such seed": (("--seed", 9), "--seed: the run has no seed 9; it has 5 to 6"),
    "no place": (("--out", "/dev/null/x"), "--out: '/dev/null/x' cannot be made"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_true_regret_is_told_with_code_2(capsys, run, name):
    options, message = MISTAKES[name]
    code, out, errors = call(capsys, "landscape", "--true", run, *GAME, *options)
    assert (code, out) == (2, "") and message in errors and "Traceback" not in errors


def test_a_run_without_checkpoints_or_without_stored_levels_is_refused(capsys, run, tmp_path):
    shutil.copytree(run, tmp_path / "bare", ignore=shutil.ignore_patterns("checkpoints", "true_regret"))
    code, _, errors = call(capsys, "landscape", "--true", tmp_path / "bare", *SIZE, *GAME)
    assert code == 2 and "checkpoint" in errors
    new_folder(tmp_path / "dr", micro("dr-fsp"))
    code, _, errors = call(capsys, "landscape", "--true", tmp_path / "dr", *SIZE, *GAME)
    assert code == 2 and "dr-fsp stores no levels, so no regret was estimated" in errors
