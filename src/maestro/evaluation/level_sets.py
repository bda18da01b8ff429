"""Levels to be measured on: those of a split, some by name, or generated ones."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.base import Environment, Level
from maestro.envs.levels import LevelError
from maestro.games import Game, Split
from maestro.settings import nearest

GENERATED = re.compile(r"generated:(\d{1,9})")
MOST = 100_000


@dataclass(frozen=True)
class LevelSet:
    """Levels with their names."""

    name: str  # of the set
    names: tuple[str, ...]
    levels: Level  # leaves [L, ...]

    @cached_property
    def digests(self) -> list[bytes]:
        """What each level is, whatever it is called and whoever stands beside it."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.levels)]
        return [
            hashlib.sha256(b"".join(np.ascontiguousarray(leaf[i]).tobytes() for leaf in leaves)).digest()
            for i in range(len(self.names))
        ]


def find(game: Game, wanted: str, env: Environment | None = None, seed: int = 0) -> LevelSet:
    """The levels that a text asks for: a split, `generated:64`, or names and files with commas between."""
    if wanted in game.splits:
        return of_split(game, wanted)
    if found := GENERATED.fullmatch(wanted):
        return generated(env or game.environment(), int(found[1]), seed)
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise LevelError(f"no level is selected; {allowed(game)}")
    try:
        return stacked(wanted, dict(game.levels.find(name) for name in names))
    except LevelError as error:
        raise LevelError(f"{error}; or {allowed(game)}") from None


def allowed(game: Game) -> str:
    """What else may be asked for."""
    return ", ".join([*(f"{name!r}" for name in game.splits), "'generated:64', names or files of levels"])


def of_split(game: Game, name: str) -> LevelSet:
    """All levels of a split."""
    if name not in game.splits:
        raise LevelError(f"split: {unknown_split(game, name)}")
    split: Split = game.splits[name]
    return stacked(name, {known: game.levels.parse(text) for known, text in split.texts(game.levels).items()})


def unknown_split(game: Game, name: str) -> str:
    """What to say of a split that a game does not have."""
    hint = nearest(name, list(game.splits)) if game.splits else f"{game.name} has no splits"
    return f"{name!r} is unknown; {hint}"


def generated(env: Environment, count: int, seed: int = 0) -> LevelSet:
    """Levels of the generator; the first of more are those of fewer."""
    if not 1 <= count <= MOST:
        raise LevelError(f"generated: {count} levels are not between 1 and {MOST}")
    key = jax.random.key(seed)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(count))
    names = tuple(f"generated-{seed}-{i}" for i in range(count))
    return LevelSet(f"generated:{count}", names, jax.jit(jax.vmap(env.sample_level))(keys))


def stacked(name: str, levels: dict[str, Any]) -> LevelSet:
    """Levels by name as one tree."""
    if not levels:
        raise LevelError(f"{name}: no level is selected")
    return LevelSet(name, tuple(levels), jax.tree.map(lambda *x: jnp.stack(x), *levels.values()))
