"""`maestro evaluate` that is killed in the middle goes on with the same command."""

import json
import subprocess
import sys

from maestro import cli
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


def killed(home):
    """The exit code of the command in another process that is killed."""
    env = environment(XDG_CACHE_HOME=str(home))
    command = [sys.executable, "-c", KILLED, *WORDS, *FEW]
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, env=env).returncode


def test_a_killed_evaluation_goes_on_and_tells_what_an_undisturbed_one_does(tmp_path, monkeypatch, capsys):
    assert killed(tmp_path / "one") == -9
    told = []
    for home in ("one", "other"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home))
        assert cli.run([*WORDS, *FEW]) == 0
        told.append(capsys.readouterr())
    assert "goes on: 1 of 2 parts were played before" in told[0].err and "goes on" not in told[1].err
    assert json.loads(told[0].out) == json.loads(told[1].out)
    assert not list((tmp_path / "one" / "maestro" / "evaluations").iterdir())
