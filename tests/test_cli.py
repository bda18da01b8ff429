"""The command line, called as a user calls it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import imageio.v3 as imageio
import jax
import numpy as np
import pytest

from maestro import cli
from maestro.envs.lasertag import maps, text


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_names_every_command(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0 and all(f"  {name} " in out for name in cli.COMMANDS)


@pytest.mark.parametrize("command", [["levels"], ["levels", "show"], ["levels", "sample"], ["duel"]])
def test_every_command_explains_itself_with_an_example(capsys, command):
    code, out, _ = call(capsys, *command, "--help")
    assert code == 0 and "For example" in out and f"maestro {command[0]}" in out


def test_the_list_has_all_levels(capsys):
    code, out, _ = call(capsys, "levels", "list")
    assert code == 0 and all(name in out for name in maps.NAMES)


def test_a_shown_level_is_its_own_text_and_can_be_drawn(capsys, tmp_path):
    code, out, _ = call(capsys, "levels", "show", "cross", "--image", tmp_path / "cross.png", "--scale", "8")
    assert code == 0
    jax.tree.map(np.testing.assert_array_equal, text.parse(out), maps.load("Cross"))
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
        text.read(tmp_path / "one" / name)
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


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
        "--b: unknown player 'huntr' (nearest: 'hunter'",
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
    "a folder as a level": (["levels", "show", "."], "level: '.' cannot be read"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_with_one_message_and_code_2(capsys, tmp_path, monkeypatch, name):
    arguments, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    Path("broken.txt").write_text("time limit: 350\nA faces: right\nB faces: left\nA.x.B\n")
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split()) and "Traceback" not in err
    assert os.listdir() == ["broken.txt"]


def start_process(*arguments):
    code = "import sys; from maestro.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_an_interrupt_ends_quietly_with_130():
    process = start_process("duel", "FourRooms")
    assert process.stdout.readline().startswith("FourRooms: A random against B hunter")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, "")


def test_a_closed_pipe_ends_quietly():
    process = start_process("levels", "sample", "--count", "2000")
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 141
    process.stderr.close()
