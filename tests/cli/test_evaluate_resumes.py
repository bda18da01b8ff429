"""`maestro evaluate` that is killed in the middle goes on with the same command."""

import json
import subprocess
import sys

from runs_helpers import PATIENCE, environment

# Is killed when it is about to keep the games of the second half.
KILLED = """
import os, runpy, signal, sys
def hook(event, arguments):
    if event == "open" and str(arguments[0]).endswith("1-00000.csv.part"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
runpy.run_module("maestro", run_name="__main__")
"""
WORDS = ("evaluate", "random", "--against", "random", "--game", "probes:RACE", "--json")
FEW = ("--levels", "generated:2", "--episodes", "4")


def call(home, *program):
    """The end of the command in another process, with a cache of its own."""
    command = [sys.executable, *program, *WORDS, *FEW]
    env = environment(XDG_CACHE_HOME=str(home))
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=env)


def test_a_killed_evaluation_goes_on_and_tells_what_an_undisturbed_one_does(tmp_path):
    assert call(tmp_path / "one", "-c", KILLED).returncode == -9
    again = call(tmp_path / "one", "-m", "maestro")
    assert again.returncode == 0 and "goes on: 1 of 2 parts were played before" in again.stderr
    undisturbed = call(tmp_path / "other", "-m", "maestro")
    assert "goes on" not in undisturbed.stderr
    assert json.loads(again.stdout) == json.loads(undisturbed.stdout)
    assert not list((tmp_path / "one" / "maestro" / "evaluations").iterdir())
