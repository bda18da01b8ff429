"""`make` as a stranger calls it: which Python the virtual environment gets."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parent.parent / "Makefile"
THIS = "{}.{}".format(*sys.version_info)

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


def an_environment(folder: Path, version: str) -> Path:
    """A folder whose .venv was made and holds a Python of some version, as far as make can see."""
    shutil.copy(MAKEFILE, folder)
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\necho {version}\n")
    python.chmod(0o755)
    (folder / ".venv" / ".python").touch()
    return folder


def planned(folder: Path, *arguments: str, **more: str) -> str:
    """The commands by which make would bring the Python of .venv up to date."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MAKEFLAGS")}
    command = ["make", "-n", ".venv/.python", "CUDA=", *arguments]
    done = subprocess.run(command, cwd=folder, env={**clean, **more}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_python_that_is_asked_for_replaces_another_one(tmp_path):
    folder = an_environment(tmp_path, "3.9")
    anew = f"{sys.executable} -m venv --clear .venv"
    assert anew in planned(folder, f"PYTHON={sys.executable}")
    assert anew in planned(folder, PYTHON=sys.executable)


def test_a_python_of_the_version_that_is_there_changes_nothing(tmp_path):
    folder = an_environment(tmp_path, THIS)
    assert "venv --" not in planned(folder, f"PYTHON={sys.executable}")


def test_an_environment_stays_as_it_is_if_no_python_is_asked_for(tmp_path):
    assert "-m venv" not in planned(an_environment(tmp_path, "3.9"))
