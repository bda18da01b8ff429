"""The table of runs, and students as files that stand alone."""

import fcntl
import json
import os
import re
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from rich.cells import cell_len

from maestro import cli, cohort
from maestro.cli import runs as table
from maestro.cli.export import Errors
from maestro.cli.opening import open_run
from maestro.envs.lasertag import maps
from maestro.envs.lasertag.game import LaserTag
from maestro.evaluation.play import episode, step_bound
from maestro.games.lasertag import GAME
from maestro.methods import METHODS
from maestro.runs import agent_file, build, checkpoints, lock, sessions
from maestro.runs import folder as run_folder
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.metrics_log import MetricsLog, Position
from probes import QUICK, RACE
from runs_helpers import claim

SMALL = {
    "seeds": 2,
    "agent": {"hidden": 8, "filters": 2, "heads": [8]},
    "curriculum": {"buffer_size": 8, "member_buffer_size": 4},
}
CONFIG = build.configure(GAME, GAME.presets["tiny"], SMALL)


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def make(path, config=CONFIG, **status):
    """The folder of a run that has a status, or none yet."""
    folder = claim(path)
    run_folder.begin(folder, config)
    run_folder.begin_session(folder, config, sessions.this_one("cpu"))
    if status:
        run_folder.write_status(folder, **status)
    return folder


def complete(folder):
    """What comes after training, as empty files."""
    for seed in range(CONFIG.seeds):
        (folder.agents / f"student-{seed}.safetensors").touch()
    (folder.path / "summary.json").touch()
    return folder


def line_of(out, name):
    """The line of the table about one run."""
    return next(line for line in out.splitlines() if name in line)


def test_the_table_tells_running_finished_stopped_failed_interrupted_and_damaged_runs(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_folder, "time", SimpleNamespace(time=lambda: 1000.0))
    monkeypatch.setattr(table, "time", SimpleNamespace(time=lambda: 1200.5))
    for state in ("finished", "stopped", "failed"):
        complete(make(tmp_path / f"one-{state}", state=state, updates=30, checkpoint=30, speed=2.5))
    make(tmp_path / "one-interrupted", state="running", updates=7, checkpoint=0, speed=1.25)
    make(tmp_path / "one-new")
    make(tmp_path / "one-damaged").config.write_text("seeds = [[[")
    make(tmp_path / "one-newer").config.write_text("format = 999")
    running = make(tmp_path / "one-running", GAME.presets["fast"], state="running", updates=12)
    with lock.hold(running.path):
        code, out, _ = call(capsys, "runs", tmp_path)
    assert code == 0
    for state in ("finished", "stopped", "failed", "interrupted"):
        assert f" {state}, 3m20s ago" in line_of(out, f"one-{state}")
    assert "30/150" in line_of(out, "one-finished") and "2.50" in line_of(out, "one-finished")
    assert "7/150" in line_of(out, "one-interrupted") and "tiny, 5 changed" in line_of(out, "one-finished")
    assert "0/150" in line_of(out, "one-new") and "interrupted" in line_of(out, "one-new")
    assert "damaged: config.toml" in line_of(out, "one-damaged")
    assert "made by a newer version" in line_of(out, "one-newer")
    assert line_of(out, "one-running").split()[1:] == [
        "lasertag",
        "maestro",
        "fast",
        "5",
        "12/500",
        "running",
    ]


ODD = {
    "empty": b"",
    "a list": b"[1]",
    "wrong types": b'{"speed": "fast", "time": [], "updates": {}, "state": 3}',
    "types that are no keys": b'{"speed": {}, "time": true, "updates": null, "state": ["finished"]}',
    "a zero byte": b"\x00",
    "infinite": b'{"time": -Infinity, "updates": Infinity, "speed": NaN, "checkpoint": -Infinity}',
    "vast": b'{"time": 1%s, "updates": 1%s, "speed": -1%s}' % ((b"0" * 400,) * 3),
    "too vast to be read": b'{"time": 1%s}' % (b"0" * 5000),
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "no UTF-8": b'{"state": "\xff\xfe"}',
    "half a character": b'{"state": "\\ud800"}',
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_status_does_not_hide_a_run_nor_those_beside_it(capsys, tmp_path, name):
    make(tmp_path / "one-odd").status.write_bytes(ODD[name])
    complete(make(tmp_path / "one-whole", state="finished", updates=150, checkpoint=150))
    for options in ([], ["--json"]):
        code, out, errors = call(capsys, "runs", tmp_path, *options)
        assert (code, errors) == (0, "")
    found = {run["run"].rpartition("/")[2]: run for run in json.loads(out)}
    assert found["one-odd"]["updates"] == 0 and found["one-odd"]["state"] == "interrupted"
    assert found["one-whole"]["updates"] == 150 and found["one-whole"]["state"] == "finished"


@pytest.mark.parametrize("name", ["status.json", "lock"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "link in a circle"])
def test_what_is_no_file_is_neither_read_nor_waited_for(capsys, tmp_path, name, kind):
    path = make(tmp_path / "run").path / name
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link in a circle": lambda: path.symlink_to(path),
    }[kind]()
    code, out, _ = call(capsys, "runs", tmp_path)
    assert code == 0 and "0/150" in out and "interrupted" in out


