"""The logs of a run: a position brings them back exactly, with the rows that were waiting for more."""

import json
from dataclasses import asdict, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.runs.checkpointer import Checkpointer
from maestro.runs.folder import RunFolder
from maestro.runs.metrics_log import LINES, MetricsLog, Position
from runs_helpers import Listener, like, micro, quick_chunk, quick_start

CONFIG = micro("maestro", evaluation={"times": 0})  # some of its cycles end in no update
WINDOW = 3
NOTHING = Position()


@pytest.fixture(scope="module")
def trained():
    """(the state after all updates, the metrics of each cycle on the way)."""
    limits = jnp.int32(CONFIG.schedule.total_updates), jnp.int32(32)
    state, metrics = jax.device_get(quick_chunk(CONFIG)(quick_start(CONFIG)(), *limits))
    return state, metrics, int(metrics.active[:, 0].sum())


def part(metrics, begin, end):
    """The metrics of some of the cycles."""
    return jax.tree.map(lambda x: x[begin:end], metrics)


def log_in(path, position=NOTHING):
    path.mkdir(exist_ok=True)
    folder = RunFolder(path)
    return MetricsLog(folder.metrics, folder.evaluation, WINDOW * LINES, position)


def contents(path):
    folder = RunFolder(path)
    return [file.read_bytes() if file.exists() else b"" for file in (folder.metrics, folder.evaluation)]


def same(one, other):
    """Whether two positions are the same to the last bit; the order of names means nothing."""
    rows = [{name: x.tobytes() for name, x in position.waiting.items()} for position in (one, other)]
    numbers = [{k: v for k, v in asdict(p).items() if k != "waiting"} for p in (one, other)]
    return rows[0] == rows[1] and numbers[0] == numbers[1]


def test_a_line_is_written_for_every_window_of_updates(tmp_path, trained):
    _, metrics, cycles = trained
    log = log_in(tmp_path / "log")
    log.add(metrics)
    lines = [json.loads(line) for line in contents(tmp_path / "log")[0].splitlines()]
    assert [line["updates"] for line in lines] == [3, 6] and log.updates == 8
    assert sum(line["cycles"] for line in lines) + len(log.rows) == cycles > 8


def test_a_position_brings_both_files_back_and_they_end_the_same(tmp_path, trained):
    _, metrics, cycles = trained
    whole = log_in(tmp_path / "whole")
    whole.add(metrics)
    for updates in (2, 5):
        whole.add_evaluation(updates, {"first": [[0.5, 0.25, 0.25]]})
    for cut in range(cycles + 1):
        path = tmp_path / f"cut-{cut}"
        log = log_in(path)
        log.add(part(metrics, 0, cut))
        log.add_evaluation(2, {"first": [[0.5, 0.25, 0.25]]})
        position, before = log.position(), contents(path)
        log.add(part(metrics, cut, None))  # what a killed process has still written
        log.add_evaluation(9, {"first": [[1.0, 0.0, 0.0]]})
        again = log_in(path, position)
        assert contents(path) == before and same(again.position(), position) and again.evaluated == 2
        again.add(part(metrics, cut, None))
        again.add_evaluation(5, {"first": [[0.5, 0.25, 0.25]]})
        assert contents(path) == contents(tmp_path / "whole") and same(again.position(), whole.position())


def test_without_a_position_both_files_begin_anew(tmp_path, trained):
    log = log_in(tmp_path / "log")
    log.add(trained[1])
    log.add_evaluation(8, {})
    assert all(contents(tmp_path / "log"))
    log_in(tmp_path / "log")
    assert contents(tmp_path / "log") == [b"", b""]


def test_a_checkpoint_keeps_the_position_and_touches_neither_log_nor_files(tmp_path, trained):
    state, metrics, cycles = trained
    whole, log = log_in(tmp_path / "whole"), log_in(tmp_path / "log")
    whole.add(part(metrics, 0, cycles - 1))
    log.add(part(metrics, 0, cycles - 1))
    log.add_evaluation(5, {"first": [[0.5, 0.25, 0.25]]})
    position, before = log.position(), contents(tmp_path / "log")
    assert position.waiting
    folder = RunFolder(tmp_path / "log").checkpoints
    folder.mkdir()
    saving = Checkpointer(folder, CONFIG, Listener())
    saving.save(state.replace(updates=jnp.int32(position.updates)), log)
    log.add_evaluation(6, {})  # the log goes on while the checkpoint is written
    saving.finish()
    after = contents(tmp_path / "log")
    _, restored = Checkpointer(folder, CONFIG, Listener()).restore(like(CONFIG))
    assert same(restored, position) and contents(tmp_path / "log") == after
    again = log_in(tmp_path / "log", restored)
    assert contents(tmp_path / "log") == before and same(again.position(), position)
    for each in (whole, again):
        each.add(part(metrics, cycles - 1, None))
        each.add(metrics)  # and on to the end of the window
    assert contents(tmp_path / "log")[0] == contents(tmp_path / "whole")[0]


def test_rows_that_an_older_version_left_waiting_count_as_far_as_they_go(tmp_path, trained):
    _, metrics, _ = trained
    first = int(np.flatnonzero(metrics.trained[:, 0])[0]) + 1  # cycles to the first update
    log = log_in(tmp_path / "log")
    log.add(part(metrics, 0, first))
    position = log.position()
    known = {name: x for name, x in position.waiting.items() if name != "new.regret"}
    again = log_in(tmp_path / "log", replace(position, waiting=known | {"gone": known["won"]}))
    written = again.add(part(metrics, first, None))
    second = int(np.flatnonzero(metrics.trained[:, 0])[WINDOW - 1]) + 1
    rows = np.where(np.isfinite(metrics.new.regret), metrics.new.regret, np.nan)[first:second]
    assert "gone" not in written[0] and written[0]["cycles"] == second
    np.testing.assert_allclose(np.array(written[0]["new.regret"], float), np.nanmean(rows, axis=0), rtol=1e-5)


def test_replayed_and_new_levels_are_logged_apart_each_over_the_cycles_that_had_them(tmp_path, trained):
    """This run tosses a coin: a cycle has either the one or the other."""
    _, metrics, _ = trained
    log = log_in(tmp_path / "log")
    line = log.add(metrics)[0]
    window = int(np.flatnonzero(metrics.trained[:, 0])[WINDOW - 1]) + 1
    replays = metrics.trained[:window]
    assert 0 < replays.mean() < 1
    for name, served, cycles in (("replayed", metrics.replayed, replays), ("new", metrics.new, ~replays)):
        numbers = served.levels["number"][:window]
        assert np.array_equal(np.isfinite(numbers), cycles)
        np.testing.assert_allclose(
            line[f"{name}.levels.number"], np.nanmean(np.where(cycles, numbers, np.nan), axis=0), rtol=1e-5
        )
    assert "coplayer" not in line and "regret" not in line and "levels.number" not in line


def test_how_often_each_slot_was_chosen_is_logged_as_shares_and_the_members_as_they_are(tmp_path, trained):
    _, metrics, _ = trained
    log = log_in(tmp_path / "log")
    lines = log.add(metrics)
    for line in lines:
        np.testing.assert_allclose(np.sum(line["chosen"], axis=1), 1, rtol=1e-5)
        assert all(float(n).is_integer() for n in line["members"])
    never = np.array(lines[0]["chosen"]) == 0
    ages = [[age is None for age in seed] for seed in lines[0]["chosen_ago"]]
    assert (np.array(ages) <= never).all() and never.any()  # what is not null was chosen, now or before
    assert [age is None for age in lines[0]["chosen_ago"][0]][-1]  # who has not joined
