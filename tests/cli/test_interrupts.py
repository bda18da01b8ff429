"""Ctrl-C at any moment: one line, exit code 130, no traceback, no crash, nothing left half written."""

import os
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest

from maestro.analysis import video
from maestro.cli import arguments, levels
from runs_helpers import PATIENCE, REAL, end_all, start

INTERRUPTED = "maestro: interrupted\n"
# Interrupts itself when a module is about to be loaded.
LOADING = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
module = sys.argv.pop(1)
def hook(event, arguments):
    if event == "import" and arguments[0] == module:
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(hook)
runpy.run_module("maestro", run_name="__main__")
"""


@pytest.fixture(autouse=True)
def processes_end():
    yield
    end_all()


@pytest.mark.parametrize("module", ["maestro.cli", "maestro.games", "tyro", "jax", "flax"])
def test_an_interrupt_while_modules_are_loaded_is_one_line(module):
    command = [sys.executable, "-c", LOADING, module, "train", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", INTERRUPTED)


def test_the_script_begins_where_interrupts_are_heard():
    project = Path(__file__).parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text())["project"]["scripts"]
    assert scripts == {"maestro": "maestro.__main__:main"}


def test_an_interrupt_that_is_ignored_stays_so():
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); import runpy; "
    code += "sys.argv[1:] = ['--version']; sys.addaudithook(lambda event, arguments: "
    code += "signal.raise_signal(2) if event == 'import' else None); "
    code += "runpy.run_module('maestro', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("maestro ")


def test_an_interrupt_while_a_program_compiles_ends_at_once_and_does_not_crash():
    """The games that follow would take minutes, so the signal comes before the end however late it is."""
    told = {"JAX_LOG_COMPILES": "1", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    process = start("duel", "FourRooms", "--games", "100000", program=REAL, **told)
    assert any("MLIR" in line and "jit(games)" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "") and errors.endswith(INTERRUPTED)


def test_a_command_works_beside_the_thread_that_hears_signals_and_ends_in_it():
    threads = []

    def command():
        threads.append(threading.current_thread())
        return lambda: threads.append(threading.current_thread())

    before = signal.getsignal(signal.SIGINT)
    arguments.parse(command, "levels", [])
    assert threads[0] is not threading.main_thread() and threads[1] is threading.main_thread()
    assert signal.getsignal(signal.SIGINT) is before


def interrupted_frames():
    """Frames of a film, until someone has seen enough."""
    yield from np.zeros((2, 8, 8, 3), np.uint8)
    signal.raise_signal(signal.SIGINT)
    yield np.zeros((8, 8, 3), np.uint8)


@pytest.mark.parametrize("ending", video.ENDINGS)
def test_an_interrupted_film_leaves_what_was_there_before(tmp_path, ending):
    film = tmp_path / f"film{ending}"
    film.write_bytes(b"an older film")
    with pytest.raises(KeyboardInterrupt), arguments.unwinding():
        video.write(film, interrupted_frames())
    assert film.read_bytes() == b"an older film" and os.listdir(tmp_path) == [film.name]


def test_levels_that_were_interrupted_are_whole(tmp_path, monkeypatch):
    class Text(str):
        def encode(self):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), arguments.unwinding():
        levels.write_levels(tmp_path, {"one": "a level\n", "two": Text("another")})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["a level\n"]