@pytest.fixture
def stranger():
    """A folder that others may enter, and who is not the superuser, whom nothing is closed to."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        user = os.geteuid()
        try:
            yield Path(name), lambda: os.seteuid(65534) if user == 0 else None
        finally:
            os.seteuid(user)


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
def test_a_folder_of_another_user_is_named_and_hides_no_run(capsys, stranger, mode):
    folder, become = stranger
    make(folder / "mine")
    theirs = make(folder / "theirs").path
    (folder / "below").mkdir()
    make(folder / "below" / "mine")
    call(capsys, "runs", folder)  # with all that is imported on the way
    theirs.chmod(mode)
    try:
        become()
        code, out, errors = call(capsys, "runs", folder)
    finally:
        os.seteuid(os.getuid())
        theirs.chmod(0o755)
    assert code == 0 and errors == f"maestro: {theirs}: cannot be read\n"
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        str(folder / "below" / "mine"),
        str(folder / "mine"),
    ]


def test_a_run_that_is_trained_but_not_exported_is_not_called_finished(capsys, tmp_path):
    make(tmp_path / "one two", state="finished", updates=150, checkpoint=150)
    lacking = complete(make(tmp_path / "three", state="finished", updates=150, checkpoint=150))
    (lacking.agents / "student-1.safetensors").unlink()
    _, out, _ = call(capsys, "runs", tmp_path)
    assert out.count("trained, not exported") == 4 and "finished" not in out
    assert f"trained, not exported: maestro resume '{tmp_path / 'one two'}' does the rest" in out
    assert f"maestro resume {lacking.path} does" in out


NAMES = ["maestro-20230501-120000", "a-run-whose-name-is-longer-than-a-narrow-terminal-is-wide", "né", "跑"]


@pytest.mark.parametrize("width", [200, 120, 80, 60, 40, 20, 1])
def test_a_table_of_any_width_has_names_that_can_be_copied_and_nothing_cut(
    capsys, tmp_path, monkeypatch, width
):
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        make(Path("runs") / name, state="stopped", updates=30, checkpoint=30, speed=2.5)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = call(capsys, "runs")
    assert {f"runs/{name}" for name in NAMES} <= set(re.split(r"\s{2,}|\n", out))
    words = set(re.split(r"[\s;,]+", out))
    assert {"stopped", "30/150"} <= words and "…" not in out
    if width >= 40:
        assert all(cell_len(line) <= max(width, 63) for line in out.splitlines() if "longer" not in line)
    narrowed = "left out: " in out and "--json has all" in " ".join(out.split())
    assert narrowed == (width == 120) and (narrowed or {"lasertag", "maestro", "2.50"} <= words)


def test_what_is_piped_is_never_narrowed(capsys, tmp_path, monkeypatch):
    make(tmp_path / ("x" * 250), state="stopped", updates=30, checkpoint=30, speed=2.5)
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = call(capsys, "runs", tmp_path)
    head, line = out.splitlines()
    assert head.split() == list(table.COLUMNS) and f"{tmp_path}/{'x' * 250}  lasertag  maestro" in line


def test_runs_as_json_hold_numbers_and_an_empty_list_where_there_are_none(capsys, tmp_path):
    assert call(capsys, "runs", tmp_path, "--json")[:2] == (0, "[]\n")
    make(tmp_path / "run", state="stopped", updates=30, checkpoint=20, speed=2.5)
    (run,) = json.loads(call(capsys, "runs", tmp_path, "--json")[1])
    assert isinstance(run.pop("seconds_ago"), float)
    assert run == {
        "run": str(tmp_path / "run"),
        "game": "lasertag",
        "method": "maestro",
        "preset": "tiny, 5 changed",
        "seeds": 2,
        "updates": 30,
        "total": 150,
        "updates_per_second": 2.5,
        "checkpoint": 20,
        "exploiter_updates": None,
        "state": "stopped",
    }


def test_updates_of_exploiters_are_told_beside_those_of_the_students(capsys, tmp_path):
    make(tmp_path / "run", state="stopped", updates=30, checkpoint=20, exploiter_updates=14)
    assert "  30/150 + 14  " in line_of(call(capsys, "runs", tmp_path)[1], "stopped")
    (run,) = json.loads(call(capsys, "runs", tmp_path, "--json")[1])
    assert (run["updates"], run["exploiter_updates"]) == (30, 14)


@pytest.mark.parametrize(
    "settings", ["seeds = 1", "seeds = [1]\ngame = 3", 'seeds = "x"\nschedule = 4', "schedule = []"]
)
def test_odd_settings_are_told_as_damage(capsys, tmp_path, settings):
    make(tmp_path / "run").config.write_text(settings)
    code, out, _ = call(capsys, "runs", tmp_path)
    assert code == 0 and "damaged: config.toml" in out


def test_runs_of_games_and_methods_of_ones_own_are_in_the_table_without_a_preset(capsys, tmp_path):
    own = build.configure(RACE, RACE.presets["tiny"], {"method": "my_rules:EVEN"}, METHODS["dr-fsp"])
    make(tmp_path / "one-own", own, state="running", updates=3)
    code, out, _ = call(capsys, "runs", tmp_path)
    assert code == 0
    assert line_of(out, "one-own").split()[1:6] == ["race", "my_rules:EVEN", "2", "3/8", "interrupted,"]


def test_a_folder_without_runs_says_so(capsys, tmp_path):
    code, _, errors = call(capsys, "runs", tmp_path)
    assert code == 2 and "no run there; maestro train makes one" in errors


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with two checkpoints of its first state."""
    folder = make(tmp_path_factory.mktemp("runs") / "run")
    log = MetricsLog(folder.metrics, folder.evaluation, CONFIG.schedule.total_updates, Position())
    checkpointer = Checkpointer(folder.checkpoints, CONFIG, Errors())
    first = partial(cohort.init, build.experiment(GAME, CONFIG), CONFIG.seed, CONFIG.seeds)
    state = jax.jit(first).lower().compile(QUICK)()
    for cycles in (0, 1):
        checkpointer.save(state.replace(cycles=state.cycles + cycles), log)
        checkpointer.finish()
    return folder, state


