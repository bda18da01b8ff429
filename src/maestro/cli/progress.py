"""How a run is going, for a person: one live line on a terminal, plain lines elsewhere."""

import os
import sys
import time
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

EVERY = 10.0  # seconds between plain lines


def duration(seconds: float) -> str:
    """`3m20s`."""
    hours, rest = divmod(int(max(0, seconds)), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"


def line(status: dict[str, Any]) -> str:
    """Updates, speed, time left, returns, co-player, replay share and buffer fill."""
    done, total = status["updates"], status["total"]
    parts = [f"update {done}/{total} ({done / total:.0%})"]
    if status.get("speed"):
        parts.append(f"{status['speed']:.2f} updates/s, {status['steps_per_second']:,.0f} steps/s")
        parts.append(f"{duration((total - done) / status['speed'])} left")
    for name, form in (("return", "+.2f"), ("coplayer", "d"), ("replay", ".0%"), ("fill", ".0%")):
        if status.get(name) is not None and status[name] == status[name]:
            parts.append(f"{name} {status[name]:{form}}")
    if status.get("skipped"):
        parts.append(f"{status['skipped']} updates skipped")
    return " | ".join(parts)


class Progress:
    """Shows the newest status; `say` prints a line that stays. It goes on if nobody reads."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stdout, highlight=False, emoji=False)
        self.live: Live | None = None
        self.last = 0.0

    def __enter__(self) -> "Progress":
        if self.console.is_terminal:
            self.live = Live(console=self.console, refresh_per_second=4, transient=True)
            self.live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.live is not None:
            with suppress(OSError):
                self.live.__exit__(None, None, None)

    def show(self, status: dict[str, Any]) -> None:
        """The newest status; without a terminal not more often than every few seconds."""
        if self.live is not None:
            with suppress(OSError):
                self.live.update(Text(line(status), overflow="fold"))
        elif time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            self.say(line(status))

    def say(self, text: str) -> None:
        """A line that stays."""
        try:
            if self.live is None:  # by itself, as the console ends the process where nobody reads
                print(text, file=self.console.file, flush=True)
            else:
                self.console.print(text, markup=False, soft_wrap=True)
        except OSError:
            self.silence()

    def silence(self) -> None:
        """Nobody listens any more: go on without a word."""
        self.live, self.console = None, Console(file=open(os.devnull, "w"))  # noqa: SIM115
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
