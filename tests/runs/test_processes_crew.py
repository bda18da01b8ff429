"""Processes that find each other, give and take orders, and notice who is gone; JAX's runtime has no part."""

import json
import socket
import threading

import pytest

from maestro.runs import crew, line
from maestro.runs import first as first_module
from maestro.runs.crew import Gone
from maestro.runs.first import First
from maestro.runs.other import Other
from maestro.runs.processes import Member, ProcessError

CREWS = []  # so that none outlives its test
PATIENCE = 60  # seconds after which a test waits in vain
WORDS = ["race", "--seeds", "2"]


class Ended(BaseException):
    """In place of the end of a process: it ends the thread."""


@pytest.fixture(autouse=True)
def ends(monkeypatch):
    """(exit code, last words) of each process that would have ended, and the event that one did."""
    known, event, before = [], threading.Event(), set(threading.enumerate())

    def end(tell, code, text=""):
        known.append((code, text))
        event.set()
        raise Ended

    monkeypatch.setattr(crew, "last_words", end)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(crew, "LEAVING", 0.5)
    yield known, event
    while CREWS:
        CREWS.pop(0).close()  # the first before the others: it does not wonder where they are
    started = [thread for thread in threading.enumerate() if thread.ident and thread not in before]
    for thread in started:  # while their last words are not the end of the tests
        thread.join(PATIENCE)
        assert not thread.is_alive()


def last_words_of(name, ends):
    """(exit code, last words) of a process that ends."""
    known, event = ends
    while not (found := [end for end in known if end[1].startswith(name) or f"hence {name}" in end[1]]):
        assert event.wait(PATIENCE)
        event.clear()
    return found[0]


def first_of(count):
    """Process 0, listening at a port that is free."""
    while True:
        with socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
        try:
            CREWS.append(First(Member(0, count, "127.0.0.1", port), WORDS, lambda text: None))
        except ProcessError:
            continue
        return CREWS[-1]


def other_of(first, number, words=WORDS, count=None):
    """Another process of the same run."""
    member = Member(number, count or first.member.count, "127.0.0.1", first.member.port)
    other = Other(member, words, lambda text: None)
    CREWS.append(other.line)
    return other


def test_orders_reach_all_in_their_order():
    first = first_of(3)
    others = [other_of(first, i) for i in (1, 2)]
    assert first.complete.wait(PATIENCE)
    first.order("put")
    first.order("chunk", until=3, cycles=1)
    for other in others:
        assert other.orders.get(timeout=PATIENCE) == {"do": "put"}
        assert other.orders.get(timeout=PATIENCE) == {"do": "chunk", "until": 3, "cycles": 1}


def test_who_is_none_of_the_run_is_told_why(monkeypatch):
    first = first_of(2)
    with pytest.raises(ProcessError, match="--processes: 3 here, and 2 in process 0"):
        other_of(first, 1, count=3)
    with pytest.raises(ProcessError, match="started with other arguments: race --seeds 2"):
        other_of(first, 1, ["race", "--seeds", "3"])
    own = iter(["maestro 9, jax 9", "maestro 8, jax 9"])
    with monkeypatch.context() as patched:
        patched.setattr(crew, "versions", lambda: next(own, "maestro 8, jax 9"))
        with pytest.raises(ProcessError, match="process 0 is maestro 8, jax 9, and this is maestro 9, jax 9"):
            other_of(first, 1)
    assert not first.complete.is_set()
    other_of(first, 1)
    assert first.complete.wait(PATIENCE)
    with pytest.raises(ProcessError, match="there is a process 1 already"):
        other_of(first, 1)


def test_a_port_that_is_taken_is_named():
    first = first_of(2)
    with pytest.raises(
        ProcessError, match=f"cannot listen at port {first.member.port}: Address already in use"
    ):
        First(first.member, WORDS, lambda text: None)


def test_who_does_not_come_is_named(monkeypatch):
    monkeypatch.setattr(crew, "WAIT", 0.01)
    first = first_of(4)
    other_of(first, 2)
    with pytest.raises(ProcessError, match="--processes: process 1, 3 of 4 did not come within 0 seconds"):
        first.start()


def test_something_else_at_the_port_is_no_process_of_a_run():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"220 mail\r\n")

        threading.Thread(target=talk, daemon=True).start()
        member = Member(1, 2, "127.0.0.1", server.getsockname()[1])
        with pytest.raises(
            ProcessError, match=r"who listens at 127.0.0.1:.* says what no process of a run says"
        ):
            Other(member, WORDS, lambda text: None)


