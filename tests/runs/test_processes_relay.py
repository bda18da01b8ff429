"""A connection through a relay of ours: one end hears the other, but not that the far one is gone."""

import socket
import threading

import pytest

from maestro.runs import relay

PATIENCE = 60  # seconds after which a test waits in vain


@pytest.fixture
def relayed(monkeypatch):
    """(near, far, the threads that pass bytes on) of a relayed connection."""
    near, inside = socket.socketpair()
    outside, far = socket.socketpair()
    for end in (near, far):
        end.settimeout(PATIENCE)
    monkeypatch.setattr(socket.socket, "setsockopt", lambda *_: None)  # these are no internet sockets
    before = set(threading.enumerate())
    relay.join(inside, outside)
    between = set(threading.enumerate()) - before
    yield near, far, between
    near.close()
    far.close()
    for end in (inside, outside):  # wakes who waits there
        end.shutdown(socket.SHUT_RDWR)
    for thread in between:
        thread.join(PATIENCE)
    inside.close()
    outside.close()


def test_bytes_pass_both_ways(relayed):
    near, far, _ = relayed
    near.sendall(b"ask")
    assert far.recv(9) == b"ask"
    far.sendall(b"answer")
    assert near.recv(9) == b"answer"


def test_the_near_end_is_not_told_that_the_far_one_is_gone(relayed):
    near, far, between = relayed
    far.close()
    near.sendall(b"ask")  # so that both ways have come to their ends
    for thread in between:
        thread.join(0.5)
    near.settimeout(0.05)
    with pytest.raises(TimeoutError):
        near.recv(9)


def test_the_far_end_is_told_that_the_near_one_is_gone(relayed):
    near, far, _ = relayed
    near.close()
    assert far.recv(9) == b""
