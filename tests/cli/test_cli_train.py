"""`maestro train` before anything is trained, and `maestro resume` with other settings."""

import os
import re

import pytest

from maestro import cli, toml
from maestro.cli.opening import open_run
from maestro.envs.lasertag import maps
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.runs import folder as run_folder
from runs_helpers import claim, nested

PAPER, TINY = GAME.presets["paper"], GAME.presets["tiny"]


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
    config = build.configure(GAME, TINY, {"seeds": 3, "ppo": {"learning_rate": 2e-4}})
    assert code == 0 and out.startswith(toml.to_toml(config))
    parameters = build.parameter_count(build.experiment(GAME, config))
    assert f"# parameters of one agent: {parameters:,}\n" in out
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
    "an unknown game at the end": (
        ["--seeds", "3", "chess"],
        ["game: 'chess' is unknown; allowed: lasertag"],
    ),
    "no game": ([""], ["game: '' is unknown; allowed: lasertag"]),
    "a game as an option": (
        ["--game", "lasertag"],
        ["--game: here the game stands by itself, maestro train"],
    ),
    "a word too many": (["lasertag", "chess"], ["Unrecognized options: chess"]),
    "a short option": (["-s", "3"], ["Unrecognized options: -s"]),
    "an unknown preset": (["--preset", "big"], ["preset: 'big' is not allowed; allowed: paper, fast, tiny"]),
    "an unknown option": (["--sedes", "3"], ["--sedes: unknown option; did you mean seeds?"]),
    "an unknown flag": (["--dry-rnu"], ["--dry-rnu: unknown option; did you mean dry-run?"]),
    "a missing value": (["--ppo.clip"], ["--ppo.clip: the value is missing"]),
    "a missing list": (["--agent.heads"], ["--agent.heads: the value is missing"]),
    "an empty preset": (["--preset="], ["--preset: the value is empty"]),
    "an empty folder": (["--preset", "tiny", "--out", ""], ["--out: the value is empty"]),
    "a missing preset": (["--preset"], ["Missing value for argument '--preset'"]),
    "an option without its group": (["--learning-rate", "1"], ["option; did you mean ppo.learning-rate?"]),
    "an option like none": (["--qqqq", "1"], ["--qqqq: unknown option; --help lists them all"]),
    "a value for a flag": (["--wandb=yes"], ["--wandb: takes no value, and 'yes' was given"]),
    "what the game decides": (["--agent.num-actions", "3"], ["agent.num_actions: unknown setting; allowed"]),
    "no truth value": (["--ppo.clip-value", "1"], ["ppo.clip_value: '1' is not true or false"]),
    "no denial": (["--ppo.no-epochs"], ["--ppo.no-epochs: the value is missing"]),
    "a group as a value": (["--agent", "3"], ["agent: '3' is no group of settings"]),
    "a setting below a setting": (
        ["--ppo.clip.x", "3"],
        ["ppo.'clip.x': unknown setting; did you mean clip"],
    ),
    "a method in a file that is not there": (
        ["--method", "no_such:RULE"],
        ["--method: no_such:RULE: ModuleNot"],
    ),
    "a method that is none": (
        ["--method", "json:loads"],
        ["--method: json:loads is a function, not a Method"],
    ),
    "a negative number": (["--seed", "-1"], ["seed: -1 is out of range; allowed: 0 to"]),
    "an unknown level": (
        ["--level", "crosss"],
        ["level: unknown level 'crosss' (nearest: 'Cross'; allowed: Cross, ", "nor is there a file of that"],
    ),
    "a broken level": (["--level", "bad.txt"], ["level: bad.txt: line 4, column 2: unknown character 'x'"]),
    "a missing file": (["--config", "none.toml"], ["none.toml: No such file"]),
    "a folder as a file": (["--config", "."], [".: Is a directory"]),
    "settings of a newer version": (["--config", "new.toml"], ["new.toml: format 99 was made by a newer"]),
    "settings of another game": (["--config", "chess.toml"], ["game: these settings are of 'chess', not of"]),
    "many at once": (
        ["--sedes", "3", "--ppo.clip", "--ppo.wrkers", "8", "--ppo.epochs", "x", "--method", "mastro"],
        [
            "--sedes: unknown",
            "ppo.clip: the value",
            "ppo.wrkers: unknown",
            "ppo.epochs: 'x'",
            "mean maestro?",
        ],
    ),
}