def test_whoever_looks_is_told_who_is_gone_and_so_are_the_others(ends, monkeypatch):
    first = first_of(3)
    other_of(first, 2)
    hello = {"number": 1, "count": 3, "words": WORDS, "made": crew.versions(), "host": "there"}
    connection = socket.create_connection(("127.0.0.1", first.member.port))
    connection.sendall(json.dumps(hello).encode() + b"\n")
    assert first.complete.wait(PATIENCE)
    first.check()
    looked, slept, sleeps = threading.Event(), [], threading.Event()

    def sleep(seconds):
        slept.append(seconds)
        sleeps.set()
        looked.wait(PATIENCE)

    monkeypatch.setattr(first_module.time, "sleep", sleep)
    first.attend(lambda number: None)
    connection.close()
    assert first.lost.wait(PATIENCE)
    with pytest.raises(Gone, match=r"process 1 of 3 \(on there\) is gone"):
        first.check()
    assert sleeps.wait(PATIENCE) and slept == [crew.CALM] and not ends[0]  # the first has its time
    looked.set()
    assert last_words_of("process 2 of 3", ends) == (1, f"process 2 of 3 ends: {first.gone}")
    told = last_words_of("process 1 of 3", ends)
    assert told == (1, f"{first.gone}; the last complete checkpoint stands")


def test_who_says_why_it_ends_is_quoted():
    first = first_of(2)
    other = other_of(first, 1)
    first.complete.wait(PATIENCE)
    other.end(2, "game: nowhere")
    assert first.lost.wait(PATIENCE) and first.gone.endswith("ended: game: nowhere")


def test_the_end_of_the_first_is_the_end_of_the_others(ends):
    first = first_of(2)
    other_of(first, 1)
    assert first.complete.wait(PATIENCE)
    first.close()
    code, told = last_words_of("process 1 of 2", ends)
    assert code == 1 and told.startswith("process 0 of 2 (at 127.0.0.1:")
    assert told.endswith("is gone, hence process 1 of 2 ends; the last complete checkpoint stands")


def test_an_end_in_good_order_has_the_code_of_the_first(ends):
    first = first_of(2)
    other = other_of(first, 1)
    assert first.complete.wait(PATIENCE)
    first.end(143, "stopped at update 3")
    told = 143, "process 1 of 2 ends: stopped at update 3"
    assert last_words_of("process 1 of 2", ends) == told
    other.line.close()
    first.listen(1, "there", first.lines[1])  # to its end
    assert first.gone is None


def test_a_signal_to_another_process_is_heard_by_the_first_even_if_it_comes_early():
    first = first_of(2)
    other = other_of(first, 1)
    first.complete.wait(PATIENCE)
    noted, heard, both = [], threading.Event(), threading.Event()
    first.asked = lambda number: (first.note(number), heard.set())
    other.asked(15)
    assert heard.wait(PATIENCE)
    first.attend(lambda number: (noted.append(number), len(noted) == 2 and both.set()))
    assert noted == [15]
    other.asked(2)
    assert both.wait(PATIENCE) and noted == [15, 2]


def test_who_gives_no_sign_of_life_is_taken_to_be_gone(monkeypatch):
    monkeypatch.setattr(line, "SILENCE", 0.2)
    first = first_of(2)
    hello = {"number": 1, "count": 2, "words": WORDS, "made": crew.versions(), "host": "there"}
    with socket.create_connection(("127.0.0.1", first.member.port)) as connection:
        connection.sendall(json.dumps(hello).encode() + b"\n")
        assert first.lost.wait(PATIENCE)
    assert first.gone == "process 1 of 2 (on there) was silent for 0 seconds"


def test_signs_of_life_keep_a_connection(monkeypatch):
    monkeypatch.setattr(line, "BEAT", 0.01)
    first = first_of(2)
    other = other_of(first, 1)
    first.complete.wait(PATIENCE)
    beats = []
    send = other.line.send
    enough = threading.Event()
    monkeypatch.setattr(
        other.line, "send", lambda **m: (send(**m), beats.append(m), len(beats) > 3 and enough.set())
    )
    assert enough.wait(PATIENCE) and beats[0] == {"beat": True}
    assert first.gone is None and other.orders.empty()
