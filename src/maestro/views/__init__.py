"""Games by name in PettingZoo and Gymnasium; importing this registers an id for each known game."""

from contextlib import suppress
from importlib import metadata
from typing import Any

from maestro import games
from maestro.envs.gym import Parallel, Single, Vector  # first, since it says what to install
from maestro.games import DEFAULT, Game
from maestro.views.names import find_game, find_player, stage

import gymnasium  # isort: skip

__all__ = ["parallel", "register", "single", "vector"]


def single(
    game: str | Game = DEFAULT,
    opponent: Any = "random",
    level: Any = None,
    seat: int = 0,
    render_mode: str | None = None,
    **settings: Any,
) -> Single:
    """One seat beside an opponent, as Gymnasium sees it; other arguments are the game's settings."""
    found = find_game(game)
    return Single(stage(found, settings, render_mode), find_player(found, opponent), seat, level)


def vector(
    num_envs: int,
    game: str | Game = DEFAULT,
    opponent: Any = "random",
    level: Any = None,
    seat: int = 0,
    render_mode: str | None = None,
    autoreset_mode: Any = "NextStep",
    **settings: Any,
) -> Vector:
    """Many games of one seat, stepped by one call; `level` may be a list with a level for each."""
    found = find_game(game)
    shown = stage(found, settings, render_mode, modes=("rgb_array",))
    return Vector(shown, find_player(found, opponent), num_envs, seat, level, autoreset_mode)


def parallel(
    game: str | Game = DEFAULT, level: Any = None, render_mode: str | None = None, **settings: Any
) -> Parallel:
    """All seats of a game, as PettingZoo sees it; other arguments are the game's settings."""
    return Parallel(stage(find_game(game), settings, render_mode), level)


def register(game: str | Game, name: str | None = None) -> str:
    """Give a game its id in Gymnasium, by default the name of its class: maestro/NAME-v0."""
    name = find_game(game).environment.__name__ if name is None else name
    known = f"maestro/{name}-v0"
    if known not in gymnasium.registry:
        one, many = "maestro.views:single", "maestro.views:vector"
        gymnasium.register(known, one, vector_entry_point=many, kwargs={"game": game})
    elif gymnasium.registry[known].kwargs != {"game": game}:
        raise ValueError(f"game: the id {known!r} belongs to another game; choose a name for this one")
    return known


def register_known() -> None:
    """An id for each game of the table, and for those of installed packages that no one has imported yet."""
    for name in games.TABLE:
        register(name)
    for entry in metadata.entry_points(group=games.GROUP):
        with suppress(gymnasium.error.Error, ValueError):  # its name makes no id, or one that is taken
            register(entry.name, entry.name)


register_known()
