"""The command line, called as a user calls it."""

import os
import subprocess
import sys
from pathlib import Path

import imageio.v3 as imageio
import jax
import numpy as np
import pytest

from maestro import cli
from maestro.envs.lasertag import maps, text
from maestro.envs.lasertag.maps import LEVELS


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_names_every_command_and_loads_nothing_for_it():
    code = (
        "import sys; from maestro.cli import run; code = run(['--help']);"
        "print(code, {'jax', 'numpy', 'tyro', 'rich', 'scipy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    *out, last = done.stdout.splitlines()
    assert last == "0 set()" and done.stderr == ""
    assert all(any(line.startswith(f"  {name} ") for line in out) for name in cli.COMMANDS)


def test_no_command_is_a_mistake_that_shows_the_help(capsys):
    assert call(capsys)[:2] == (2, call(capsys, "--help")[1])


@pytest.mark.parametrize(
    "command", [["levels"], ["levels", "show"], ["levels", "sample"], ["duel"], ["export"], ["runs"]]
)
def test_every_command_explains_itself_with_an_example(capsys, command):
    code, out, _ = call(capsys, *command, "--help")
    assert code == 0 and "For example" in out and f"maestro {command[0]}" in out


def test_the_list_has_all_levels(capsys):
    code, out, _ = call(capsys, "levels", "list")
    assert code == 0 and all(name in out for name in maps.NAMES)


def test_a_shown_level_is_its_own_text_and_can_be_drawn(capsys, tmp_path):
    code, out, _ = call(capsys, "levels", "show", "cross", "--image", tmp_path / "cross.png", "--scale", "8")
    assert code == 0
    jax.tree.map(np.testing.assert_array_equal, text.parse(out), LEVELS.load("Cross"))
    assert imageio.imread(tmp_path / "cross.png").shape == (13 * 8, 13 * 8, 3)
    (tmp_path / "mine.txt").write_text(out)
    assert call(capsys, "levels", "show", tmp_path / "mine.txt")[:2] == (0, out.replace("Cross", "mine"))


def test_sampled_levels_are_files_and_the_seed_decides_them(capsys, tmp_path):
    for folder in ("one", "two"):
        code, _, _ = call(capsys, "levels", "sample", "--seed", 4, "--count", 3, "--out", tmp_path / folder)
        assert code == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 3
    for name in names:
        LEVELS.read(tmp_path / "one" / name)
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.long
def test_a_duel_says_who_won_and_films_it(capsys, tmp_path):
    call(capsys, "levels", "show", "Corridor2")
    film = tmp_path / "duel.gif"
    code, out, _ = call(capsys, "duel", "Corridor2", "--a", "random", "--b", "turret", "--video", film)
    assert code == 0 and "A random against B turret" in out
    steps = int(out.split(" after ")[1].split()[0])
    assert imageio.improps(film, index=None).shape[0] == steps + 1


def test_a_duel_without_a_terminal_prints_how_it_ended(capsys):
    code, out, _ = call(capsys, "duel", "Corridor2", "--a", "random", "--b", "turret", "--seed", 2)
    assert code == 0 and "██" in out and " after " in out


def test_many_duels_are_counted(capsys):
    code, out, _ = call(capsys, "duel", "random", "--a", "turret", "--b", "random", "--games", 10)
    words = out.replace(",", "").split()
    assert code == 0 and sum(int(words[i]) for i in (5, 9, 11)) == 10


MISTAKES = {
    "an unknown command": (["dule"], "nearest: 'duel'"),
    "an unknown subcommand": (["levels", "shw"], "show"),
    "an unknown option": (["duel", "Cross", "--sed", "3"], "--seed"),
    "an unknown level": (["levels", "show", "Maze3"], "nearest: 'Maze"),
    "an unknown level of a duel": (["duel", "Crosss", "--a", "random", "--b", "random"], "nearest: 'Cross'"),
    "an unknown player": (
        ["duel", "Cross", "--b", "huntr"],
        "--b: unknown player 'huntr'; did you mean hunter?; or the .safetensors file of an agent",
    ),
    "no number": (["duel", "Cross", "--games", "many"], "--games"),
    "too few games": (["duel", "Cross", "--games", "0"], "--games: 0 is not between 1 and"),
    "a negative seed": (["levels", "sample", "--seed", "-1"], "--seed: -1 is not between 0 and"),
    "a speed that is no number": (["duel", "Cross", "--speed", "nan"], "--speed: nan"),
    "a bad film": (["duel", "Nowhere", "--video", "film.avi"], "--video: 'film.avi' does not end in"),
    "a film in no folder": (["duel", "Cross", "--video", "nowhere/film.gif"], "--video: the folder"),
    "a film of many games": (["duel", "Cross", "--video", "film.gif", "--games", "2"], "--video: films one"),
    "a bad image": (["levels", "show", "Cross", "--image", "cross.bmp"], "--image: 'cross.bmp'"),
    "a folder that is a file": (["levels", "sample", "--out", "broken.txt"], "--out: 'broken.txt'"),
    "a broken level": (["levels", "show", "broken.txt"], "broken.txt: line 4, column 3: unknown character"),
    "a folder as a level": (["levels", "show", "."], "level: .: is no file"),
    "a device as a level": (["levels", "show", "/dev/zero"], "level: /dev/zero: is no file"),
    "no level at all": (["levels", "show", ""], "level: unknown level '' (nearest: "),
    "a name as long as a book": (["levels", "show", "x" * 5000], "cannot be read (File name too long)"),
    "an unknown game of levels": (
        ["levels", "list", "--game", "chess"],
        "--game: 'chess' is unknown; allowed",
    ),
    "an unknown game of a duel": (["duel", "Cross", "--game", "lasertgg"], "did you mean lasertag?"),
    "a file as a game": (["levels", "list", "--game", "my_game.py"], "is module:NAME, as in my_game:GAME"),
    "an agent that is not there": (
        ["duel", "Cross", "--a", "x.safetensors"],
        "--a: x.safetensors: No such file or directory",
    ),
    "a file that is no agent": (
        ["duel", "Cross", "--b", "broken.txt"],
        "or the .safetensors file of an agent",
    ),
    "a value that is missing": (["duel", "Cross", "--a"], "Missing value for argument '--a'"),
    "a word too many": (["duel", "Cross", "Star"], "Unrecognized options: Star"),
    "a level that is missing": (["duel"], "LEVEL"),
    "a run that is missing": (["export"], "RUN"),
    "a run that is none": (["export", "nothing"], "nothing is no run folder: it has no config.toml"),
    "a file as a run": (["resume", "broken.txt"], "broken.txt is no run folder"),
    "an image of a game without pictures": (
        ["levels", "show", "level.json", "--game", "probes:RACE", "--image", "race.png"],
        "--image: race has no pictures",
    ),
    "a film of a game without pictures": (
        ["duel", "random", "--game", "probes:RACE", "--video", "race.gif"],
        "--video: race has no pictures to film",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_one_message_and_code_2(capsys, tmp_path, monkeypatch, name):
    arguments, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("broken.txt").write_text("time limit: 350\nA faces: right\nB faces: left\nA.x.B\n")
    Path("level.json").write_text('{"number": 1, "time_limit": 2}')
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split()) and "Traceback" not in err
    assert sorted(os.listdir()) == ["broken.txt", "level.json"]


def start_process(*arguments):
    code = "import sys; from maestro.__main__ import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_closed_pipe_ends_quietly():
    process = start_process("levels", "sample", "--count", "2000")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 141
    process.stderr.close()


def test_a_platform_that_jax_does_not_have_is_a_mistake_of_any_command(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "nonsense")
    process = start_process("duel", "FourRooms", "--a", "hunter", "--b", "random", "--games", "2")
    _, errors = process.communicate()
    told = "maestro: JAX finds no device; JAX_PLATFORMS is 'nonsense'\n"
    assert (process.returncode, errors) == (2, told)
