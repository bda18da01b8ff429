"""Everybody against everybody: entrants x entrants x levels x episodes x both seats -> a table of games."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement, product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from maestro.envs.base import Environment, Level
from maestro.evaluation import table
from maestro.evaluation.level_sets import LevelSet
from maestro.evaluation.play import Result, games, step_bound
from maestro.evaluation.table import Table
from maestro.games import Share

SEATS = ("first", "second")
Report = Callable[[int, int], None]  # (games played, of how many)


@dataclass(frozen=True)
class Entrant:
    """Who takes part."""

    label: str  # its method, or its name
    seed: int
    player: Any
    digest: str = ""  # of its parameters

    @property
    def name(self) -> str:
        return f"{self.label}/{self.seed}"


@dataclass(frozen=True)
class Play:
    """What every pair plays."""

    env: Environment
    levels: LevelSet
    episodes: int = 5
    seed: int = 0  # of the dice
    batch: int = 1024  # games at once
    shares: Mapping[str, Share] = field(default_factory=dict)  # of the game
    first: int = 0  # the number of the first episode

    @property
    def games(self) -> int:
        """Of a pair in one order of seats."""
        return len(self.levels.names) * self.episodes


@dataclass(frozen=True)
class Meeting:
    """Two entrants in one order of seats."""

    a: Entrant
    b: Entrant
    seat: int  # a's

    @property
    def first(self) -> Entrant:
        return self.b if self.seat else self.a

    @property
    def second(self) -> Entrant:
        return self.a if self.seat else self.b

    @property
    def numbers(self) -> tuple[int, int]:
        """(of the pair, whoever is named first; of the order of seats): what its dice depend on."""
        low, high = sorted([self.a.name, self.b.name])
        turned = self.seat if self.a.name == low else 1 - self.seat
        return number(hashlib.sha256(f"{low}\n{high}".encode()).digest()), turned


def default_batch() -> int:
    """As many games at once as keep the device busy."""
    return 1024 if jax.default_backend() == "cpu" else 32_768


def number(digest: bytes) -> int:
    """A digest as a number that a key can be made of."""
    return int.from_bytes(digest[:4], "big")


def meetings(rows: Sequence[Entrant], columns: Sequence[Entrant] | None = None) -> list[Meeting]:
    """Everyone of the rows with everyone of the columns, in both orders; without columns each pair once."""
    pairs = combinations_with_replacement(rows, 2) if columns is None else product(rows, columns)
    return [Meeting(a, b, seat) for a, b in pairs for seat in (0, 1)]


def check_names(entrants: Sequence[Entrant]) -> None:
    """The table and the dice know entrants by their names: no two may share one."""
    known: dict[str, Entrant] = {}
    for entrant in entrants:
        if not is_same(known.setdefault(entrant.name, entrant), entrant):
            raise ValueError(f"two different players are called {entrant.name!r}")


def is_same(one: Entrant, other: Entrant) -> bool:
    """Whether two are one player: by the digests of the parameters, or else by all that both hold."""
    if one is other or one.digest or other.digest:
        return one is other or one.digest == other.digest
    kinds = {jax.tree.structure(entrant.player) for entrant in (one, other)}
    leaves = (jax.tree.leaves(entrant.player) for entrant in (one, other))
    return len(kinds) == 1 and all(map(np.array_equal, *leaves))


def cross_play(
    play: Play,
    rows: Sequence[Entrant],
    columns: Sequence[Entrant] | None = None,
    updates: int = 0,
    report: Report | None = None,
) -> Table:
    """The games of one method's entrants against another's, or among themselves if there is no other.

    One row per pair of seeds, level and seat.
    """
    check_names([*rows, *(columns or ())])
    todo = meetings(rows, columns)
    results: dict[int, Any] = {}
    for group in alike(todo):
        pool = Pool([todo[i] for i in group])
        size = min(max(1, play.batch // play.games), len(group))
        for start in range(0, len(group), size):
            results |= dict(zip(group[start:], play_some(play, pool, start, size), strict=False))
            if report is not None:
                report(len(results) * play.games, len(todo) * play.games)
    return table.concatenate([rows_of(play, todo[i], results[i], updates) for i in range(len(todo))])


def alike(todo: Sequence[Meeting]) -> list[list[int]]:
    """Which meetings can be one program: players of the same kinds in the same seats."""
    groups: dict[Any, list[int]] = {}
    for i, meeting in enumerate(todo):
        kinds = tuple(jax.tree.structure(entrant.player) for entrant in (meeting.first, meeting.second))
        groups.setdefault(kinds, []).append(i)
    return list(groups.values())


class Pool:
    """Meetings of one kind, and their players as one tree for each seat, on the device once."""

    def __init__(self, todo: Sequence[Meeting]) -> None:
        self.todo = todo
        self.players, self.places = zip(
            *(together([getattr(m, seat) for m in todo]) for seat in SEATS), strict=True
        )
        self.numbers = np.array([meeting.numbers for meeting in todo], np.uint32)


def together(entrants: Sequence[Entrant]) -> tuple[Any, np.ndarray]:
    """(each player once, with a leading axis; where each entrant's is)."""
    unique = {id(entrant.player): entrant.player for entrant in entrants}
    order = list(unique)
    players = jax.tree.map(lambda *x: jnp.asarray(np.stack([np.asarray(y) for y in x])), *unique.values())
    return players, np.array([order.index(id(entrant.player)) for entrant in entrants])


def play_some(play: Play, pool: Pool, start: int, count: int) -> list[Result]:
    """The results of so many meetings of a pool, leaves [L, N]; beyond its end the last is played again.

    If not even one fits into a batch, it is played in parts.
    """
    chosen = np.minimum(start + np.arange(count), len(pool.todo) - 1)
    a, b = (take(players, where[chosen]) for players, where in zip(pool.players, pool.places, strict=True))
    levels = np.array([number(digest) for digest in play.levels.digests], np.uint32)
    steps, size = step_bound(play.levels.levels), min(play.games, play.batch)
    parts = []
    for first in range(0, play.games, size):
        which = np.minimum(first + np.arange(size), play.games - 1)
        level, episode = which // play.episodes, play.first + which % play.episodes
        keys = dice(jax.random.key(play.seed), pool.numbers[chosen], levels[level], episode)
        found = games(play.env, a, b, spread(play.levels.levels, level, count), keys, steps)
        parts.append(jax.device_get(found))
    whole = jax.tree.map(lambda *x: np.concatenate(x, axis=1)[:, : play.games], *parts)
    shape = (len(play.levels.names), play.episodes)
    real = min(count, len(pool.todo) - start)
    return [jax.tree.map(lambda x, i=i: x[i].reshape(*shape, *x.shape[2:]), whole) for i in range(real)]


@jax.jit
def take(players: Any, which: Any) -> Any:
    """Players by their places."""
    return jax.tree.map(lambda x: x[which], players)


@partial(jax.jit, static_argnames="times")
def spread(levels: Level, which: Any, times: int) -> Level:
    """The same levels for each of so many pairs: leaves [times, G, ...]."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x[which], (times, len(which), *x.shape[1:])), levels)


@jax.jit
def dice(key: PRNGKeyArray, pairs: Any, levels: Any, episodes: Any) -> Key[Array, "P G"]:
    """A key for each game, by the unordered pair, who of them sits first, the level and the episode."""

    def one(pair: Array, level: Array, episode: Array) -> PRNGKeyArray:
        own = jax.random.fold_in(jax.random.fold_in(key, pair[0]), pair[1])
        return jax.random.fold_in(jax.random.fold_in(own, level), episode)

    return jax.vmap(jax.vmap(one, (None, 0, 0)), (0, None, None))(pairs, levels, episodes)


def own_numbers(play: Play, result: Result) -> dict[str, np.ndarray]:
    """What the game measures beside scores, [L, N] or [L, N, 2]: its shares, and the sums of all else."""
    told = {share.told for share in play.shares.values()}
    shares = {name: share.of(result.extras[share.told], result.length) for name, share in play.shares.items()}
    return shares | {name: values for name, values in result.extras.items() if name not in told}


def rows_of(play: Play, meeting: Meeting, result: Result, updates: int) -> Table:
    """A meeting as rows of the table, one for each level."""
    count, seat = len(play.levels.names), meeting.seat
    own, other = seat, 1 - seat
    outcome = result.outcome * (1 - 2 * seat)
    columns: dict[str, Any] = {
        "updates": [updates] * count,
        "a": [meeting.a.label] * count,
        "a_seed": [meeting.a.seed] * count,
        "b": [meeting.b.label] * count,
        "b_seed": [meeting.b.seed] * count,
        "level": list(play.levels.names),
        "seat": [seat] * count,
        "episodes": [play.episodes] * count,
        "wins": (outcome > 0).sum(axis=1),
        "draws": (outcome == 0).sum(axis=1),
        "losses": (outcome < 0).sum(axis=1),
        "a_return": result.score[..., own].mean(axis=1, dtype=float),
        "b_return": result.score[..., other].mean(axis=1, dtype=float),
        "length": result.length.mean(axis=1),
    }
    for name, values in own_numbers(play, result).items():
        each = values if values.ndim > 2 else np.stack([values, values], axis=-1)
        columns |= {f"a_{name}": each[..., own].mean(axis=1), f"b_{name}": each[..., other].mean(axis=1)}
    return table.of(columns)
