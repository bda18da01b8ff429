"""A connection between two processes: lines of JSON, and a sign of life now and then."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

BEAT = 5.0  # seconds between two signs of life
SILENCE = 30.0  # seconds without one after which the other is taken to be gone
LONGEST = 1_000_000  # bytes of a line


class Lost(Exception):
    """The other end is closed, silent, or says what nobody understands."""


class Line:
    """One end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.waiting = connection, b""
        self.sending, self.closed = threading.Lock(), threading.Event()
        connection.settimeout(SILENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, **message: Any) -> None:
        """Say something; whoever reads from the other end notices if that is gone."""
        with suppress(OSError), self.sending:
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def live(self) -> None:
        """Give a sign of life now and then from here on, whatever else this process does."""

        def beat() -> None:
            while not self.closed.wait(BEAT):
                self.send(beat=True)

        threading.Thread(target=beat, daemon=True).start()

    def hear(self) -> dict[str, Any]:
        """The next message; `Lost` if there will be none."""
        while b"\n" not in self.waiting:
            self.more(65536)
        line, _, self.waiting = self.waiting.partition(b"\n")
        return parsed(line)

    def hear_alone(self) -> dict[str, Any]:
        """The next message, and not a byte beyond it."""
        while not self.waiting.endswith(b"\n"):
            self.more(1)
        line, self.waiting = self.waiting, b""
        return parsed(line)

    def more(self, size: int) -> None:
        """Wait for something to be said."""
        try:
            part = self.connection.recv(size)
        except TimeoutError:
            raise Lost(f"was silent for {SILENCE:.0f} seconds") from None
        except OSError as error:
            raise Lost(f"is gone ({error.strerror or error})") from None
        if not part or len(self.waiting) > LONGEST:
            raise Lost("is gone")
        self.waiting += part

    def messages(self) -> Iterator[dict[str, Any]]:
        """What is said, but for signs of life, until `Lost`."""
        while True:
            message = self.hear()
            if "beat" not in message:
                yield message

    def close(self) -> None:
        """Hang up."""
        self.closed.set()
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()


def parsed(line: bytes) -> dict[str, Any]:
    """A message of one line."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Lost("says what no process of a run says")
    return message
