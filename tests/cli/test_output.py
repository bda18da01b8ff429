"""What is printed, and where it cannot be: full disks, closed pipes, names that would steer a terminal."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from maestro import __main__, cli
from maestro.cli import output
from maestro.runs import folder as run_folder
from runs_helpers import micro, new_folder

FULL = "maestro: the output cannot be written: No space left on device\n"
COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "help of a command": ["duel", "--help"],
    "list": ["levels", "list"],
    "show": ["levels", "show", "Cross"],
    "sample": ["levels", "sample", "--game", "probes:RACE"],
    "duel": ["duel", "random", "--game", "probes:RACE"],
    "duels": ["duel", "random", "--game", "probes:RACE", "--games", "4"],
    "runs": ["runs", "."],
    "train": ["train", "probes:RACE", "--preset", "tiny", "--dry-run"],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a run."""
    monkeypatch.chdir(tmp_path)
    new_folder(tmp_path / "run", micro("dr-sp"))
    return tmp_path


def call(monkeypatch, stream, arguments):
    """The exit code of a command that prints into a stream."""
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "argv", ["maestro", *arguments])
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)  # this process hears its own
    return __main__.main()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_in_place_of_a_terminal_is_one_line(here, monkeypatch, capsys, name):
    with open("/dev/full", "w") as stream:
        assert call(monkeypatch, stream, COMMANDS[name]) == 1
    assert capsys.readouterr().err == FULL


@pytest.mark.parametrize("name", ["help", "list", "runs", "sample"])
def test_who_reads_no_further_is_told_nothing(here, monkeypatch, capsys, name):
    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "w") as stream:
        assert call(monkeypatch, stream, COMMANDS[name]) == 141
    assert capsys.readouterr().err == ""


def test_a_mistake_is_a_mistake_though_nobody_can_be_told():
    with open("/dev/full", "w") as stream:
        assert subprocess.run([sys.executable, "-m", "maestro", "dule"], stderr=stream).returncode == 2


HOSTILE = "\x1b[2J\x1b]0;x\x07\r\x9b31m\u202e"  # clears, names the window, rings, goes back, turns around
SPELLED = r"\x1b[2J\x1b]0;x\x07\r\x9b31m\u202e"


def test_unseen_characters_are_spelled_out_and_others_are_left():
    assert output.clean(HOSTILE) == SPELLED
    seen = "a name, é ø 日本 ██ 🦊\t\n \u3000"
    assert output.clean(seen) == seen and output.clean("\udcff") == r"\udcff"


def test_names_that_others_gave_do_not_steer_the_terminal(tmp_path, capsys):
    run = new_folder(tmp_path / f"a{HOSTILE}b", micro("dr-sp"))
    escaped = HOSTILE.encode("unicode_escape").decode().replace(r"\x", r"\u00")
    run.config.write_text(run.config.read_text().replace('"dr-sp"', f'"{escaped}"'))
    run_folder.write_status(run, state=HOSTILE, updates=3)
    (tmp_path / f"{HOSTILE}.txt").write_text("no level")
    for arguments in (
        ["runs", tmp_path],
        ["export", run.path, "--game", "probes:RACE"],
        ["resume", run.path, "--game", "probes:RACE"],
        ["levels", "show", tmp_path / f"{HOSTILE}.txt"],
        ["duel", "Cross", "--a", HOSTILE],
        ["train", "--level", HOSTILE],
        [HOSTILE],
    ):
        cli.run([str(argument) for argument in arguments])
        told = "".join(capsys.readouterr())
        assert told and not output.UNSEEN.search(told), arguments


def test_everything_is_printed_in_one_place():
    room = Path(cli.__file__).parent
    for file in room.glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        names = {func.id for func in calls if isinstance(func, ast.Name)}
        allowed = {"output.py": {"print"}, "progress.py": {"print", "Console"}}.get(file.name, set())
        assert names & {"print", "Console"} <= allowed, file.name


LONG = "x" * 300
TOO_LONG = {
    "a run to resume": ["resume", LONG],
    "a run to export": ["export", LONG],
    "a folder for a run": ["train", "probes:RACE", "--preset", "tiny", "--out", LONG],
    "a folder in one for a run": ["train", "probes:RACE", "--preset", "tiny", "--out", f"{LONG}/run"],
    "a folder for agents": ["export", "run", "--game", "probes:RACE", "--out", LONG],
    "settings": ["train", "--config", f"{LONG}.toml"],
    "a level": ["duel", LONG],
    "a level to train on": ["train", "--level", LONG],
    "an agent": ["duel", "Cross", "--a", f"{LONG}.safetensors"],
    "a film": ["duel", "Cross", "--video", f"{LONG}.gif"],
    "an image": ["levels", "show", "Cross", "--image", f"{LONG}.png"],
    "levels": ["levels", "sample", "--out", LONG],
}


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_name_that_is_too_long_is_a_mistake(here, capsys, name):
    before = sorted(os.listdir())
    assert cli.run(TOO_LONG[name]) == 2
    told = capsys.readouterr().err
    assert "File name too long" in told and LONG in told and told.count("\n") <= 2
    assert sorted(os.listdir()) == before


def test_runs_below_a_name_that_is_too_long_are_a_mistake(capsys):
    assert cli.run(["runs", LONG]) == 2
    assert LONG in capsys.readouterr().err


def test_a_path_that_nobody_has_foreseen_is_a_mistake_too(capsys, monkeypatch):
    monkeypatch.setattr(cli, "reply", lambda arguments: os.stat(arguments[0]).st_size)
    assert cli.run([LONG]) == 2
    assert capsys.readouterr().err == f"maestro: '{LONG}': File name too long\n"


@pytest.mark.parametrize(
    "arguments",
    [["duel", "Cross", "--video", "x.gif"], ["levels", "list", "--game", "my_game:GAME"]],
    ids=["a film", "a game"],
)
def test_a_working_directory_that_is_gone_is_told(tmp_path, monkeypatch, capsys, arguments):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert cli.run(arguments) == 2
    assert capsys.readouterr().err == "maestro: the folder that you are in is gone; go to another one\n"


@pytest.fixture
def no_cache():
    """No place for compiled programs has been chosen."""
    before = {name: getattr(jax.config, name) for name in CACHE}
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


CACHE = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")


@pytest.mark.parametrize("name", ["list", "show", "sample", "duel"])
def test_commands_that_compile_keep_their_programs(tmp_path, monkeypatch, capsys, no_cache, name):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cli.run(COMMANDS[name]) == 0
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "maestro" / "jax")


def test_a_place_that_the_user_has_chosen_stays(tmp_path, monkeypatch, capsys):
    before = jax.config.jax_compilation_cache_dir
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert before and cli.run(COMMANDS["show"]) == 0
    assert jax.config.jax_compilation_cache_dir == before


def test_who_has_no_home_can_do_without(monkeypatch, capsys, no_cache):
    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cli.run(COMMANDS["show"]) == 0
    assert jax.config.jax_compilation_cache_dir is None


def test_a_home_that_cannot_be_written_is_not_used(tmp_path, monkeypatch, capsys, no_cache):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cli.run(COMMANDS["show"]) == 0
    assert jax.config.jax_compilation_cache_dir is None