PLACES = {
    "a file as a folder": (["--out", "bad.txt"], ["--out: bad.txt is a file, not a folder"]),
    "a folder below a file": (["--out", "bad.txt/run"], ["--out: bad.txt/run: cannot be written: Not a dir"]),
    "a folder in use": (["--out", "."], ["--out: . is not empty; choose another --out"]),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_run_is_not_put_where_something_else_is(capsys, folder, name):
    (folder / "bad.txt").write_text("mine")
    arguments, messages = PLACES[name]
    code, out, err = call(capsys, "train", "--preset", "tiny", *arguments)
    assert (code, out) == (2, "") and "Traceback" not in err
    assert all(message in err for message in messages), err
    assert os.listdir() == ["bad.txt"] and (folder / "bad.txt").read_text() == "mine"


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("end", [["--dry-run"], []], ids=["dry-run", "run"])
def test_a_mistake_is_told_with_code_2_and_no_folder_is_made(capsys, folder, name, end):
    (folder / "bad.txt").write_text("time limit: 9\nA faces: up\nB faces: up\nAx.B\n")
    (folder / "new.toml").write_text("format = 99\n")
    (folder / "chess.toml").write_text('game = "chess"\n')
    arguments, messages = MISTAKES[name]
    code, out, err = call(capsys, "train", *arguments, *end)
    assert (code, out) == (2, "") and "Traceback" not in err
    assert all(message in err for message in messages), err
    assert sorted(os.listdir()) == ["bad.txt", "chess.toml", "new.toml"]


def test_mistakes_in_a_file_and_in_options_are_told_all_at_once(capsys, folder):
    (folder / "mine.toml").write_text('preset = "big"\nseeds = true\n[ppo]\nclip = 99\n')
    arguments = ["--config", "mine.toml", "--ppo.workers", "7", "--level", "crosss", "--sedes", "2"]
    code, out, err = call(capsys, "train", "lasertag", *arguments)
    first, *lines = err.splitlines()
    assert (code, out) == (2, "") and first == "maestro: these settings cannot be used:"
    starts = [
        "--sedes:",
        "preset: 'big'",
        "seeds: True",
        "level: ",
        "ppo.clip: 99",
        "ppo.minibatches: 4 does",
    ]
    assert all(line.startswith(f"  {start}") for line, start in zip(lines, starts, strict=True)), err


def dry_run(capsys, *arguments):
    """What is printed of settings that are fine."""
    code, out, err = call(capsys, "train", "lasertag", "--preset", "tiny", *arguments, "--dry-run")
    assert (code, err) == (0, "")
    return out


def test_a_setting_that_is_true_or_false_can_be_a_flag(capsys):
    assert "clip_value = false" in dry_run(capsys, "--ppo.no-clip-value")
    assert "clip_value = false" in dry_run(capsys, "--ppo.no-clip-value", "--seeds", 1)
    assert "clip_value = true" in dry_run(capsys, "--ppo.no-clip-value", "--ppo.clip-value")
    for words in (["--ppo.clip-value=false"], ["--ppo.clip-value", "false"], ["--ppo.clip_value", "false"]):
        assert "clip_value = false" in dry_run(capsys, *words)


def test_a_list_can_be_several_words_or_one(capsys):
    for words in (["--agent.heads", 8, 16], ["--agent.heads", "8,16"], ["--agent.heads=8,16"]):
        assert "heads = [8, 16]" in dry_run(capsys, *words, "--seed", 4)
    assert "heads = []" in dry_run(capsys, "--agent.heads=")
    assert 'opponents = ["first", "hunter"]' in dry_run(capsys, "--evaluation.opponents", "first", "hunter")


@pytest.mark.parametrize(
    "before",
    [
        ["--seeds", "3"],
        ["--ppo.no-clip-value"],
        ["--ppo.clip-value"],
        ["--agent.heads", "8", "16"],
        ["--wandb"],
    ],
)
def test_the_game_may_stand_behind_options(capsys, before):
    code, out, _ = call(capsys, "train", *before, "lasertag", "--preset", "tiny", "--dry-run")
    assert code == 0 and 'game = "lasertag"' in out
    code, _, err = call(capsys, "train", *before, "no_such_module:GAME", "--preset", "tiny", "--dry-run")
    assert code == 2 and "game: no_such_module:GAME: ModuleNotFoundError" in err


@pytest.fixture
def new_run(folder):
    """A run that was created and never trained."""
    (folder / "mine.txt").write_text(maps.TEXTS["Maze1"])
    changes = nested([("ppo.clip", "0.3"), ("ppo.epochs", "5"), ("level", "mine.txt"), ("seeds", "2")])
    run = claim(folder / "run")
    run_folder.begin(run, build.configure(GAME, TINY, changes))
    return run


def test_a_run_is_not_resumed_with_other_settings(capsys, folder, new_run):
    (folder / "mine.toml").write_text("seeds = 3\n[ppo]\nclip = 0.3\nepochs = 9\n")
    code, _, err = call(capsys, "resume", "run", "--config", "mine.toml", "--method", "dr-sp")
    assert code == 2 and "a run keeps its settings; these are different:" in err
    lines = [line.strip() for line in err.splitlines()[1:]]
    assert lines == ["method: 'maestro' -> 'dr-sp'", "seeds: 2 -> 3", "ppo.epochs: 5 -> 9"]


def test_a_preset_in_the_file_counts_when_a_run_is_resumed(capsys, folder, new_run):
    (folder / "mine.toml").write_text('preset = "paper"\n')
    err = call(capsys, "resume", "run", "--config", "mine.toml")[2]
    assert (
        f"agent.hidden: {TINY.agent.hidden} -> {PAPER.agent.hidden}" in err and "ppo.clip: 0.3 -> 0.2" in err
    )


def test_an_unknown_preset_in_the_file_is_told_when_a_run_is_resumed(capsys, folder, new_run):
    (folder / "mine.toml").write_text('preset = "big"\nsedes = 3\n')
    code, _, err = call(capsys, "resume", "run", "--config", "mine.toml")
    assert code == 2 and "preset: 'big' is not allowed; allowed: paper, fast, tiny" in err
    assert "sedes: unknown setting; did you mean seeds?" in err


def test_unknown_settings_are_told_when_a_run_is_resumed(capsys, new_run):
    code, _, err = call(capsys, "resume", "run", "--ppo.clipp", "0.3", "--sedes", "2", "--preset", "paper")
    assert code == 2 and "ppo.clipp: unknown setting; did you mean clip" in err
    assert "--sedes: unknown option; did you mean seeds?" in err and "--preset: unknown option" in err


def test_what_is_no_run_is_told(capsys, folder):
    assert "has no config.toml" in call(capsys, "resume", "nothing")[2]


def test_a_run_keeps_the_level_of_a_file_that_is_gone(capsys, folder, new_run, monkeypatch):
    (folder / "mine.txt").unlink()
    monkeypatch.chdir("/")
    _, config, method = open_run(new_run.path)
    assert config.level == maps.TEXTS["Maze1"] and method is None
    assert maps.TEXTS["Maze1"] in new_run.config.read_text()
