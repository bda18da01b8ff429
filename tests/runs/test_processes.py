"""Several processes on the loopback address are one run: one log, one set of checkpoints, one end."""

import json
import random
import signal
import socket
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from maestro import cli
from maestro.runs import checkpoints
from maestro.runs.folder import RunFolder, read_json
from runs_helpers import (
    ENDLESS,
    PATIENCE,
    call,
    micro,
    new_run,
    newest,
    reached,
    restorable,
    resumed,
    start,
    wait_for_updates,
    wait_until_held,
)

LONG_RUN = micro("dr-sp", ENDLESS, evaluation={"times": 0})
SHORT_RUN = micro(schedule={"total_updates": 6, "interval": 2})
STARTING = 12  # seconds until the first update on an idle machine, and a little more
AT_ONCE = 60  # seconds within which the others end when one is gone
WALL = ("Check failure", "coordination", "Traceback", "grpc")  # of what the runtime would say itself


def free_port():
    """A port that nobody listens at, a moment ago."""
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def answers(port):
    """Whether anyone listens at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def start_each(make, count):
    """Processes by number and port; the first has begun to listen, at a port that nobody else has taken."""
    while True:
        port = free_port()
        first = make(0, port)
        while first.poll() is None and not answers(port):
            time.sleep(0.01)
        if first.poll() is None:
            return [first, *(make(number, port) for number in range(1, count))]
        errors = first.communicate()[1]
        assert "cannot listen at port" in errors, errors


def start_all(*arguments, count=2, **more):
    """Processes that are one run."""

    def make(number, port):
        own = "--coordinator", f"127.0.0.1:{port}", "--processes", count, "--process", number
        return start(*arguments, *own, **more)

    return start_each(make, count)


def ended(processes):
    """(exit code, output, errors) of each."""
    told = [process.communicate(timeout=PATIENCE) for process in processes]
    return [(process.returncode, *words) for process, words in zip(processes, told, strict=True)]


def call_all(*arguments, **more):
    """The same of processes that are left alone; all of them end well."""
    results = ended(start_all(*arguments, **more))
    assert {code for code, _, _ in results} == {0}, results
    return results


def arrays_of(path):
    """The newest checkpoint's state."""
    return safetensors.numpy.load_file(checkpoints.arrays_of(checkpoints.found(path / "checkpoints")[-1]))


