"""Work that a stop gives up, after some grace."""

import math
import signal
import threading
import time

import pytest

from maestro.runs.signals import ABORTED, ASKED, ECHO, Interrupted, Signals


def test_work_that_ends_within_the_grace_is_not_given_up() -> None:
    signals, looked = Signals(), threading.Event()
    signals.received, signals.at = signal.SIGINT, time.monotonic()
    finished, looks = signals.finished, []

    def look(work):
        looks.append(work)
        if len(looks) == 3:
            looked.set()
        return finished(work)

    signals.finished = look
    try:
        assert signals.run(lambda: looked.wait() and 7, grace=math.inf) == 7
    finally:
        looked.set()


def test_work_that_takes_longer_is_given_up() -> None:
    signals, release = Signals(), threading.Event()
    signals.received, signals.at = signal.SIGTERM, time.monotonic()
    try:
        with pytest.raises(Interrupted):
            signals.run(release.wait)
    finally:
        release.set()


def test_without_a_request_work_may_take_its_time_and_its_errors_are_told() -> None:
    signals = Signals()
    assert signals.run(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        signals.run(lambda: 1 // 0)


def test_the_first_request_is_noted_and_the_handlers_are_given_back(monkeypatch) -> None:
    told, ended, before = [], [], signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("os._exit", ended.append)
    with Signals(told.append) as signals:
        assert signals.received is None and signals.exit_code == 128
        signal.raise_signal(signal.SIGTERM)
        assert signals.received == signal.SIGTERM and signals.exit_code == 143 and not ended
        signal.raise_signal(signal.SIGINT)
    assert told == [ASKED, ABORTED] and ended == [130]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_request_that_arrives_twice_at_once_is_one_request(monkeypatch) -> None:
    told, ended = [], []
    monkeypatch.setattr("os._exit", ended.append)
    signals = Signals(told.append)
    signals.handle(signal.SIGTERM, None)
    signals.handle(signal.SIGTERM, None)  # as `timeout` sends it: to the process, and to its group
    assert told == [ASKED] and not ended
    signals.at -= 1.1 * ECHO
    signals.handle(signal.SIGTERM, None)
    assert told == [ASKED, ABORTED] and ended == [143]
