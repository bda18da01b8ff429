"""What JAX's processes tell each other goes through connections of ours, which outlive who is at their end.

JAX ends a process at once, with a page of C++, when it loses the process that it was started by. Behind a
relay it does not notice, and this process can say in a sentence who is gone.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

HERE = "127.0.0.1"
PATIENCE = 60.0  # seconds in which the other end must answer
SIZE = 65536


def free_port() -> int:
    """One that nobody on this machine listens at, a moment ago."""
    with socket.create_server((HERE, 0)) as server:
        return server.getsockname()[1]


def listen(connect: Callable[[], socket.socket]) -> int:
    """Pass on whatever connects to the port returned, each through a connection of its own."""
    server = socket.create_server((HERE, 0))
    threading.Thread(target=accept, args=(server, connect), daemon=True).start()
    return server.getsockname()[1]


def accept(server: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """One connection after the other."""
    while True:
        near, _ = server.accept()
        try:
            join(near, connect())
        except OSError:  # nobody answers: JAX tries again
            near.close()


def join(near: socket.socket, far: socket.socket) -> None:
    """Pass bytes both ways; when the far end is gone, the near one is not told."""
    for end in (near, far):
        end.settimeout(None)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=passed, args=(near, far, True), daemon=True).start()
    threading.Thread(target=passed, args=(far, near, False), daemon=True).start()


def passed(source: socket.socket, target: socket.socket, closes: bool) -> None:
    """Bytes one way, to their end."""
    with suppress(OSError):
        while part := source.recv(SIZE):
            target.sendall(part)
    if closes:
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def reach(port: int) -> socket.socket:
    """A connection to a port of this machine, where someone will listen soon."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((HERE, port), PATIENCE)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