def alike(one, other, within):
    """Whether states are the same but for rounding."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, other[name], rtol=0, atol=within, err_msg=name)
        else:
            np.testing.assert_array_equal(array, other[name], name)


@pytest.mark.long
def test_the_first_rollout_on_two_processes_is_that_of_one(tmp_path):
    """Levels, observations, actions, rewards, ends, with the environments of a seed apart."""
    file, apart = tmp_path / "rollouts.npz", Path(__file__).parents[1] / "apart.py"
    results = ended(start_each(lambda i, port: start(i, port, file, program=(str(apart),)), 2))
    assert {code for code, _, _ in results} == {0}, results
    with np.load(file) as arrays:
        found = {name: {} for name in ("none", "1x2")}
        for name, array in arrays.items():
            layout, _, part = name.partition("/")
            found[layout][part] = array
    assert {"action", "reward", "obs"} <= {name.partition(".")[0] for name in found["none"]}
    alike(found["none"], found["1x2"], within=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("seeds", [2, 1], ids=["seeds", "environments"])
def test_two_processes_play_and_learn_what_one_does(tmp_path, seeds):
    """A rollout decides which levels are stored and their scores, an update the parameters."""
    config = micro("maestro", {"total_updates": 1, "interval": 1}, seeds=seeds, evaluation={"times": 1})
    code, _, errors = call(*new_run(tmp_path / "one", config))
    assert code == 0, errors
    (_, out, _), (_, silent, nothing) = call_all(*new_run(tmp_path / "two", config))
    assert f"({seeds}x{2 // seeds})" in out and "unseen games" in out
    assert "maestro" not in silent + nothing
    one, two = (arrays_of(tmp_path / name) for name in ("one", "two"))
    alike(one, two, within=1e-5)
    logs = [json.loads((tmp_path / name / "metrics.jsonl").read_text()) for name in ("one", "two")]
    assert logs[0].keys() == logs[1].keys() and logs[0]["cycles"] == logs[1]["cycles"]
    about = json.loads((tmp_path / "two" / "about.json").read_text())
    assert about["sessions"][-1]["layout"] == f"{seeds}x{2 // seeds}"


def digests_of(path):
    """Those of the state in the newest checkpoint."""
    return {name: digest for name, digest in newest(path)[0].items() if not name.startswith("extra.")}


def resumed_as_saved(path, number, tmp_path):
    """Processes that resume a run, in the state that was saved, digest by digest, for an update."""
    saved, updates, file = digests_of(path), reached(path), tmp_path / "restored.json"
    file.unlink(missing_ok=True)
    more = {"RESTORED": file, "GRACE": "inf"}
    processes = start_all(*resumed(path), **more) if number == 2 else [start(*resumed(path), **more)]
    wait_for_updates(path, processes[0], updates + 1)
    assert json.loads(file.read_text()) == saved
    return processes


def stop_by_the_second(path, processes):
    """Ask process 1 of two to end: both do, in good order, and say so."""
    processes[1].terminate()
    (first, _, told), (second, _, word) = ended(processes)
    status = read_json(RunFolder(path).status)
    assert (first, second) == (143, 143) and status["state"] == "stopped"
    assert status["checkpoint"] == status["updates"] == reached(path) > 0
    assert f"stopped at update {status['updates']}; resume with: maestro resume {path}" in told
    assert f"process 1 of 2 ends: stopped at update {status['updates']}\n" in word


@pytest.mark.long
def test_a_request_to_any_process_stops_all_and_the_run_goes_on_with_one_or_two(tmp_path):
    path = tmp_path / "run"
    processes = start_all(*new_run(path, LONG_RUN), GRACE="inf")
    wait_for_updates(path, processes[0])
    stop_by_the_second(path, processes)
    alone = resumed_as_saved(path, 1, tmp_path)
    alone[0].terminate()
    (code, out, _), *_ = ended(alone)
    assert code == 143 and "layout 2x1 -> 1x1: what is trained from here on is not" in out
    processes = resumed_as_saved(path, 2, tmp_path)
    processes[0].send_signal(signal.SIGINT)
    assert [code for code, _, _ in ended(processes)] == [130, 130]
    assert restorable(path, LONG_RUN)


@pytest.mark.long
def test_a_chunk_that_takes_too_long_is_dropped_by_all_and_the_last_checkpoint_stands(tmp_path):
    path = tmp_path / "run"
    processes = start_all(*new_run(path, LONG_RUN), HELD_AT="1", GRACE="0")
    wait_until_held(path, processes[0])
    processes[1].terminate()
    (first, _, told), (second, _, _) = ended(processes)
    assert (first, second) == (143, 143) and reached(path) == 0
    assert "stopped at update 0; the chunk in progress took too long and is dropped; resume with:" in told


def kill_again_and_again(path, rounds, dice):
    """Kill one of two processes, at random moments; the other names it, and the run goes on."""
    known, took = 0, []
    for number in range(rounds):
        command = resumed(path) if number else new_run(path, LONG_RUN)
        processes = start_all(*command, CHECKPOINT_SECONDS="0.2")
        wait_for_updates(path, processes[0], known + dice.randrange(1, 30))
        time.sleep(dice.random())
        victim = number % 2
        acknowledged = read_json(RunFolder(path).status)["checkpoint"] or 0
        processes[victim].kill()
        began = time.monotonic()
        other = processes[1 - victim]
        _, errors = other.communicate(timeout=PATIENCE)
        took.append(time.monotonic() - began)
        assert other.returncode == 1 and took[-1] < AT_ONCE, (other.returncode, took, errors)
        said = [line for line in errors.splitlines() if line.startswith("maestro: ")]
        assert len(said) == 1 and f"process {victim} of 2 (" in said[0] and " gone" in said[0], errors
        assert not any(word in errors for word in WALL), errors
        assert restorable(path, LONG_RUN) and reached(path) >= acknowledged >= known
        known = reached(path)
    return took


def test_a_process_that_is_killed_takes_the_other_down_and_the_run_goes_on_until_any_is_asked(tmp_path):
    path = tmp_path / "run"
    kill_again_and_again(path, 1, random.Random(0))
    processes = resumed_as_saved(path, 2, tmp_path)
    stop_by_the_second(path, processes)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_however_often_one_is_killed(tmp_path):
    took = kill_again_and_again(tmp_path / "run", 20, random.Random(1))
    print(f"the other ended after {min(took):.1f} to {max(took):.1f} seconds")


def begun_or_resumed(path):
    """What starts a run, or goes on with what is left of it."""
    return resumed(path) if (path / "config.toml").is_file() else new_run(path, LONG_RUN)


@pytest.mark.long
def test_one_that_is_killed_while_they_start_or_compile_is_named_too(tmp_path):
    """At any moment after the first process listens; who has not come by then is waited for."""
    path, dice, took, codes = tmp_path / "run", random.Random(2), [], []
    for number in range(20):
        victim, processes = number % 2, start_all(*begun_or_resumed(path), WAIT="20")
        time.sleep(dice.uniform(0, STARTING))
        processes[victim].kill()
        began = time.monotonic()
        _, errors = processes[1 - victim].communicate(timeout=PATIENCE)
        took.append(time.monotonic() - began)
        codes.append(processes[1 - victim].returncode)
        said = [line for line in errors.splitlines() if line.startswith("maestro: ")]
        assert codes[-1] in (1, 2) and took[-1] < AT_ONCE and len(said) == 1, (codes, took, errors)
        assert f"process {victim} of 2" in said[0] or "did not answer" in said[0], errors
        assert not any(word in errors for word in WALL), errors
        processes[victim].communicate()
    gone = [seconds for seconds, code in zip(took, codes, strict=True) if code == 1]
    print(f"{len(gone)} of {len(took)} had come, noticed after {min(gone):.1f} to {max(gone):.1f} seconds")
    processes = start_all(*begun_or_resumed(path))
    wait_for_updates(path, processes[0])
    processes[0].terminate()
    assert [code for code, _, _ in ended(processes)] == [143, 143] and restorable(path, LONG_RUN)


@pytest.mark.long
def test_a_run_of_two_that_was_killed_ends_as_if_nothing_had_happened(tmp_path):
    call_all(*new_run(tmp_path / "whole", SHORT_RUN))
    processes = start_all(*new_run(tmp_path / "cut", SHORT_RUN), DIES_AT="11")
    assert [code for code, _, _ in ended(processes)] == [-signal.SIGKILL, 1]
    assert 0 < reached(tmp_path / "cut") < 6
    call_all(*resumed(tmp_path / "cut"))
    assert newest(tmp_path / "cut") == newest(tmp_path / "whole")


@pytest.mark.long
def test_four_processes_are_one_run_and_all_are_told_who_is_gone(tmp_path):
    config = micro("maestro", {"total_updates": 1, "interval": 1}, seeds=2, evaluation={"times": 0})
    assert call(*new_run(tmp_path / "one", config))[0] == 0
    call_all(*new_run(tmp_path / "four", config), count=4)
    alike(arrays_of(tmp_path / "one"), arrays_of(tmp_path / "four"), within=1e-5)
    path = tmp_path / "run"
    processes = start_all(*new_run(path, LONG_RUN), count=4)
    wait_for_updates(path, processes[0])
    processes[2].kill()
    for number, (code, _, errors) in enumerate(ended(processes)):
        assert number == 2 or (code == 1 and "process 2 of 4 (" in errors), errors
    assert restorable(path, LONG_RUN)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("--process", 3, "--processes", 2, "--coordinator", "127.0.0.1:5000"), "--process: 3 is not one of"),
        (("--process", 0, "--processes", 2, "--coordinator", "127.0.0.1"), "'127.0.0.1' is not HOST:PORT"),
        (("--process", 1), "--process: needs --coordinator and --processes too"),
    ],
)
def test_what_cannot_be_is_one_sentence(tmp_path, capsys, typed, told):
    assert cli.run(list(map(str, (*new_run(tmp_path / "run", LONG_RUN), *typed)))) == 2
    out, errors = capsys.readouterr()
    assert told in errors and not out and len(errors.splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_that_nobody_answers_is_one_sentence(tmp_path):
    typed = "--process", 1, "--processes", 2, "--coordinator", "127.0.0.1:1"
    code, out, errors = call(*new_run(tmp_path / "run", LONG_RUN), *typed, WAIT="1")
    assert code == 2 and "127.0.0.1:1 did not answer with" in errors
    assert not out and len(errors.splitlines()) == 1 and not (tmp_path / "run").exists()


def test_a_run_that_lacks_a_process_says_which_and_leaves_no_folder(tmp_path):
    first, second = start_all(*new_run(tmp_path / "run", LONG_RUN), WAIT="1", count=3)[:2]
    second.kill()
    (code, _, errors), *_ = ended([first])
    assert code in (1, 2) and "of 3" in errors and not (tmp_path / "run").exists()
