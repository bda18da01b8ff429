"""Runs that were trained to their end: what `resume` says of them, and `train --from` makes of them."""

import json
import os
import signal

import pytest

import runs_helpers
from maestro import cli
from maestro.cli import launch, train
from maestro.games import shipped
from maestro.games.lasertag import GAME
from maestro.runs import build, checkpoints, summary
from runs_helpers import Listener, micro, reached, trained_run

CONFIG = micro("dr-fsp", {"total_updates": 4, "interval": 2}, evaluation={"times": 0})


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that was trained, and then killed before anything was exported."""
    return trained_run(tmp_path_factory.mktemp("runs") / "run", CONFIG)


@pytest.fixture(scope="module")
def finished(trained):
    """The same run with all that comes after training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "LAST_LEVELS", 2)
        assert cli.run(["resume", str(trained.path), "--game", "probes:RACE"]) == 0
    return trained


def files(folder):
    """Every file of a run with its content."""
    return {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


def test_a_run_that_was_not_exported_is_resumed_to_do_the_rest(capsys, trained, request):
    assert "trained, not exported" in call(capsys, "runs", trained.path)[1]
    finished = request.getfixturevalue("finished")
    assert " finished, " in call(capsys, "runs", finished.path)[1]
    assert len(list(finished.agents.glob("*.safetensors"))) == CONFIG.seeds


def test_a_finished_run_says_so_when_it_is_resumed_and_stays_as_it_is(capsys, finished):
    before = files(finished)
    code, out, errors = call(capsys, "resume", finished.path, "--game", "probes:RACE")
    assert (code, errors) == (0, "") and files(finished) == before
    assert out.startswith(f"{finished.path} is finished: all 4 updates are made")
    assert f"maestro train probes:RACE --from {finished.path} --schedule.total-updates N" in out


def dry_run(capsys, *arguments):
    """What is said of a run that is not begun."""
    return call(capsys, "train", *arguments, "--dry-run")


def test_the_settings_of_a_run_that_goes_on_are_those_of_the_other(capsys, finished):
    more = ("--from", finished.path, "--schedule.total-updates", 9, "--ppo.learning-rate", "0.002")
    code, out, _ = dry_run(capsys, "probes:RACE", *more)
    assert code == 0 and "total_updates = 9" in out and "learning_rate = 0.002" in out
    assert "interval = 2" in out and "rollout_length = 8" in out and 'method = "dr-fsp"' in out
    told = f"# goes on from update 4 of {finished.path}; changed: "
    assert told + "ppo.learning_rate: 0.01 -> 0.002; schedule.total_updates: 4 -> 9" in out


def test_a_run_begins_with_the_file_of_an_agent(capsys, finished, tmp_path):
    student = finished.agents / "student-1.safetensors"
    code, out, _ = dry_run(capsys, "probes:RACE", "--from", student, "--preset", "tiny", "--seeds", 3)
    assert code == 0 and f"# begins with the parameters of {student}" in out
    code, out, errors = call(
        capsys, "train", "probes:RACE", "--from", student, "--agent.hidden", 9, "--out", tmp_path / "new"
    )
    assert (code, out) == (2, "") and not (tmp_path / "new").exists()
    assert "--from: " in errors and "for the same one: --agent.hidden 8" in errors


def test_a_run_begins_with_an_agent_of_the_package_by_its_name(capsys):
    code, out, errors = dry_run(capsys, "lasertag", "--from", "maestro", "--preset", "fast")
    assert code == 0, errors
    assert f"# begins with the parameters of {shipped.find('lasertag', 'maestro')}" in out


MISTAKES = {
    "nothing": (["--from", "nope"], "--from: 'nope' is neither an agent nor a run"),
    "no agent": (["--from", "{run}/config.toml"], "--from: {run}/config.toml: does not end in .safetensors"),
    "no run": (["--from", "{run}/agents"], "--from: {run}/agents is no run folder: it has no config.toml"),
    "not enough updates": (["--from", "{run}"], "schedule.total_updates: 4 is not more than the 4 updates"),
    "other seeds": (
        ["--from", "{run}", "--schedule.total-updates", "8", "--seeds", "3"],
        "seeds: 2 -> 3, which a run that goes on keeps",
    ),
    "a preset": (
        ["--from={run}", "--preset", "tiny"],
        "preset: 'tiny' is not allowed; the settings are those",
    ),
    "a mistake": (["--from={run}", "--ppo.epochs", "x"], "ppo.epochs: 'x' is not a whole number"),
    "no value": (["--from"], "Missing value for argument '--from'"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_what_to_begin_with_is_told_with_code_2(capsys, finished, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    words, message = MISTAKES[name]
    words = [word.format(run=finished.path) for word in words]
    code, out, errors = call(capsys, "train", "probes:RACE", *words)
    assert (code, out, os.listdir()) == (2, "", []) and "Traceback" not in errors
    assert message.format(run=finished.path) in errors


def test_the_game_of_another_run_is_its_own_and_must_be_known_or_typed(capsys, finished):
    code, _, errors = dry_run(capsys, "lasertag", "--from", finished.path)
    assert code == 2 and "--from: lasertag is lasertag, and the run is of 'race'" in errors


@pytest.mark.long
def test_a_run_that_goes_on_is_trained_to_its_new_end(finished, tmp_path):
    new, more = tmp_path / "new", ["--schedule.total-updates", 6]
    code, out, errors = runs_helpers.call(
        "train", "probes:RACE", "--from", finished.path, *more, "--out", new
    )
    assert code == 0, errors
    lines = out.splitlines()
    assert lines[0].startswith(f"goes on from update 4 of {finished.path}; changed: schedule.total_updates")
    assert "resuming at update 4" in lines and reached(new) == 6 and (new / "summary.json").exists()
    assert json.loads((new / "about.json").read_text())["from"]["update"] == 4


def test_without_an_accelerator_the_usual_preset_is_small_and_that_is_said(tmp_path):
    process = runs_helpers.start("train", "--out", tmp_path / "run", HELD_COMPILING="1")
    try:
        said = []
        for line in process.stdout:
            said.append(line.strip())
            if line.startswith("compiling"):
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(runs_helpers.PATIENCE) == 128 + signal.SIGINT
    finally:
        runs_helpers.end_all()
    assert (
        said[0] == "no accelerator here, hence preset tiny; for as much as on an accelerator: --preset fast"
    )
    assert "usually ten seconds to two minutes" in said[-1]
    assert checkpoints.found(tmp_path / "run" / "checkpoints")


def remark(**options):
    """What is said of the preset."""
    return train.resolve(GAME, train.Options(**options), {}, [], None)[-1]


def test_nothing_is_said_of_a_preset_that_was_asked_for(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text('preset = "tiny"\n')
    assert remark() == train.TOLD
    assert remark(preset="tiny") == remark(preset="fast") == remark(config=str(tmp_path / "mine.toml")) == ""
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert remark() == ""


def test_what_takes_long_without_an_accelerator_is_foretold(monkeypatch):
    told = Listener()
    for name in ("tiny", "fast"):
        config = GAME.presets[name]
        launch.foretell(launch.Job(GAME, config), build.experiment(GAME, config), None, told)
    (line,) = told.said
    assert line.startswith("without an accelerator this takes about ")
    assert line.endswith(("hours; for less: --preset tiny", "days; for less: --preset tiny"))
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    launch.foretell(launch.Job(GAME, config, remark="so"), build.experiment(GAME, config), None, told)
    assert told.said[1:] == ["so"]
