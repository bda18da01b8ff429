"""The program: `maestro`, or `python -m maestro`; it hears an interrupt before anything else is loaded."""

import os
import signal
import sys
from types import FrameType


def end_at_once(number: int, frame: FrameType | None) -> None:
    """An import or a compilation cannot be unwound: say a word, and end."""
    try:
        os.write(2, b"\n" * os.isatty(2) + b"maestro: interrupted\n")
    finally:  # whether or not anyone listens
        os._exit(128 + number)


def main() -> int:
    """Run the command that was typed; returns the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in background jobs
        signal.signal(signal.SIGINT, end_at_once)
    from maestro import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
