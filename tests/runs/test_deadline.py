"""A time limit asks for a stop as a signal does."""

import signal
import threading

import pytest

from maestro.runs.deadline import LEFT, TIME, Deadline
from maestro.runs.signals import Interrupted


def test_nothing_is_asked_for_before_the_time_is_over() -> None:
    now, told = [0.0], []
    deadline = Deadline(2.0, lambda: now[0], told.append)
    assert deadline.received is None and deadline.run(lambda: "done") == "done"
    now[0] = 1.9
    assert deadline.received is None and told == []
    now[0] = 2.0
    assert deadline.received == TIME and deadline.exit_code == LEFT
    assert deadline.received == TIME and len(told) == 1 and "the time is over" in told[0]


def test_work_is_given_up_when_the_time_is_over() -> None:
    given = threading.Event()
    with pytest.raises(Interrupted):
        Deadline(1.0, lambda: 1.0).run(given.wait)
    given.set()


def test_a_signal_is_heard_before_the_time_is_over_and_keeps_its_code() -> None:
    now = [0.0]
    with Deadline(1.0, lambda: now[0]) as deadline:
        signal.raise_signal(signal.SIGINT)
        now[0] = 5.0
        assert deadline.received == signal.SIGINT and deadline.exit_code == 130
