"""Where the commands print: what others have named can be read, and never steers the terminal."""

import re
import sys
from typing import Any

# Control characters but for the tab and the end of a line; those that hide or turn what stands around them.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """A text in which unseen characters are spelled out: `\\x1b[31m`."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str, end: str = "\n", error: bool = False) -> None:
    """Print a text, at once; an error where errors go, if anyone listens there."""
    if not error:
        print(clean(text), end=end, flush=True)
        return
    try:
        print(clean(text), end=end, file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a full disk, or closed: there is nobody left to tell
        return


class Errors:
    """A reporter whose remarks go where errors go, because the output is a list of something else."""

    def say(self, text: str) -> None:
        say(f"maestro: {text}", error=True)

    def show(self, status: dict[str, Any]) -> None:
        """Nothing goes on here."""


def console(pipe_width: int | None = None, **more: Any) -> Any:
    """A console of `rich` that spells out unseen characters; so many columns wide without a terminal."""
    from rich.console import Console
    from rich.text import Text

    class Screen(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(clean(text), **options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Screen(width=None if sys.stdout.isatty() else pipe_width, **more)
