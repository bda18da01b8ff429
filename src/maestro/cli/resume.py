"""`maestro resume`: go on with a run that was stopped."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import games, imports, settings
from maestro.cli.arguments import Mistake, find_game, refuse
from maestro.cli.options import read_file, split
from maestro.cli.train import find_method
from maestro.config import RunConfig
from maestro.games import Game
from maestro.settings import SettingsError, shown


@dataclass(frozen=True)
class Options:
    """Resume a run from its newest good checkpoint, exactly as if it had never stopped.

    For example:

    maestro resume runs/maestro-20230501-120000
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    game: Annotated[str, tyro.conf.arg(metavar="module:NAME")] = ""
    """Where the run's game is, if it is one of your own."""
    method: Annotated[str, tyro.conf.arg(metavar="module:NAME")] = ""
    """Where the run's method is, if it is one of your own."""
    config: Annotated[str, tyro.conf.arg(metavar="FILE")] = ""
    """Settings that the run is believed to have; differences are refused."""
    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Also log to Weights & Biases (needs the extra of that name)."""


def main(arguments: list[str]) -> None:
    """Run `maestro resume`; options it does not name itself are settings, which must be those of the run."""
    own, _, _ = split(Options, arguments, RunConfig())
    options = tyro.cli(Options, prog="maestro resume", args=own)
    from maestro.cli import launch
    from maestro.runs.folder import RunError

    own_method = options.method if imports.is_path(options.method) else ""
    try:
        game, config, method = open_run(Path(options.run), options.game, own_method)
        _, given, problems = split(Options, arguments, config, options.run)
        given += [("method", options.method)] * bool(options.method)
        refuse_difference(game, config, options.config, given, problems)
    except RunError as error:
        raise Mistake(str(error)) from None
    except SettingsError as error:
        refuse(error)
    job = launch.Job(game, config, method, options.game, options.wandb)
    launch.launch(job, Path(options.run), new=False)


def open_run(path: Path, typed_game: str = "", typed_method: str = "") -> tuple[Game, RunConfig, Any]:
    """(game, settings, the user's own method) of a run; Python that it names must be typed again."""
    from maestro.runs import build
    from maestro.runs.folder import RunError, read_settings

    folder, raw = read_settings(path)
    method = method_of_run(raw.get("method"), typed_method)
    game = game_of_run(folder.path, raw.get("game"), typed_game)
    try:
        base = games.fill(game, RunConfig())
        return game, build.configure(game, base, raw, method), method
    except SettingsError as error:
        raise RunError(f"{folder.config} is damaged:\n{error}") from None


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
        origin = ""
        with suppress(OSError, ValueError, AttributeError):
            origin = str(json.loads((path / "about.json").read_bytes()).get("game_from") or "")
        hint = f" (it was made with {shown(origin)})" if origin else ""
        raise Mistake(f"{path}: {error}{hint}") from None


def method_of_run(name: Any, typed: str) -> Any:
    """The user's own method of a run, if it has one: it must be typed again."""
    if typed and typed != name:
        raise Mistake(f"--method: the run's method is {shown(name)}, not {typed}")
    if isinstance(name, str) and imports.is_path(name) and not typed:
        raise Mistake(f"the run's method is {name}; it is imported only if you type it: --method {name}")
    return find_method(typed)


def refuse_difference(
    game: Game, config: RunConfig, file: str, given: list[tuple[str, str]], problems: list[str]
) -> None:
    """A run keeps its settings; what would change is told field by field."""
    from maestro.runs import build

    changes = settings.merge(read_file(file) if file else {}, settings.nested(given))
    preset = changes.pop("preset", None)
    if preset is not None and preset not in list(game.presets):
        problems.append(f"preset: {shown(preset)} is not allowed; allowed: {', '.join(game.presets)}")
        preset = None
    wanted = settings.apply(config if preset is None else game.presets[preset], changes, problems)
    if wanted.level != config.level:
        level = build.settled_level(game, wanted.level, problems)
        wanted = settings.apply(wanted, {"level": level}, problems)
    if problems:
        raise SettingsError(problems)
    different = settings.difference(config, wanted)
    if different:
        lines = "\n  ".join(different)
        raise Mistake(f"a run keeps its settings; these are different:\n  {lines}")
