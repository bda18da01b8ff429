"""A time limit: when it is over, a stop in good order is asked for as if by a signal."""

import time
from collections.abc import Callable

from maestro.runs.signals import Signals

TIME = 0  # in place of a signal's number
LEFT = 3  # the exit code of a process that stops because its time is over
OVER = "\nmaestro: the time is over: stopping in good order; a signal aborts\n"
Clock = Callable[[], float]


class Deadline(Signals):
    """Signals that ask for a stop after some moment of a clock, too."""

    def __init__(
        self,
        until: float = float("inf"),
        clock: Clock = time.monotonic,
        answer: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.until, self.clock = until, clock
        self.number: int | None = None
        super().__init__(answer)

    @property
    def received(self) -> int | None:
        """The signal that asks for a stop, `TIME` if the time is over, or None."""
        if self.number is None and self.clock() >= self.until:
            self.number, self.at = TIME, time.monotonic()
            self.tell(OVER)
        return self.number

    @received.setter
    def received(self, number: int | None) -> None:
        self.number = number

    @property
    def exit_code(self) -> int:
        """What a process that stops for this returns."""
        return LEFT if self.number == TIME else super().exit_code
