"""The command line: a table of commands, each in its own module and imported only when it is called."""

import difflib
import importlib
import os
import sys

from maestro.games import DEFAULT

COMMANDS = {  # the module maestro.cli.<name>, whose `main(arguments)` runs it
    "train": "train students by a method, several seeds at once",
    "resume": "resume a run that was stopped",
    "runs": "list runs: how far, how fast, in what state",
    "export": "write a run's students as files that stand alone",
    "levels": "list, show and sample levels",
    "duel": "watch two players, film them, or count their wins",
}
USAGE = "usage: maestro COMMAND [OPTIONS]"
EXAMPLES = f"""\
examples:
  maestro train {DEFAULT} --preset tiny
  maestro train {DEFAULT} --method maestro --preset fast --seeds 10
  maestro levels show Cross
  maestro duel FourRooms --a random --b hunter
  maestro COMMAND --help"""


def main() -> int:
    """Run the command that the arguments of the process name; returns the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the process
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without the drawing characters
    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def run(arguments: list[str]) -> int:
    """Run one command; a mistake of the user's is one message and exit code 2."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        import maestro

        print(f"maestro {maestro.__version__}")
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        nearest = difflib.get_close_matches(name, COMMANDS, 1, 0.0)[0]
        allowed = ", ".join(COMMANDS)
        return complain(f"unknown command {name!r} (nearest: {nearest!r}; allowed: {allowed})")

    from maestro.cli.arguments import Mistake

    try:
        importlib.import_module(f"maestro.cli.{name}").main(rest)
        sys.stdout.flush()
    except Mistake as mistake:
        return complain(str(mistake))
    except SystemExit as end:  # how the parser of arguments ends
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def overview() -> str:
    """What `maestro --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()]
    about = "Train agents for two-player games on levels that a teacher picks by regret (MAESTRO)."
    return "\n\n".join([USAGE, about, "commands:\n" + "\n".join(lines), EXAMPLES])


def complain(message: str) -> int:
    """Say what is wrong on stderr; the exit code of a mistake."""
    print(f"maestro: {message}", file=sys.stderr)
    return 2
