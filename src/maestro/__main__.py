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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")  # a terminal without the drawing characters
    from maestro.cli import run, say

    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        say("maestro: interrupted", error=True)
        os._exit(130)  # another thread may be compiling, which nothing can stop
    except BrokenPipeError:  # whoever read the output has seen enough
        return mute(141)
    except OSError as error:
        say(f"maestro: the output cannot be written: {error.strerror or error}", error=True)
        return mute(1)


def mute(code: int) -> int:
    """Give up on the output, so that nothing is written again at the end; returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


if __name__ == "__main__":
    sys.exit(main())
