"""What the commands share: parsing by tyro, and checks whose failures are the user's to fix."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from maestro.games import Game
    from maestro.settings import SettingsError


MAX_SEED = 2**32 - 1


class Mistake(Exception):
    """The user asked for what cannot be done; the message is all they see."""


def parse(
    command: Callable[..., None] | dict[str, Callable[..., None]], name: str, arguments: list[str]
) -> None:
    """Call a function, or one of several by the next argument, with arguments parsed by its signature."""
    import tyro

    prog = f"maestro {name}"
    if isinstance(command, dict):
        tyro.extras.subcommand_cli_from_dict(command, prog=prog, args=arguments)
    else:
        tyro.cli(command, prog=prog, args=arguments)


def check_range(option: str, value: int | float, low: int | float, high: int | float) -> None:
    """Refuse a number that is not between two others."""
    if not low <= value <= high:
        raise Mistake(f"{option}: {value} is not between {low} and {high}")


def check_output(option: str, path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if path.suffix.lower() not in endings:
        raise Mistake(f"{option}: {str(path)!r} does not end in one of {', '.join(endings)}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise Mistake(f"{option}: the folder {str(folder)!r} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise Mistake(f"{option}: {str(path)!r} cannot be written")


def make_folder(option: str, folder: Path) -> None:
    """Make a folder for output where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{option}: {str(folder)!r} cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Mistake(f"{option}: the folder {str(folder)!r} cannot be written into")


def writing(option: str, path: Path, write: Callable[[], Any]) -> None:
    """Write a file; a full disk or the like is a mistake, not a crash."""
    try:
        write()
    except OSError as error:
        raise Mistake(f"{option}: {str(path)!r} cannot be written ({error.strerror or error})") from None


def find_game(option: str, typed: str) -> "Game":
    """The game that was typed."""
    from maestro import games

    try:
        return games.find(typed)
    except games.NotFound as error:
        raise Mistake(f"{option}: {error}") from None


def find_level(game: "Game", value: str) -> tuple[str, Any]:
    """A level by its name or by the path of its file, and what to call it."""
    try:
        return game.levels.find(value)
    except ValueError as error:
        raise Mistake(f"level: {error}") from None


def refuse(error: "SettingsError") -> NoReturn:
    """Settings that cannot be used are the user's to fix."""
    raise Mistake("these settings cannot be used:\n  " + "\n  ".join(error.problems)) from None
