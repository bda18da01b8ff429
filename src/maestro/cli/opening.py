"""A run that was typed: its game, its settings and its method; nothing in its folder causes an import."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import games, imports
from maestro.cli.arguments import Mistake, find_game, find_method
from maestro.config import RunConfig
from maestro.games import DEFAULT, Game
from maestro.runs import folder as run_folder
from maestro.runs.folder import RunError, RunFolder
from maestro.settings import SettingsError, shown

PlayedOption = Annotated[
    str,
    tyro.conf.arg(
        metavar="GAME",
        help=f"By default that of the runs and agents named, else {DEFAULT}; one of your own is module:NAME.",
        help_behavior_hint="",
    ),
]


def played_game(typed: str, who: Iterable[str]) -> Game:
    """The game that was typed, else the one of the first run or agent among those named, else the usual."""
    from maestro.runs.players import game_of

    told = (name for name in map(game_of, who) if name in games.TABLE)  # others are imported only if typed
    return find_game("--game", typed or next(told, DEFAULT))


def open_run(path: Path, typed_game: str = "", typed_method: str = "") -> tuple[Game, RunConfig, Any]:
    """(game, settings, the user's own method) of a run; Python that it names must be typed again."""
    from maestro.runs import build

    folder, raw = run_folder.read_settings(path)
    method = method_of_run(raw.get("method"), typed_method)
    game = game_of_run(folder.path, raw.get("game"), typed_game)
    try:
        base = games.fill(game, RunConfig())
        return game, build.configure(game, base, raw, method), method
    except SettingsError as error:
        raise RunError(f"{folder.config} is damaged:\n{error}") from None


def seeds_of(config: Any, seed: int | None) -> list[int]:
    """All seeds of a run, or the one that is asked for."""
    known = range(config.seed, config.seed + config.seeds)
    if seed is not None and seed not in known:
        raise Mistake(f"--seed: the run has no seed {seed}; it has {known[0]} to {known[-1]}")
    return list(known) if seed is None else [seed]


def game_of_run(path: Path, name: Any, typed: str) -> Game:
    """The game of a run: known here, or typed again by whoever resumes it."""
    if typed:
        game = find_game("--game", typed)
        if game.name != name:
            raise Mistake(f"--game: {typed} is {game.name}, and the run is of {shown(name)}")
        return game
    try:
        return games.known(str(name))
    except games.NotFound as error:
        origin = run_folder.read_json(RunFolder(path).about).get("game_from")
        hint = f" (it was made with {shown(origin)})" if origin else ""
        raise Mistake(f"{path}: {error}{hint}") from None


def method_of_run(name: Any, typed: str) -> Any:
    """The user's own method of a run, if it has one: it must be typed again."""
    if typed and typed != name:
        raise Mistake(f"--method: the run's method is {shown(name)}, not {typed}")
    if isinstance(name, str) and imports.is_path(name) and not typed:
        raise Mistake(f"the run's method is {name}; it is imported only if you type it: --method {name}")
    return find_method(typed)
