"""The command line: a table of commands, each in its own module and imported only when it is called."""

import difflib
import importlib
import os
import sys

from maestro.cli.output import say
from maestro.games import DEFAULT, LEVELS, PLAYERS
from maestro.settings import SettingsError

COMMANDS = {  # the module maestro.cli.<name>, whose `main(arguments)` runs it
    "train": "train students by a method, several seeds at once",
    "resume": "resume a run that was stopped",
    "runs": "list runs: how far, how fast, in what state",
    "export": "write a run's students as files that stand alone",
    "levels": "list, show and sample levels",
    "duel": "watch two players, film them, or count their wins",
    "evaluate": "measure students on unseen levels against unseen opponents",
    "crossplay": "let students of many runs meet, and compare them",
    "landscape": "estimate regret over co-players and levels",
    "figure": "draw the paper's figures from runs and games",
    "video": "film a game with what each player sees and expects",
    "report": "write one page that shows and explains it all",
    "study": "train, evaluate and draw all that a file lists",
    "theory": "solve small games exactly, and watch the teacher get there",
    "agents": "list the agents that come with the package",
}
USAGE = "usage: maestro COMMAND [OPTIONS]"
EXAMPLES = f"""\
examples:
  maestro train {DEFAULT} --preset tiny
  maestro train {DEFAULT} --method maestro --preset fast --seeds 10
  maestro levels show {LEVELS[1]}
  maestro duel {LEVELS[0]} --a random --b {PLAYERS[0]}
  maestro COMMAND --help"""


def run(arguments: list[str]) -> int:
    """Run one command; a mistake of the user's is one message and exit code 2."""
    from maestro.cli.arguments import Mistake, unusable

    code = 0
    try:
        if arguments and arguments[0] in COMMANDS:
            importlib.import_module(f"maestro.cli.{arguments[0]}").main(arguments[1:])
        else:
            code = reply(arguments)
    except Mistake as mistake:
        code = complain(str(mistake))
    except SettingsError as error:
        code = complain(unusable(error))
    except SystemExit as end:  # how the parser of arguments ends
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except OSError as error:
        code = complain(trouble(error))
    except (RuntimeError, AssertionError):
        if has_device():
            raise
        code = complain(f"JAX finds no device; JAX_PLATFORMS is {os.environ.get('JAX_PLATFORMS', '')!r}")
    sys.stdout.flush()
    return code


def has_device() -> bool:
    """Whether JAX, if it was asked, has found something to compute on."""
    if "jax" not in sys.modules:
        return True
    import jax

    try:
        return bool(jax.devices())
    except (RuntimeError, AssertionError):
        return False


def reply(arguments: list[str]) -> int:
    """Say something where no command is named; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        say(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        import maestro

        say(f"maestro {maestro.__version__}")
        return 0
    nearest = difflib.get_close_matches(arguments[0], COMMANDS, 1, 0.0)[0]
    allowed = ", ".join(COMMANDS)
    return complain(f"unknown command {arguments[0]!r} (nearest: {nearest!r}; allowed: {allowed})")


def trouble(error: OSError) -> str:
    """What a file that cannot be used is the reason for; an error of the output itself is raised again."""
    if error.filename is not None:
        return f"{str(error.filename)!r}: {error.strerror or error}"
    try:
        os.getcwd()
    except OSError:
        return "the folder that you are in is gone; go to another one"
    raise error


def overview() -> str:
    """What `maestro --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()]
    about = "Train agents for two-player games on levels that a teacher picks by regret (MAESTRO)."
    return "\n\n".join([USAGE, about, "commands:\n" + "\n".join(lines), EXAMPLES])


def complain(message: str) -> int:
    """Say what is wrong on stderr; the exit code of a mistake."""
    say(f"maestro: {message}", error=True)
    return 2
