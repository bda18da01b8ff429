"""What the commands share: parsing by tyro, and checks whose failures are the user's to fix."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro import cache, imports

if TYPE_CHECKING:
    from maestro.games import Game
    from maestro.settings import SettingsError


MAX_SEED = 2**32 - 1
LEAST = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"  # shorter compilations are not kept


class Mistake(Exception):
    """The user asked for what cannot be done; the message is all they see."""


Command = Callable[..., Callable[[], None] | None]  # what it returns is done at the end, and can be unwound


def parse(command: Command | dict[str, Command], name: str, arguments: list[str]) -> None:
    """Call a function, or one of several by the next argument, with arguments parsed by its signature.

    It works in another thread, so that an interrupt is heard at once and never unwinds a compiler.
    """
    import tyro

    call: Any = tyro.extras.subcommand_cli_from_dict if isinstance(command, dict) else tyro.cli
    work = ThreadPoolExecutor(1).submit(partial(call, command, prog=f"maestro {name}", args=arguments))
    end = work.result()
    if end is not None:
        with unwinding():
            end()


@contextmanager
def unwinding() -> Iterator[None]:
    """While entered, an interrupt is an exception: files that are half written are removed."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def use_cache() -> None:
    """Keep compiled programs on disk, unless the user has said where, or nothing can be kept."""
    import jax

    if jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    try:
        kept = cache.base() / "jax"
        kept.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # nobody's home
        return
    if os.access(kept, os.W_OK | os.X_OK):
        jax.config.update("jax_compilation_cache_dir", str(kept))
        if LEAST not in os.environ:
            jax.config.update(LEAST.lower(), 0.3)  # a duel's program takes about a second


def check_range(option: str, value: int | float, low: int | float, high: int | float) -> None:
    """Refuse a number that is not between two others."""
    if not low <= value <= high:
        raise Mistake(f"{option}: {value} is not between {low} and {high}")


def check_output(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if path.suffix.lower() not in endings:
        raise Mistake(f"{option}: {str(path)!r} does not end in one of {', '.join(endings)}")
    try:
        os.stat(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Mistake(f"{option}: {str(path)!r} cannot be written ({error.strerror})") from None
    folder = path.resolve().parent
    if not folder.is_dir():
        raise Mistake(f"{option}: the folder {str(folder)!r} does not exist")
    if path.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise Mistake(f"{option}: {str(path)!r} cannot be written")


def make_folder(option: str, folder: Path) -> None:
    """Make a folder for output where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{option}: {str(folder)!r} cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Mistake(f"{option}: the folder {str(folder)!r} cannot be written into")


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """While a file is written: a full disk or the like is a mistake, not a crash."""
    try:
        yield
    except OSError as error:
        raise Mistake(f"{option}: {str(path)!r} cannot be written ({error.strerror or error})") from None


def find_game(option: str, typed: str) -> "Game":
    """The game that was typed."""
    from maestro import games

    try:
        return games.find(typed)
    except games.NotFound as error:
        raise Mistake(f"{option}: {error}") from None


def find_method(typed: str) -> Any:
    """A method of the user's own, if that is what was typed."""
    if not imports.is_path(typed):
        return None
    from maestro.curriculum import Method

    try:
        return imports.load(typed, Method, typed=True)
    except imports.NotFound as error:
        raise Mistake(f"--method: {error}") from None


def find_level(game: "Game", value: str) -> tuple[str, Any]:
    """A level by its name or by the path of its file, and what to call it."""
    try:
        return game.levels.find(value)
    except ValueError as error:
        raise Mistake(f"level: {error}") from None


def with_examples(command: Any) -> Any:
    """A command in whose help {level} and {player} are those of the game that is meant if none is named."""
    from maestro.games import LEVELS, PLAYERS

    (level, other_level), (player, other_player) = LEVELS, PLAYERS
    names = {"level": level, "other_level": other_level, "player": player, "other_player": other_player}
    for name, value in names.items():
        command.__doc__ = command.__doc__.replace(f"{{{name}}}", value)
    return command


def unusable(error: "SettingsError") -> str:
    """What to say of settings that cannot be used, which are the user's to fix."""
    return "these settings cannot be used:\n  " + "\n  ".join(error.problems)
