"""Stopping in good order: the first SIGINT, SIGTERM or SIGHUP is a request, the second ends the process."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from types import FrameType
from typing import Any

FOR_EVER = float("inf")  # the grace of work that no stop gives up
GRACE = 7.0  # seconds that a chunk may still take after the request
ECHO = 1.0  # seconds in which the same signal is the same request: `timeout` sends it to a whole group too
ASKED = "\nmaestro: stopping in good order, this takes a few seconds; once more to abort\n"
ABORTED = "maestro: aborted; checkpoints that are complete stand\n"


class Interrupted(Exception):
    """A stop was asked for, and the work was given up."""


class Signals:
    """While entered, `received` is the signal that asks for a stop, or None."""

    def __init__(self, answer: Callable[[str], None] = lambda text: None) -> None:
        self.answer = answer  # called with a text by the handler itself, so it must be safe there
        self.received: int | None = None
        self.at = 0.0
        self.before: dict[int, Any] = {}
        self.check: Callable[[], None] = lambda: None
        self.worker = ThreadPoolExecutor(1)  # so that signals are heard while the device works

    def __enter__(self) -> "Signals":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                self.before[number] = signal.signal(number, self.handle)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The first time: note it. Later, even while the first is being answered: end at once."""
        if self.received is None:
            self.received = number
            self.at = time.monotonic()
            self.tell(ASKED)
        elif number != self.received or time.monotonic() - self.at > ECHO:
            self.tell(ABORTED)
            os._exit(128 + number)

    def ask(self, number: int) -> None:
        """A signal that another process of the run was sent; those that follow are the same request."""
        if self.received is None:
            self.received = number
            self.at = time.monotonic()
            self.tell(ASKED)

    def heed(self, check: Callable[[], None]) -> None:
        """From here on work is also ended by what this raises."""
        self.check = check

    def tell(self, text: str) -> None:
        """Answer, if anyone is there."""
        with suppress(OSError):  # the terminal may be gone
            self.answer(text)

    @property
    def exit_code(self) -> int:
        """What a process that stops for this signal returns."""
        return 128 + (self.received or 0)

    def run(self, work: Callable[[], Any], grace: float = 0.0) -> Any:
        """The result of work in another thread; `Interrupted` if a stop was asked for, after some grace."""
        return self.result(self.begin(work), grace)

    def begin(self, work: Callable[[], Any]) -> Future[Any]:
        """Work in another thread, after what was begun there before."""
        return self.worker.submit(work)

    def result(self, future: Future[Any], grace: float = 0.0) -> Any:
        """What came out; `Interrupted` if a stop was asked for, after some grace."""
        while not self.finished(future):
            self.check()
            if self.received is not None and time.monotonic() - self.at > grace:
                raise Interrupted
        return future.result()

    def finished(self, work: Future[Any]) -> bool:
        """Whether work is done, after an instant."""
        with suppress(NotYet):
            work.exception(timeout=0.02)
            return True
        return False
