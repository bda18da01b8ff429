"""How a run is going, for a person: one live line on a terminal, plain lines elsewhere."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from maestro.cli.output import Errors, clean

EVERY = 10.0  # seconds between plain lines
BEAT = 30.0  # seconds after which a plain line says that something still goes on


def duration(seconds: float) -> str:
    """`3m20s`."""
    hours, rest = divmod(int(max(0, seconds)), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{seconds:02d}s" if minutes else f"{seconds}s"


def roughly(seconds: float) -> str:
    """`3 hours`: no more than an estimate is worth."""
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}s"
    return "a minute"


def line(status: dict[str, Any], seconds: float = 0.0) -> str:
    """Updates, speed, time left, returns, co-player, replay share and buffer fill; what lasts so long now."""
    if status.get("doing"):
        return f"{status['doing']}: {duration(seconds)}"
    done, total = status["updates"], status["total"]
    parts, left = [f"update {done}/{total} ({done / total:.0%})"], total - done
    if status.get("exploiter_total"):
        made = status.get("exploiter_updates", 0)
        parts.append(f"exploiters {made}/{status['exploiter_total']}")
        left += status["exploiter_total"] - made
    if status.get("speed"):
        parts.append(f"{status['speed']:.2f} updates/s, {status['steps_per_second']:,.0f} steps/s")
        parts.append(f"{duration(left / status['speed'])} left")
    for name, form in (("return", "+.2f"), ("coplayer", "d"), ("replay", ".0%"), ("fill", ".0%")):
        if status.get(name) is not None and status[name] == status[name]:
            parts.append(f"{name} {status[name]:{form}}")
    if status.get("skipped"):
        parts.append(f"{status['skipped']} updates skipped")
    if seconds >= EVERY:
        parts.append(f"{duration(seconds)} ago")
    return " | ".join(parts)


class Progress:
    """Shows the newest status and its age; `say` prints a line that stays. It goes on if nobody reads."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stdout, highlight=False, emoji=False)
        self.live: Live | None = None
        self.status: dict[str, Any] = {}
        self.since = self.last = 0.0  # when the status came, and when a line was printed
        self.ended = threading.Event()

    def __enter__(self) -> "Progress":
        if self.console.is_terminal:
            self.live = Live(
                console=self.console, get_renderable=self.now, refresh_per_second=4, transient=True
            )
            self.live.__enter__()
        else:
            threading.Thread(target=self.watch, daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.ended.set()
        if self.live is not None:
            with suppress(OSError):
                self.live.__exit__(None, None, None)

    def now(self) -> Text:
        """The live line."""
        told = line(self.status, time.monotonic() - self.since) if self.status else ""
        return Text(clean(told), overflow="fold")

    def watch(self) -> None:
        """Look now and then whether there is news."""
        while not self.ended.wait(EVERY):
            self.beat()

    def beat(self) -> None:
        """Say that something still goes on, if nothing was said for a while."""
        now = time.monotonic()
        if self.status and now - max(self.since, self.last) >= BEAT:
            self.last = now
            self.say(line(self.status, now - self.since))

    def show(self, status: dict[str, Any]) -> None:
        """The newest status; without a terminal not more often than every few seconds."""
        self.status, self.since = dict(status), time.monotonic()
        if self.live is None and not status.get("doing") and self.since - self.last >= EVERY:
            self.last = self.since
            self.say(line(status))

    def say(self, text: str) -> None:
        """A line that stays."""
        try:
            if self.live is None:  # by itself, as the console ends the process where nobody reads
                print(clean(text), file=self.console.file, flush=True)
            else:
                self.console.print(clean(text), markup=False, soft_wrap=True)
        except OSError:
            self.silence()

    def silence(self) -> None:
        """Nobody listens any more: go on without a word."""
        self.live, self.console = None, Console(file=open(os.devnull, "w"))  # noqa: SIM115
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def reporting(as_json: bool) -> Iterator[Progress | Errors]:
    """Progress on the terminal; none where the output is for other programs."""
    if as_json:
        yield Errors()
        return
    with Progress() as progress:
        yield progress
