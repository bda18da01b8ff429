"""What a person names: a game, its settings, a level, a player, each by name, by file or as it is."""

from pathlib import Path
from typing import Any

from maestro import games, settings
from maestro.envs.base import Level
from maestro.envs.gym import Stage
from maestro.games import Game
from maestro.runs import players
from maestro.settings import SettingsError
from maestro.views.pictures import Canvas
from maestro.views.screen import Screen

GENERATED = "random"  # in place of a level's name


def find_game(game: str | Game) -> Game:
    """A game by its name, as module:NAME, or as it is."""
    return game if isinstance(game, Game) else games.find(game)


def find_player(game: Game, opponent: Any) -> Any:
    """A player by its name, a trained one by its file or its run, or any player or function as it is."""
    if not isinstance(opponent, str | Path):
        return opponent
    try:
        return players.find(game, str(opponent))
    except ValueError as error:
        raise ValueError(f"opponent: {error}; or a player, or a function") from None


def find_level(game: Game, value: str | Path) -> Level | None:
    """A level by its name or its file; None for one that is sampled."""
    if value == GENERATED:
        return None
    try:
        return game.levels.find(str(value))[1]
    except ValueError as error:
        raise ValueError(f"level: {error}") from None


def environment(game: Game, changes: dict[str, Any]) -> Any:
    """The rules of a game with some settings changed."""
    problems: list[str] = []
    env = settings.apply(game.environment(), changes, problems)
    problems += settings.out_of_range(env)
    problems += env.problems() if hasattr(env, "problems") else []
    if problems:
        raise SettingsError(problems)
    return env


def stage(
    game: Game,
    changes: dict[str, Any],
    render_mode: str | None,
    modes: tuple[str, ...] = ("human", "rgb_array"),
) -> Stage:
    """A game with its names, and with the ways in which it can be shown."""
    shown: dict[str, Any] = {"human": Screen(game.draw.terminal)}
    if game.draw.picture is not None:
        shown["rgb_array"] = Canvas(game.draw.picture)
    renderers = {mode: shown[mode] for mode in modes if mode in shown}
    return Stage(
        environment(game, changes), game.name, lambda value: find_level(game, value), render_mode, renderers
    )
