"""A run tells a reporter how it goes, and nobody else; its parts keep out of each other."""

import ast
from pathlib import Path

import pytest

from maestro.runs import reporter, trainer
from runs_helpers import QuickTrainer, micro, new_folder

FILES = sorted(Path(reporter.__file__).parent.glob("*.py"))
TERMINAL = ("rich", "tyro", "sys", "logging", "getpass", "curses", "maestro.cli")
TALK = ("print", "input", "breakpoint")


def imported(tree):
    """The full names of all that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(tree):
    """(what is called, its first argument) of every call, as source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), ast.unparse(node.args[0]) if node.args else ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_that_keeps_a_run_knows_a_terminal(file):
    tree = ast.parse(file.read_text())
    known = [name for name in imported(tree) for part in TERMINAL if f"{name}.".startswith(f"{part}.")]
    talk = [name for name, first in calls(tree) if name in TALK or (name == "os.write" and first.isdigit())]
    assert not known and not talk


def foreign(node):
    """Whether code sets an attribute of something other than `self`, or an entry of what another owns."""
    if not isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value).count(".") > 1
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) != "self"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_that_keeps_a_run_writes_into_something_else(file):
    assert not [ast.unparse(node) for node in ast.walk(ast.parse(file.read_text())) if foreign(node)]


def test_a_run_prints_nothing_and_reports_all(tmp_path, capfd):
    config = micro("dr-fsp")
    training = QuickTrainer(new_folder(tmp_path / "run", config), config)
    training.run()
    assert capfd.readouterr() == ("", "")
    told = [line.partition(" against")[0] for line in training.reporter.said]
    assert told == [f"update {n}: won/drawn/lost" for n in trainer.evaluation_points(config)]
    assert training.reporter.shown["updates"] == training.reporter.shown["total"] == 8
