"""`maestro train` before anything is trained, and `maestro resume` with other settings."""

import os
import re
import subprocess
import sys

import pytest

from maestro import cli, experiment, runs, settings
from maestro.config import PAPER, TINY
from maestro.envs.lasertag import maps


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("command", ["train", "resume"])
def test_help_explains_with_examples(capsys, command):
    code, out, _ = call(capsys, command, "--help")
    assert code == 0 and "For example" in out and f"maestro {command} " in out


def test_a_dry_run_prints_the_settings_in_force_and_makes_nothing(capsys, folder):
    code, out, _ = call(
        capsys, "train", "--preset", "tiny", "--seeds", 3, "--ppo.learning-rate=2e-4", "--dry-run"
    )
    config = settings.resolve("tiny", {"seeds": 3, "ppo": {"learning_rate": 2e-4}})
    assert code == 0 and out.startswith(settings.to_toml(config))
    assert f"# parameters of one agent: {experiment.parameter_count(config):,}\n" in out
    assert re.search(r"# memory on the device, about: [\d.]+ GB of [\d.]+ GB\n", out)
    assert list(folder.iterdir()) == []


def test_the_papers_preset_has_the_papers_network(capsys):
    assert "# parameters of one agent: 429,830" in call(capsys, "train", "--preset", "paper", "--dry-run")[1]


def test_what_a_dry_run_prints_is_a_settings_file(capsys, folder):
    out = call(capsys, "train", "lasertag", "--preset", "tiny", "--seed", 5, "--dry-run")[1]
    (folder / "mine.toml").write_text(out)
    assert call(capsys, "train", "--config", "mine.toml", "--dry-run")[1] == out


def test_options_win_over_the_file_also_for_the_preset(capsys, folder):
    (folder / "mine.toml").write_text('preset = "tiny"\nseeds = 4\n')
    out = call(capsys, "train", "--config", "mine.toml", "--seeds", 2, "--dry-run")[1]
    assert "seeds = 2" in out and f"hidden = {TINY.agent.hidden}" in out
    assert (
        "hidden = 256" in call(capsys, "train", "--config", "mine.toml", "--preset", "paper", "--dry-run")[1]
    )


@pytest.mark.parametrize("end", [["--dry-run"], []])
def test_what_cannot_fit_is_refused(capsys, folder, end):
    code, _, err = call(capsys, "train", "--preset", "paper", "--ppo.workers", 10_000_000, *end)
    assert code == 2 and "GB are needed, and the device has" in err
    assert list(folder.iterdir()) == []


MISTAKES = {
    "an unknown game": (["chess"], ["game: 'chess' is unknown; allowed: lasertag"]),
    "an unknown preset": (["--preset", "big"], ["preset: 'big' is not allowed; allowed: paper, fast, tiny"]),
    "an unknown option": (["--sedes", "3"], ["--sedes: unknown option; did you mean seeds?"]),
    "an unknown flag": (["--dry-rnu"], ["--dry-rnu: unknown option; did you mean dry-run?"]),
    "a missing value": (["--ppo.clip"], ["--ppo.clip: the value is missing"]),
    "a negative number": (["--seed", "-1"], ["seed: -1 is out of range; allowed: 0 to"]),
    "an unknown level": (
        ["--level", "crosss"],
        ["game.level: 'crosss': No such file", "did you mean Cross?"],
    ),
    "a broken level": (["--level", "bad.txt"], ["game.level: line 4, column 2: unknown character 'x'"]),
    "a missing file": (["--config", "none.toml"], ["none.toml: No such file"]),
    "many at once": (
        ["--sedes", "3", "--ppo.clip-value", "--ppo.wrkers", "8", "--ppo.epochs", "x", "--method", "mastro"],
        [
            "--sedes: unknown",
            "clip-value: the value",
            "ppo.wrkers: unknown",
            "ppo.epochs: 'x'",
            "mean maestro?",
        ],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("end", [["--dry-run"], []])
def test_a_mistake_is_told_with_code_2_and_no_folder_is_made(capsys, folder, name, end):
    (folder / "bad.txt").write_text("time limit: 9\nA faces: up\nB faces: up\nAx.B\n")
    arguments, messages = MISTAKES[name]
    code, out, err = call(capsys, "train", *arguments, *end)
    assert (code, out) == (2, "") and "Traceback" not in err
    assert all(message in err for message in messages), err
    assert os.listdir() == ["bad.txt"]


def test_wrong_settings_are_told_before_jax_is_loaded(folder):
    (folder / "mine.toml").write_text("seeds = true\n[ppo]\nclip = 99\n")
    code = (
        "import sys\nfrom maestro.cli import run\n"
        "code = run(['train', '--config', 'mine.toml', '--ppo.workers', '7', '--level', 'crosss'])\n"
        "print(code, {'jax', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "2 set()\n"
    for message in ("seeds: True", "ppo.clip: 99", "does not divide the 7", "game.level"):
        assert message in done.stderr


@pytest.fixture
def run_folder(folder):
    """A run that was created and never trained."""
    (folder / "mine.txt").write_text(maps.TEXTS["Maze1"])
    changes = settings.nested(
        [("ppo.clip", "0.3"), ("ppo.epochs", "5"), ("game.level", "mine.txt"), ("seeds", "2")]
    )
    return runs.create(folder / "run", settings.resolve("tiny", changes), "cpu")


def test_a_run_is_not_resumed_with_other_settings(capsys, folder, run_folder):
    (folder / "mine.toml").write_text("seeds = 3\n[ppo]\nclip = 0.3\nepochs = 9\n")
    code, _, err = call(capsys, "resume", "run", "--config", "mine.toml", "--method", "dr-sp")
    assert code == 2 and "a run keeps its settings; these are different:" in err
    lines = [line.strip() for line in err.splitlines()[1:]]
    assert lines == ["method: 'maestro' -> 'dr-sp'", "seeds: 2 -> 3", "ppo.epochs: 5 -> 9"]


def test_a_preset_in_the_file_counts_when_a_run_is_resumed(capsys, folder, run_folder):
    (folder / "mine.toml").write_text('preset = "paper"\n')
    err = call(capsys, "resume", "run", "--config", "mine.toml")[2]
    assert (
        f"agent.hidden: {TINY.agent.hidden} -> {PAPER.agent.hidden}" in err and "ppo.clip: 0.3 -> 0.2" in err
    )


def test_unknown_settings_are_told_when_a_run_is_resumed(capsys, run_folder):
    code, _, err = call(capsys, "resume", "run", "--ppo.clipp", "0.3", "--sedes", "2", "--preset", "paper")
    assert code == 2 and "ppo.clipp: unknown setting; did you mean clip" in err
    assert "--sedes: unknown option; did you mean seeds?" in err and "--preset: unknown option" in err


def test_what_is_no_run_is_told(capsys, folder):
    assert "has no config.toml" in call(capsys, "resume", "nothing")[2]


def test_a_run_keeps_the_level_of_a_file_that_is_gone(capsys, folder, run_folder, monkeypatch):
    (folder / "mine.txt").unlink()
    monkeypatch.chdir("/")
    config = runs.open_run(run_folder.path)[1]
    assert config.game.level == maps.TEXTS["Maze1"]
    assert maps.TEXTS["Maze1"] in run_folder.config.read_text()
