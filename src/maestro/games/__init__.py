"""What the rest of the package knows of a game: one value; the table of known games, and how one is found."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from maestro import agents, imports
from maestro.config import PRESETS, RunConfig, leaves, settable
from maestro.imports import NotFound
from maestro.settings import nearest, shown

DEFAULT = "lasertag"
LEVELS, PLAYERS = ("FourRooms", "Cross"), ("hunter", "turret")  # of the default, for examples in help texts
TABLE = {"lasertag": "maestro.games.lasertag:GAME", "racing": "maestro.games.racing:GAME"}
OLDEST = "lasertag"  # the only game of the first version, which did not write its name down
GROUP = "maestro.games"  # of the entry points by which installed packages offer games
_found: dict[str, "Game"] = {}


def describe(level: Any, state: Any) -> str:
    """A state as its numbers, for games that draw nothing better."""
    return str(state).replace("[", r"\[")  # a bracket would begin markup


@dataclass(frozen=True)
class Drawing:
    """How a state is shown."""

    terminal: Callable[[Any, Any], str] = describe
    """(level, state) -> lines in rich's markup."""
    picture: Callable[[Any, Any, int], Any] | None = None
    """(level, state, scale) -> uint8 [height, width, 3]; without it there are no pictures and no films."""
    seats: tuple[str, ...] = ()
    """How pictures tell the players apart, `("red", "blue")`: films say so in words."""
    colors: tuple[str, ...] = ()
    """Of the seats in pictures, `("#ff3366", "#45b0fc")`: films draw the players' values in them."""
    view: Callable[[Any, int], Any] | None = None
    """(what one player observes, scale) -> uint8 [height, width, 3]; films show a heat map without it."""
    map: Callable[[Any, int], Any] | None = None
    """(level, scale) -> uint8 [height, width, 3]: all of a level, where pictures show only a part of it."""
    scene: Callable[[Any], Any] | None = None
    """level -> `maestro.envs.scene.Scene`: pages draw it; without it they show `terminal`."""
    bodies: Callable[[Any, Any], list[tuple[int, float, float, float]]] | None = None
    """(level, state) -> (kind of body, x, y, angle) of all that moves, upon the level's scene."""


@dataclass(frozen=True)
class Split:
    """Levels, and scripted opponents, that are kept for one use."""

    levels: tuple[str, ...] | Path = ()
    """Names of levels, or a JSON file that holds the texts of others by their names."""
    opponents: tuple[str, ...] = ()
    """Names of players."""

    def texts(self, levels: Any) -> dict[str, str]:
        """The texts of its levels by name."""
        if isinstance(self.levels, Path):
            return dict(json.loads(self.levels.read_bytes()))
        named = dict(levels.named)
        return {name: named[name] for name in self.levels}


@dataclass(frozen=True)
class Share:
    """A number between 0 and 1 that tables of games have beside scores and lengths."""

    told: str
    """Its name in `info`, of whose values over a game it is the sum."""
    per_step: int | float = 0
    """A share of time has the most that a step can add here: the sum is divided by it and by the steps."""

    def of(self, total: Any, length: Any) -> Any:
        """The share in games of some length, [*g] or [*g, agents], given the sums."""
        if not self.per_step:
            return total
        return total / (self.per_step * length.reshape(*length.shape, *[1] * (total.ndim - length.ndim)))


@dataclass(frozen=True)
class Game:
    """Everything that training, evaluation and the command line need to know of a game."""

    name: str
    environment: type  # an `Environment`: a frozen dataclass, whose fields are the game's settings
    agent: Any = "mlp"  # a name of `maestro.agents.READY`, or an `Agent` likewise: the network's settings
    presets: Mapping[str, RunConfig] = field(default_factory=lambda: PRESETS)
    players: Mapping[str, Any] = field(default_factory=dict)  # scripted opponents by name
    levels: Any = None  # `Levels`: by name and as text; in JSON if none are given
    splits: Mapping[str, Split] = field(default_factory=dict)  # by their use: validation, test, specialist
    draw: Drawing = Drawing()
    shares: Mapping[str, Share] = field(default_factory=dict)  # by name; what else `info` tells is summed
    page: Path | None = None  # a folder of scripts with which pages play the game, with its own agents

    def __post_init__(self) -> None:
        from maestro.envs.levels import as_json
        from maestro.envs.players import Random

        if not self.presets:
            raise ValueError("presets: a game needs at least one")
        if isinstance(self.agent, str):
            object.__setattr__(self, "agent", agents.ready(self.agent))
        for name, kind in (("environment", self.environment), ("agent", self.agent)):
            frozen = is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
            if not frozen or not isinstance(kind, type):
                raise TypeError(f"{name}: {getattr(kind, '__name__', shown(kind))} is no frozen dataclass")
        env = self.environment()
        filled = {name: fill(self, preset) for name, preset in self.presets.items()}
        players = {"random": Random(env.action), **self.players}
        for name, value in (("presets", filled), ("players", players)):
            object.__setattr__(self, name, value)
        if self.levels is None:
            object.__setattr__(self, "levels", as_json(env))

    def player(self, name: str) -> Any:
        """A scripted player by its name, in upper or lower case."""
        if name.lower() in self.players:
            return self.players[name.lower()]
        raise ValueError(f"unknown player {name!r}; {nearest(name, list(self.players))}")


def fill(game: Game, preset: RunConfig) -> RunConfig:
    """A preset with the game's name, and with its own settings where the preset says nothing of them."""
    environment, agent = preset.environment or game.environment(), preset.agent or game.agent()
    filled = replace(preset, game=game.name, environment=environment, agent=agent)
    for name, value in (("environment", environment), ("agent", agent)):
        if not isinstance(value, kind := getattr(game, name)):
            raise TypeError(f"presets: {name} is {shown(value)}, no {kind.__name__}")
    odd = [path for path, setting, _ in leaves(filled) if not settable(setting.kind)]
    if odd:
        kinds = "int, float, bool, str, a Literal of texts, or a tuple of one of these"
        raise TypeError(f"{', '.join(odd)}: a setting is {kinds}")
    return filled


def find(typed: str) -> Game:
    """The game that a person has named: known here, offered by an installed package, or as module:NAME."""
    if typed in TABLE or typed in _found:
        return known(typed)
    offered = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
    if typed not in offered and not imports.is_path(typed):
        hint = nearest(typed, [*TABLE, *offered])
        raise NotFound(f"{typed!r} is unknown; {hint}; a game of your own is module:NAME, as in my_game:GAME")
    game: Game = imports.load(offered.get(typed, typed), Game, typed=typed not in offered)
    if game.name in TABLE and game is not known(game.name):
        raise NotFound(f"{typed}: the name {game.name!r} belongs to another game")
    _found[game.name] = game
    return game


def known(name: str) -> Game:
    """A game that needs no import of anyone else's code: agents and run folders may name it."""
    if name in _found:
        return _found[name]
    if name in TABLE:
        return imports.load(TABLE[name], Game)
    raise NotFound(f"the game {name!r} is not known here; say where it is: --game module:NAME")
