"""The table of runs, and students as files that stand alone."""

import fcntl
import json
from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from maestro import cli, cohort
from maestro.cli import runs as table
from maestro.cli.export import Errors
from maestro.cli.resume import open_run
from maestro.envs.lasertag import maps
from maestro.envs.lasertag.game import LaserTag
from maestro.evaluation.play import episode, step_bound
from maestro.games.lasertag import GAME
from maestro.methods import METHODS
from maestro.runs import agent_file, build, checkpoints, lock
from maestro.runs import folder as run_folder
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.metrics_log import MetricsLog, Position
from probes import QUICK, RACE

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
    folder = run_folder.claim(path)
    run_folder.begin(folder, config)
    run_folder.furnish(folder, config, "cpu")
    if status:
        run_folder.write_status(folder, **status)
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
        make(tmp_path / f"one-{state}", state=state, updates=30, checkpoint=30, speed=2.5)
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


@pytest.mark.parametrize(
    "status", ["", "[1]", '{"speed": "fast", "time": [], "updates": {}, "state": 3}', "\x00"]
)
def test_a_damaged_status_does_not_hide_a_run(capsys, tmp_path, status):
    make(tmp_path / "run").status.write_text(status)
    code, out, _ = call(capsys, "runs", tmp_path)
    assert code == 0 and "0/150" in out and "interrupted" in out


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
    code, out, errors = call(capsys, "export", folder.path, "--out", tmp_path)
    newest.write_bytes(content)
    assert code == 0 and len(out.split()) == 2 and f"checkpoint {newest.name}: the manifest" in errors


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


def test_a_run_folder_explains_itself_in_four_lines(tmp_path):
    folder = make(tmp_path / "run")
    assert len((folder.path / "README").read_text().splitlines()) == 4
    about = json.loads((folder.path / "about.json").read_text())
    assert about["device"] == "cpu" and set(about["versions"]) >= {"maestro", "jax", "numpy"}
    assert open_run(folder.path) == (GAME, CONFIG, None)
    assert run_folder.read_settings(folder.path)[0] == folder
