"""States on a terminal, each in the place of the one before."""

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from maestro.envs.gym.stage import FPS


class Screen:
    """Shows a game as it goes on, not faster than the eye can follow; elsewhere prints state after state."""

    def __init__(self, terminal: Callable[[Any, Any], str]) -> None:
        self.terminal = terminal  # (level, state) -> lines in rich's markup
        self.lines = 0  # of the state that stands there
        self.next = 0.0  # when the next one may be shown

    def __call__(self, level: Any, state: Any) -> None:
        """Print a state."""
        console, text = Console(), Text.from_markup(self.terminal(level, state))
        if console.is_terminal:
            self.wait()
            console.file.write(f"\x1b[{self.lines}A\x1b[J" if self.lines else "")  # up, and clear from there
            self.lines = text.plain.count("\n") + 1
        console.print(text, highlight=False, no_wrap=True, overflow="crop")

    def wait(self) -> None:
        """Hold the pace."""
        time.sleep(max(0.0, self.next - time.monotonic()))
        self.next = time.monotonic() + 1 / FPS
