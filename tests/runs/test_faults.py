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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from maestro import cli
from maestro.runs import checkpoint, folder, lock, sessions
from maestro.runs.folder import RunFolder, read_json
from maestro.runs.signals import ABORTED, ASKED, GRACE, Signals
from maestro.runs.trainer import Stopped
from runs_helpers import (
    BROKEN,
    ENDLESS,
    HELD,
    PATIENCE,
    SOMETIMES_BROKEN,
    QuickTrainer,
    call,
    environment,
    micro,
    new_folder,
    new_run,
    reached,
    restorable,
    resumed,
    start,
    status_of,
    wait_for_updates,
    wait_until,
    wait_until_held,
)

LONG_RUN = micro("dr-sp", ENDLESS, evaluation={"times": 0})
SHORT_RUN = micro("dr-sp", evaluation={"times": 0})


def stopped(process):
    """(exit code, errors) of a process that was told to stop."""
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


class Terminal:
    """A terminal of 20 columns, read all the time as a person would: what it shows, and the process's end."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
        self.shown = b""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Until the process has closed its end, which is an error here."""
        try:
            while part := os.read(self.ours, 65536):
                self.shown += part
        except OSError:
            os.close(self.ours)


def test_one_request_stops_in_good_order_and_the_folder_is_free_again(tmp_path, capsys):
    path, terminal = tmp_path / "a run with spaces", Terminal()
    command = new_run(path, LONG_RUN)
    process = start(*command, streams=terminal.theirs, COLUMNS="20", TERM="xterm", GRACE="inf")
    os.close(terminal.theirs)
    wait_for_updates(path, process)
    wait_until(lambda: b"update " in terminal.shown, process)
    assert f"maestro: {path} is in use by process {process.pid}" in refused(capsys, *resumed(path))
    assert cli.run(["runs", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "running" in out and str(path) in out
    process.terminate()
    code, errors = stopped(process)
    assert code == 143
    status = read_json(RunFolder(path).status)
    again = f"resume with: maestro resume '{path}' --game probes:RACE\n"
    assert errors.endswith(f"stopped at update {status['updates']}; {again}")
    assert status["state"] == "stopped" and status["checkpoint"] == status["updates"] > 0
    assert (path / "lock").read_text().startswith(f"{process.pid} on ") and not lock.is_held(path)
    assert restorable(path, LONG_RUN)


@pytest.mark.long
def test_a_stopped_run_goes_on_until_the_next_request_and_says_what_has_changed_meanwhile(tmp_path):
    path = tmp_path / "run"
    process = start(*new_run(path, LONG_RUN), GRACE="inf")
    wait_for_updates(path, process)
    process.terminate()
    assert stopped(process)[0] == 143
    about = json.loads((path / "about.json").read_text())
    about["sessions"][-1]["versions"]["jax"] = "0.0.1"  # as if another one had been installed since
    (path / "about.json").write_text(json.dumps(about))
    process = start(*resumed(path), GRACE="inf")
    wait_for_updates(path, process, reached(path) + 1)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE)
    again = f"resume with: maestro resume {path} --game probes:RACE\n"
    assert process.returncode == 130 and errors.endswith(again)
    assert f"jax 0.0.1 -> {about['versions']['jax']}: what is trained from here on is not" in out
    assert restorable(path, LONG_RUN)


def test_a_request_while_compiling_does_not_wait_for_the_program(tmp_path):
    path = tmp_path / "run"
    process = start(*new_run(path, LONG_RUN), HELD_COMPILING="1")
    wait_until_held(path, process)
    process.send_signal(signal.SIGINT)
    code, errors = stopped(process)
    assert code == 130 and f"stopped at update 0; resume with: maestro resume {path}" in errors
    assert restorable(path, LONG_RUN) == 1


@pytest.mark.long
def test_a_request_waits_for_a_chunk_only_so_long(tmp_path):
    path = tmp_path / "run"
    process = start(*new_run(path, LONG_RUN), HELD_AT="1", GRACE="0")
    wait_until_held(path, process)
    process.terminate()
    code, errors = stopped(process)
    assert code == 143 and "the chunk in progress took too long and is dropped; resume with:" in errors
    assert GRACE < 10 and restorable(path, LONG_RUN) == 2


@contextmanager
def set_at_the_end():
    """An event for which work in another thread waits as long as the test does, however that ends."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


def test_a_chunk_that_takes_too_long_is_dropped(tmp_path):
    trainer = trainer_on(tmp_path, SHORT_RUN)

    def chunk(*_):
        trainer.signals.received, trainer.signals.at = signal.SIGTERM, time.monotonic() - GRACE
        release.wait()

    trainer.compile = lambda: chunk
    told = "stopped at update 0; the chunk in progress took too long"
    with set_at_the_end() as release, pytest.raises(Stopped, match=told) as stop:
        trainer.run()
    assert stop.value.code == 143 and restorable(trainer.folder.path, SHORT_RUN) == 1


def test_a_request_during_the_last_comparison_is_heard_at_once(tmp_path):
    trainer = trainer_on(tmp_path, SHORT_RUN)
    trainer.run()
    trainer.signals.received = signal.SIGINT
    told = r"stopped at update 8; only the film is missing$"
    with set_at_the_end() as release, pytest.raises(Stopped, match=told) as stop:
        trainer.interruptible(trainer.signals.begin(release.wait), "only the film is missing")
    assert stop.value.code == 130


@pytest.mark.long
def test_two_requests_abort(tmp_path):
    path = tmp_path / "run"
    process = start(*new_run(path, LONG_RUN), HELD_AT="1", GRACE="inf")
    wait_until_held(path, process)
    wait_for_updates(path, process)  # the chunk before is told of while this one is held
    process.send_signal(signal.SIGINT)
    assert any(ASKED.strip() in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    code, errors = stopped(process)
    assert code == 143 and errors.endswith(ABORTED) and "checkpoints that are complete stand" in errors
    assert read_json(RunFolder(path).status)["state"] == "running"
    assert "interrupted" in call("runs", path)[1]
    assert restorable(path, LONG_RUN)


def test_who_only_looks_at_a_run_keeps_nobody_from_it(tmp_path, monkeypatch):
    waits = threading.Event()
    monkeypatch.setattr(lock.time, "sleep", lambda _: (waits.set(), release.wait()))
    (tmp_path / "lock").touch()
    with ThreadPoolExecutor(1) as thread, set_at_the_end() as release:
        with (tmp_path / "lock").open() as looking:
            fcntl.flock(looking, fcntl.LOCK_SH)
            holding = thread.submit(lock.hold, tmp_path)
            assert waits.wait(PATIENCE)
        release.set()
        with holding.result(PATIENCE), pytest.raises(lock.Locked, match=f"in use by process {os.getpid()}"):
            lock.hold(tmp_path)
    assert not lock.is_held(tmp_path)


class Ended(Exception):
    """In place of the end of the process."""


def test_a_second_request_while_the_first_is_being_answered_aborts_too(monkeypatch):
    def end(code):
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    answers = []

    def answer(text):
        answers.append(text)
        if text == ASKED:
            signals.handle(signal.SIGTERM, None)

    signals = Signals(answer)
    with pytest.raises(Ended, match=r"^143$"):
        signals.handle(signal.SIGINT, None)
    assert answers == [ASKED, ABORTED]


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


def has_ended(process):
    return process.poll() is not None


def fill(path):
    """Write until nothing more fits."""
    with path.open("ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


@pytest.mark.long
def test_a_full_disk_loses_nothing_and_a_read_only_one_is_refused(tmp_path, small_disk, capsys):
    path = small_disk / "run"
    process = start(*new_run(path, LONG_RUN, beside=tmp_path), CHECKPOINT_SECONDS="0", WINDOW="40")
    wait_until(lambda: has_ended(process) or status_of(path, process)["updates"] > 0, process)
    wait_until(lambda: fill(small_disk / "filler") or has_ended(process), process)  # also what old ones free
    code, errors = stopped(process)
    assert code == 1 and "No space left on device; the last complete checkpoint stands" in errors
    assert f"resume with: maestro resume {path}" in errors and "Traceback" not in errors
    assert restorable(path, LONG_RUN)
    (small_disk / "filler").unlink()
    assert remounted(small_disk, "ro")
    for command in (resumed(path), ("train", "--out", small_disk / "new")):
        assert "cannot be written: Read-only file system" in refused(capsys, *command)
    assert remounted(small_disk, "rw")


def test_where_there_is_no_checkpoint_none_is_said_to_stand(tmp_path, monkeypatch):
    trainer = trainer_on(tmp_path, SHORT_RUN)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full)
    with pytest.raises(Stopped, match=r"No space left on device; there is no complete checkpoint$") as stop:
        trainer.run()
    assert stop.value.resumable and restorable(trainer.folder.path, SHORT_RUN) == 0
    monkeypatch.undo()
    again = QuickTrainer(trainer.folder, SHORT_RUN)
    again.run()
    monkeypatch.setattr(again, "loop", full)
    with pytest.raises(Stopped, match=r"No space left on device; the last complete checkpoint stands$"):
        again.run()


def remounted(folder, mode):
    """Whether a file system could be made read-only or writable."""
    return not subprocess.run(["mount", "-o", f"remount,{mode}", folder], capture_output=True).returncode


def refused(capsys, *command):
    """What a command in this process says that is refused."""
    assert cli.run(list(map(str, command))) == 2
    return capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("not a folder")
    for out, reason in (
        ("file", "is a file, not a folder"),
        ("file/run", "cannot be written: Not a directory"),
    ):
        errors = refused(capsys, "train", "--out", tmp_path / out)
        assert errors == f"maestro: --out: {tmp_path / out}{':' * (out != 'file')} {reason}\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("important")
    errors = refused(capsys, "train", "--out", tmp_path / "other")
    assert "is not empty; choose another --out" in errors
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("lost", [">&- 2>&-", "| true"], ids=["closed", "gone"])
@pytest.mark.long
def test_a_run_goes_on_without_anyone_to_tell(tmp_path, lost):
    path = tmp_path / "run"
    command = [sys.executable, *HELD, *new_run(path, SHORT_RUN)]
    script = f"set -o pipefail; {shlex.join(map(str, command))} {lost}"
    done = subprocess.run(["bash", "-c", script], env=environment(), timeout=PATIENCE, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert read_json(RunFolder(path).status)["state"] == "finished"


def test_a_run_killed_at_its_very_start_can_be_started_or_resumed(tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    (path / "config.toml.part").write_text("half")
    (path / "lock").write_text("4711")
    run = new_folder(path, SHORT_RUN)
    run.checkpoints.rmdir()
    run.agents.rmdir()
    trainer = QuickTrainer(run, SHORT_RUN)
    folder.begin_session(run, SHORT_RUN, sessions.this_one("cpu"))
    trainer.run()
    assert read_json(run.status)["state"] == "finished"
    assert len((path / "README").read_text().splitlines()) == 5
    assert json.loads((path / "about.json").read_text())["device"] == "cpu"


def test_changed_settings_are_refused_field_by_field(tmp_path, capsys):
    run = new_folder(tmp_path / "run", SHORT_RUN)
    QuickTrainer(run, SHORT_RUN).run()
    run.config.write_text(run.config.read_text().replace("total_updates = 8", "total_updates = 9"))
    before = sorted(run.checkpoints.iterdir())
    assert "schedule.total_updates: 8 -> 9" in refused(capsys, *resumed(run.path))
    assert sorted(run.checkpoints.iterdir()) == before


def trainer_on(tmp_path, config):
    return QuickTrainer(new_folder(tmp_path / "run", config), config)


def finite(trainer):
    params = trainer.state.seeds.learner.params
    return all(np.isfinite(x).all() for x in params["lstm"].values())


def test_an_update_that_is_not_finite_is_skipped_and_counted(tmp_path):
    config = micro("dr-sp", {"total_updates": 12}, SOMETIMES_BROKEN, evaluation={"times": 0})
    trainer = trainer_on(tmp_path, config)
    trainer.run()
    skipped = np.asarray(trainer.state.seeds.learner.skipped)
    lines = [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
    assert 0 < skipped.max() < 12 and lines[-1]["skipped"] == skipped.tolist() and finite(trainer)


@pytest.mark.long
def test_ten_in_a_row_stop_the_run_with_the_last_good_state(tmp_path):
    path, config = tmp_path / "run", micro("dr-sp", ENDLESS, BROKEN, evaluation={"times": 0})
    code, _, errors = call(*new_run(path, config))
    assert code == 1 and "10 updates in a row were not finite" in errors
    assert "keeps the last good state" in errors and "resume with" not in errors
    status = read_json(RunFolder(path).status)
    assert status["state"] == "failed" and status["skipped"] >= 10
    assert restorable(path, config) >= 2
    assert status["checkpoint"] == status["updates"] == reached(path)


def test_ten_in_a_row_stop_a_run_which_gets_ten_attempts_again_when_resumed(tmp_path):
    config = micro("dr-sp", ENDLESS, BROKEN, evaluation={"times": 0})
    trainer = trainer_on(tmp_path, config)
    with pytest.raises(
        Stopped, match=r"10 updates in a row were not finite.* keeps the last good state"
    ) as stop:
        trainer.run()
    status = read_json(trainer.folder.status)
    assert stop.value.code == 1 and not stop.value.resumable
    assert status["state"] == "failed" and status["skipped"] >= 10
    assert status["checkpoint"] == status["updates"] == reached(trainer.folder.path)
    again = QuickTrainer(trainer.folder, config)
    with pytest.raises(Stopped, match="10 updates in a row"):
        again.run()
    assert again.updates >= trainer.updates + 10


def test_a_poisoned_state_never_becomes_the_newest_checkpoint(tmp_path):
    trainer = trainer_on(tmp_path, micro("maestro", game=BROKEN, evaluation={"times": 0}))
    with pytest.raises(Stopped) as stop:
        trainer.run()
    assert stop.value.code == 1 and "not finite" in str(stop.value)
    assert restorable(trainer.folder.path, trainer.config)
    assert finite(QuickTrainer(trainer.folder, trainer.config))


def test_the_folder_of_tests_is_no_run(capsys):
    assert "is no run folder: it has no config.toml" in refused(capsys, "resume", Path(__file__).parent)