def test_an_exported_student_is_loaded_in_two_lines_and_plays(capsys, tmp_path, trained):
    folder, state = trained
    code, out, _ = call(capsys, "export", folder.path, "--out", tmp_path / "agents")
    paths = out.split()
    assert code == 0 and len(paths) == CONFIG.seeds
    a, b = (agent_file.load(path) for path in paths)
    level = maps.LEVELS.load("Cross")
    played = episode(jax.random.key(0), LaserTag(), level, a, b, step_bound(level))
    assert int(played.length) > 0 and np.asarray(played.actions).std() > 0
    card = json.loads((tmp_path / "agents" / "student-1.json").read_text())
    assert card["seed"] == 1 and card["updates"] == 0 and card["method"] == "maestro"
    assert card["game"] == "lasertag" and card["environment"] == {"min_size": 5, "max_size": 7}
    _, params = agent_file.load_params(tmp_path / "agents" / "student-1.safetensors")
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, y[1]), params, state.seeds.learner.params)


def test_export_says_when_the_newest_checkpoint_is_bad_and_uses_the_one_before(capsys, tmp_path, trained):
    folder, _ = trained
    newest = checkpoints.found(folder.checkpoints)[-1]
    content = newest.read_bytes()
    newest.write_bytes(content[:-5])
    code, out, errors = call(capsys, "export", folder.path, "--out", tmp_path, "--json")
    newest.write_bytes(content)
    assert code == 0 and f"checkpoint {newest.name}: the manifest" in errors
    assert json.loads(out) == [str(tmp_path / f"student-{seed}.safetensors") for seed in range(2)]


def test_export_of_a_run_without_checkpoints_is_refused(capsys, tmp_path):
    folder = make(tmp_path / "run")
    code, _, errors = call(capsys, "export", folder.path)
    assert code == 2 and "has no usable checkpoint" in errors


def test_the_lock_is_held_by_one_at_a_time_and_none_is_stale(tmp_path):
    with lock.hold(tmp_path):
        assert lock.is_held(tmp_path)
        with pytest.raises(lock.Locked, match="is in use by process"):
            lock.hold(tmp_path)
    (tmp_path / "lock").write_text("4711, which has long ended")
    assert not lock.is_held(tmp_path)
    lock.hold(tmp_path).close()


def test_a_look_at_the_lock_does_not_turn_a_process_away(tmp_path, monkeypatch):
    (tmp_path / "lock").touch()
    looking = (tmp_path / "lock").open()
    fcntl.flock(looking, fcntl.LOCK_SH)
    waited = []
    wait = lambda seconds: (waited.append(seconds), looking.close())  # noqa: E731
    monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=wait))
    lock.hold(tmp_path).close()
    assert len(waited) == 1


def test_a_run_folder_explains_itself_in_five_lines(tmp_path):
    folder = make(tmp_path / "run")
    assert len((folder.path / "README").read_text().splitlines()) == 5
    about = json.loads((folder.path / "about.json").read_text())
    assert about["device"] == "cpu" and set(about["versions"]) >= {"maestro", "jax", "numpy"}
    assert open_run(folder.path) == (GAME, CONFIG, None)
    assert run_folder.read_settings(folder.path)[0] == folder
