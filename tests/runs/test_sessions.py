"""About each session that trained a run: versions, device and commit; what has changed since is told."""

import json
import subprocess
from pathlib import Path

import pytest

import maestro
from maestro.runs import folder, sessions
from runs_helpers import micro, new_folder

CONFIG = micro("dr-sp")


def about(run):
    return json.loads((run.path / "about.json").read_text())


def session(run, device="cpu"):
    """What another process that trains the run is told."""
    return folder.begin_session(run, CONFIG, sessions.this_one(device))


def begun(tmp_path):
    """A run that one process has trained."""
    run = new_folder(tmp_path / "run", CONFIG)
    assert session(run) == "" and len(about(run)["sessions"]) == 1
    return run


def aged(run, change):
    """Let a function change what the last session noted."""
    known = about(run)
    change(known["sessions"][-1])
    (run.path / "about.json").write_text(json.dumps(known))


def test_every_session_is_noted_and_the_same_again_is_not_worth_a_word(tmp_path):
    run = begun(tmp_path)
    assert session(run) == ""
    known = about(run)
    assert len(known["sessions"]) == 2 and known["versions"] == known["sessions"][0]["versions"]
    assert known["versions"]["maestro"] == maestro.__version__ and known["device"] == "cpu"
    assert all(session["began"] for session in known["sessions"]) and known["game_from"] is None


@pytest.mark.parametrize("name", ["jax", "jaxlib", "numpy", "maestro", "flax", "optax"])
def test_another_version_is_told_and_noted(tmp_path, name):
    run = begun(tmp_path)
    aged(run, lambda session: session["versions"].update({name: "0.0.1"}))
    now = sessions.this_one("cpu")["versions"][name]
    assert session(run) == f"{name} 0.0.1 -> {now}"
    assert [session["versions"][name] for session in about(run)["sessions"]] == ["0.0.1", now]
    assert session(run) == ""


def test_another_device_and_another_commit_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "commit", lambda: "new")
    run = begun(tmp_path)
    aged(run, lambda session: session.update(commit="old"))
    assert session(run, "a fast one") == "device cpu -> a fast one, commit old -> new"


def test_a_run_of_an_older_version_gets_its_list(tmp_path):
    run = begun(tmp_path)
    old = {name: value for name, value in about(run).items() if name not in ("sessions", "began")}
    old["versions"]["jax"] = "0.0.1"
    (run.path / "about.json").write_text(json.dumps({**old, "game_from": "here:GAME"}))
    assert session(run).startswith("jax 0.0.1 -> ")
    known = about(run)
    assert len(known["sessions"]) == 2 and known["game_from"] == "here:GAME"
    assert known["versions"]["jax"] == known["sessions"][0]["versions"]["jax"] == "0.0.1"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"sessions": 3}', '{"sessions": [3]}', '{"sessions": [{"versions": 3}]}']
)
def test_what_cannot_be_read_is_no_reason_to_stop(tmp_path, content):
    run = begun(tmp_path)
    (run.path / "about.json").write_text(content)
    assert session(run) == ""
    assert about(run)["sessions"][-1]["device"] == "cpu"


def git(*arguments, cwd):
    name = ["-c", "user.name=a", "-c", "user.email=b@c"]
    return subprocess.run(
        ["git", *name, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout


def test_the_commit_is_maestros_own_and_not_that_of_the_working_directory(tmp_path, monkeypatch):
    git("init", "-q", ".", cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "a thesis", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    theirs = git("rev-parse", "HEAD", cwd=tmp_path).strip()
    assert sessions.commit() != theirs
    installed = tmp_path / "lib" / "maestro"  # as a wheel is, within a repository that is not maestro's
    installed.mkdir(parents=True)
    monkeypatch.setattr(maestro, "__file__", str(installed / "__init__.py"))
    assert sessions.commit() is None
    checkout = tmp_path / "src" / "maestro"
    checkout.mkdir(parents=True)
    monkeypatch.setattr(maestro, "__file__", str(checkout / "__init__.py"))
    monkeypatch.chdir(Path("/"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert sessions.commit() == theirs


def test_a_copy_of_a_run_that_lost_its_empty_folders_has_them_again(tmp_path):
    run = begun(tmp_path)
    run.agents.rmdir()
    assert session(run) == "" and run.agents.is_dir()
