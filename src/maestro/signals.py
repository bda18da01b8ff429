"""Stopping in good order: the first SIGINT, SIGTERM or SIGHUP is a request, the second ends the process."""

import os
import signal
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from types import FrameType
from typing import Any

GRACE = 7.0  # seconds that a chunk may still take after the request
ASKED = b"\nmaestro: stopping in good order, a few seconds; once more to abort\n"
ABORTED = b"maestro: aborted; the last checkpoint stands\n"
STDERR = 2


class Signals:
    """While entered, `received` is the signal that asks for a stop, or None."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.at = 0.0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                self.before[number] = signal.signal(number, self.handle)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The first time: note it. The second time: end at once."""
        with suppress(OSError):  # the terminal may be gone
            os.write(STDERR, ASKED if self.received is None else ABORTED)
        if self.received is not None:
            os._exit(128 + number)
        self.received, self.at = number, time.monotonic()

    @property
    def exit_code(self) -> int:
        """What a process that stops for this signal returns."""
        return 128 + (self.received or 0)

    def wait(self, work: Future[Any], grace: float = GRACE) -> bool:
        """Wait for work in another thread; False if a stop was asked for and the grace is over."""
        while True:
            try:
                work.result(timeout=0.02)
                return True
            except NotYet:
                if self.received is not None and time.monotonic() - self.at > grace:
                    return False
