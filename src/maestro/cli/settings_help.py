"""`--help` with every setting, its sentence and its default, made from the dataclasses that hold them."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

import tyro

from maestro.config import RunConfig, settings_of
from maestro.games import Game
from maestro.methods import METHODS


def without_given(settings: Any) -> Any:
    """The same settings, of a type that hides from the parser what is not a setting."""
    kind = type(settings)
    hints = get_type_hints(kind, include_extras=True)
    given = {f.name: f for f in fields(kind) if f.name not in settings_of(settings)}
    hide: Any = tyro.conf.Suppress
    hidden = {name: hide[hints[name]] for name in given}
    defaults = {name: f.default for name, f in given.items()}
    body = {"__annotations__": hidden, "__doc__": kind.__doc__, **defaults}
    shown: Any = dataclass(frozen=True)(type(kind.__name__, (kind,), body))
    return shown(**{f.name: getattr(settings, f.name) for f in fields(kind)})


def show_help(options: type, prog: str, game: Game, name: str) -> None:
    """Print the help of a command whose options are its own and all settings of a game; ends the process."""
    preset = game.presets[name]
    environment, agent = without_given(preset.environment), without_given(preset.agent)
    game_settings, network = type(environment), type(agent)

    @dataclass(frozen=True)
    class Command(options, RunConfig):
        game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = ""
        """The game: one that is known, or a game of your own as module:NAME."""
        environment: game_settings = None  # type: ignore[valid-type]
        """The game's own settings."""
        agent: network = None  # type: ignore[valid-type]
        """The network."""

    known_names = f"Methods: {', '.join(METHODS)}. Presets: {', '.join(game.presets)}."
    Command.__doc__ = f"{options.__doc__}\n    {known_names}\n    "
    defaults: dict[str, Any] = {f.name: getattr(preset, f.name) for f in fields(RunConfig)}
    known: dict[str, Any] = {"environment": environment, "agent": agent, "preset": name}
    command = Command(**(defaults | known))
    tyro.cli(Command, prog=prog, default=command, args=["--help"])
