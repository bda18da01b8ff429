"""Signals, full and read-only disks, lost terminals, two processes on one folder, numbers that are none."""

import fcntl
import json
import os
import pty
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from maestro import experiment, lock, runs, settings, shelf
from maestro.driver import Stopped
from maestro.signals import GRACE
from runs_helpers import (
    ENDLESS,
    PATIENCE,
    QuickDriver,
    call,
    environment,
    micro,
    new_run,
    on_probe,
    restorable,
    start,
    wait_for_updates,
)

LONG_RUN = micro("dr-sp", ENDLESS, evaluation={"times": 0})
SHORT_RUN = micro("dr-sp", evaluation={"times": 0})


def stopped(process):
    """(exit code, errors, seconds) of a process that was told to stop."""
    began = time.monotonic()
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors, time.monotonic() - began


@pytest.fixture
def narrow():
    """A terminal of 20 columns: (the process's end, what was written to it so far)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    os.set_blocking(ours, False)
    yield theirs, ours
    os.close(ours)


def written_to(terminal):
    """What a terminal shows."""
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # nothing more
            return shown.decode()
        shown += part


def test_one_request_stops_in_good_order_and_the_folder_is_free_again(tmp_path, narrow):
    folder = tmp_path / "a run with spaces"
    theirs, ours = narrow
    process = start(*new_run(folder, LONG_RUN), streams=theirs, COLUMNS="20", TERM="xterm")
    os.close(theirs)
    shown = ""
    while "update 1" not in shown:
        wait_for_updates(folder, process)
        time.sleep(0.1)
        shown += written_to(ours)
    code, out, errors = call("resume", folder)
    assert code == 2 and f"maestro: {folder} is in use by process {process.pid}" in errors
    code, out, _ = call("runs", tmp_path)
    assert code == 0 and "running" in out and str(folder) in out
    process.terminate()
    code, errors, seconds = stopped(process)
    assert code == 143 and seconds < 10
    status = runs.read_status(runs.RunFolder(folder))
    assert f"stopped at update {status['updates']}; go on with: maestro resume '{folder}'" in errors
    assert status["state"] == "stopped" and status["checkpoint"] == status["updates"] > 0
    assert (folder / "lock").read_text() == str(process.pid) and not lock.is_held(folder)
    again = start("resume", folder)
    wait_for_updates(folder, again, status["updates"] + 1)
    again.send_signal(signal.SIGINT)
    code, errors, seconds = stopped(again)
    assert code == 130 and seconds < 10 and "go on with: maestro resume" in errors
    assert restorable(folder, LONG_RUN)


def test_a_request_while_compiling_stops_at_once(tmp_path):
    process = start(*new_run(tmp_path / "run", LONG_RUN))
    for line in process.stdout:
        if "compiling" in line:
            break
    process.send_signal(signal.SIGINT)
    code, errors, seconds = stopped(process)
    assert code == 130 and seconds < 10 and "stopped at update 0; go on with: maestro resume" in errors
    assert restorable(tmp_path / "run", LONG_RUN) == 1


def test_a_chunk_that_takes_too_long_is_dropped(tmp_path, monkeypatch):
    driver = driver_on("race", tmp_path, monkeypatch, SHORT_RUN)
    release = threading.Event()

    def chunk(*_):
        driver.signals.received, driver.signals.at = signal.SIGTERM, time.monotonic() - GRACE
        release.wait(PATIENCE)

    driver.compile = lambda: chunk
    with pytest.raises(Stopped, match="stopped at update 0; the chunk in progress took too long") as stop:
        driver.run()
    release.set()
    assert stop.value.code == 143 and restorable(driver.folder.path, SHORT_RUN) == 1


def test_a_request_during_the_last_comparison_is_heard_at_once(tmp_path, monkeypatch):
    driver = driver_on("race", tmp_path, monkeypatch, SHORT_RUN)
    driver.run()
    release = threading.Event()
    driver.signals.received = signal.SIGINT
    with pytest.raises(Stopped, match="stopped at update 8; only the film is missing; go on with") as stop:
        driver.interruptible(lambda: release.wait(PATIENCE), "only the film is missing")
    release.set()
    assert stop.value.code == 130


def test_two_requests_abort(tmp_path):
    folder = tmp_path / "run"
    process = start(*new_run(folder, LONG_RUN))
    wait_for_updates(folder, process)
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # so that both arrive
        process.send_signal(number)
    code, errors, seconds = stopped(process)
    assert code == 143 and seconds < 10 and "aborted; the last checkpoint stands" in errors
    assert runs.read_status(runs.RunFolder(folder))["state"] == "running"
    assert "interrupted" in call("runs", folder)[1]
    assert restorable(folder, LONG_RUN)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, if that is permitted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not permitted")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(path):
    """Write until nothing more fits."""
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def test_a_full_disk_loses_nothing_and_a_read_only_one_is_refused(tmp_path, small_disk):
    folder = small_disk / "run"
    (tmp_path / "run.toml").write_text(settings.to_toml(LONG_RUN))
    process = start("train", "--config", tmp_path / "run.toml", "--out", folder, CHECKPOINT_SECONDS="0")
    wait_for_updates(folder, process)
    fill(small_disk / "filler")
    code, errors, _ = stopped(process)
    assert code == 1 and "No space left on device; the last complete checkpoint stands" in errors
    assert f"go on with: maestro resume {folder}" in errors and "Traceback" not in errors
    assert restorable(folder, LONG_RUN)
    (small_disk / "filler").unlink()
    assert remounted(small_disk, "ro")
    for command in (("resume", folder), ("train", "--out", small_disk / "new")):
        code, _, errors = call(*command)
        assert code == 2 and "cannot be written: Read-only file system" in errors
    assert remounted(small_disk, "rw")


def remounted(folder, mode):
    """Whether a file system could be made read-only or writable."""
    return not subprocess.run(["mount", "-o", f"remount,{mode}", folder], capture_output=True).returncode


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for out, reason in (
        ("file", "is a file, not a folder"),
        ("file/run", "cannot be written: Not a directory"),
    ):
        code, _, errors = call("train", "--out", tmp_path / out)
        assert code == 2 and errors == f"maestro: {tmp_path / out}{':' * (out != 'file')} {reason}\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("important")
    code, _, errors = call("train", "--out", tmp_path / "other")
    assert code == 2 and "is not empty; choose another --out" in errors
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("lost", [">&- 2>&-", "| true"], ids=["closed", "gone"])
def test_a_run_goes_on_without_anyone_to_tell(tmp_path, lost):
    folder = tmp_path / "run"
    command = [sys.executable, Path(__file__).with_name("runs_helpers.py"), *new_run(folder, SHORT_RUN)]
    script = f"set -o pipefail; {shlex.join(map(str, command))} {lost}"
    done = subprocess.run(["bash", "-c", script], env=environment(), timeout=PATIENCE, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert runs.read_status(runs.RunFolder(folder))["state"] == "finished"


def test_a_run_killed_at_its_very_start_can_be_started_or_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "build", on_probe())
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.toml.part").write_text("half")
    (folder / "lock").write_text("4711")
    run = runs.create(folder, SHORT_RUN, "cpu")
    for path in (*folder.glob("*.json"), folder / "README"):
        path.unlink()
    run.checkpoints.rmdir()
    runs.furnish(run, SHORT_RUN, "cpu")
    QuickDriver(run, SHORT_RUN).run()
    assert runs.read_status(run)["state"] == "finished"
    assert len((folder / "README").read_text().splitlines()) == 4
    assert json.loads((folder / "about.json").read_text())["device"] == "cpu"


def test_changed_settings_are_refused_field_by_field(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "build", on_probe())
    folder = runs.create(tmp_path / "run", SHORT_RUN, "cpu")
    QuickDriver(folder, SHORT_RUN).run()
    folder.config.write_text(folder.config.read_text().replace("total_updates = 8", "total_updates = 9"))
    before = sorted(folder.checkpoints.iterdir())
    code, _, errors = call("resume", folder.path)
    assert code == 2 and "schedule.total_updates: 8 -> 9" in errors and "Traceback" not in errors
    assert sorted(folder.checkpoints.iterdir()) == before


def driver_on(game, tmp_path, monkeypatch, config):
    monkeypatch.setattr(experiment, "build", on_probe(game))
    return QuickDriver(runs.create(tmp_path / "run", config, "cpu"), config, game=game)


def finite(driver):
    params = driver.state.runs.learner.params
    return all(np.isfinite(x).all() for x in params["lstm"].values())


def test_an_update_that_is_not_finite_is_skipped_and_counted(tmp_path, monkeypatch):
    config = micro("dr-sp", {"total_updates": 12}, evaluation={"times": 0})
    driver = driver_on("sometimes-broken", tmp_path, monkeypatch, config)
    driver.run()
    skipped = np.asarray(driver.state.runs.learner.skipped)
    lines = [json.loads(line) for line in driver.folder.metrics.read_text().splitlines()]
    assert 0 < skipped.max() < 12 and lines[-1]["skipped"] == skipped.tolist() and finite(driver)


def test_ten_in_a_row_stop_the_run_with_the_last_good_state(tmp_path):
    folder = tmp_path / "run"
    code, _, errors = call(*new_run(folder, LONG_RUN), GAME="broken")
    assert (
        code == 1
        and "10 updates in a row were not finite" in errors
        and "keeps the last good state" in errors
    )
    status = runs.read_status(runs.RunFolder(folder))
    assert status["state"] == "failed" and status["skipped"] >= 10
    assert restorable(folder, LONG_RUN) >= 2
    assert (
        status["checkpoint"] == status["updates"] == shelf.updates_of(shelf.found(folder / "checkpoints")[-1])
    )


def test_a_resumed_run_gets_ten_attempts_again(tmp_path, monkeypatch):
    config = micro("dr-sp", ENDLESS, evaluation={"times": 0})
    driver = driver_on("broken", tmp_path, monkeypatch, config)
    with pytest.raises(Stopped, match="10 updates in a row"):
        driver.run()
    again = QuickDriver(driver.folder, config, game="broken")
    with pytest.raises(Stopped, match="10 updates in a row"):
        again.run()
    assert int(again.state.updates) >= int(driver.state.updates) + 10


def test_a_poisoned_state_never_becomes_the_newest_checkpoint(tmp_path, monkeypatch):
    driver = driver_on("broken", tmp_path, monkeypatch, micro("maestro", evaluation={"times": 0}))
    with pytest.raises(Stopped) as stop:
        driver.run()
    assert stop.value.code == 1 and "not finite" in str(stop.value)
    assert restorable(driver.folder.path, driver.config)
    assert finite(QuickDriver(driver.folder, driver.config, game="broken"))


def test_the_folder_of_tests_is_no_run(tmp_path):
    code, _, errors = call("resume", Path(__file__).parent)
    assert code == 2 and "is no run folder: it has no config.toml" in errors
