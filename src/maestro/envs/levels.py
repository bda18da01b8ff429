"""Levels of a game by name, as text and as files; a game without a format of its own gets one in JSON."""

import difflib
import json
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.base import Environment, Level

MAX_TIME_LIMIT = 100_000  # of a level in JSON: whoever plays it sets memory aside for every step


class LevelError(ValueError):
    """A text or a file that is not a level; says what is wrong and where."""


@dataclass(frozen=True)
class Levels:
    """The levels of a game besides those that its generator makes."""

    parse: Callable[[str], Level]
    """The level that a text describes; raises `LevelError`."""
    to_text: Callable[[Level, str], str]
    """The text of a level under a name."""
    named: tuple[tuple[str, str], ...] = ()
    """(name, text) of levels that are known by name."""
    ending: str = ".txt"
    """The ending of files that hold one level."""
    max_bytes: int = 4096
    """Far more than the longest level; nothing beyond is ever read."""
    decode: Callable[[bytes], str] | None = None
    """The text in the bytes of a file, of which at most `max_bytes` + 1 are given; UTF-8 by default."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.named)

    def spelled(self, name: str) -> str | None:
        """The name of a known level as it is spelled, in whatever case it was given."""
        return {known.lower(): known for known, _ in self.named}.get(name.lower())

    def load(self, name: str) -> Level:
        """A level by its name; an unknown one raises an error that names the nearest."""
        known = self.spelled(name)
        if known is None:
            raise LevelError(self.unknown(name))
        return self.parse(dict(self.named)[known])

    def unknown(self, name: str) -> str:
        """What to say of a name that no level has."""
        if not self.names:
            return f"unknown level {name!r}: no level of this game has a name"
        by_lower = {known.lower(): known for known in self.names}
        nearest = by_lower[difflib.get_close_matches(name[:100].lower(), by_lower, 1, 0.0)[0]]
        return f"unknown level {name!r} (nearest: {nearest!r}; allowed: {', '.join(self.names)})"

    def read_text(self, path: Path) -> str:
        """The text in a file, of which no more is read than a level can have."""
        if path.exists() and not path.is_file():
            raise LevelError(f"{path}: is no file")
        with path.open("rb") as file:
            content = file.read(self.max_bytes + 1)
        try:
            text = self.decode(content) if self.decode else self.plain(content)
        except ValueError as error:
            raise LevelError(f"{path}: {error}") from None
        return text.removeprefix("\ufeff").replace("\r\n", "\n")

    def plain(self, content: bytes) -> str:
        """UTF-8 that is not too long."""
        if len(content) > self.max_bytes:
            raise LevelError(f"longer than {self.max_bytes:,} bytes")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise LevelError("binary: not UTF-8 text") from None

    def read(self, path: Path) -> Level:
        """The level in a file."""
        text = self.read_text(path)
        try:
            return self.parse(text)
        except LevelError as error:
            raise LevelError(f"{path}: {error}") from None

    def find_file(self, value: str) -> tuple[str, Level]:
        """(text, level) of a file that may not be there."""
        try:
            if not value:
                raise FileNotFoundError
            return self.read_text(Path(value)), self.read(Path(value))
        except FileNotFoundError:
            raise LevelError(f"{self.unknown(value)}; nor is there a file of that name") from None
        except OSError as error:
            raise LevelError(f"{value!r} cannot be read ({error.strerror})") from None

    def find(self, value: str) -> tuple[str, Level]:
        """(what to call it, a level) by its name, or by the path of its file."""
        known = self.spelled(value)
        if known is not None:
            return known, self.load(known)
        return "".join(filter(str.isprintable, Path(value).stem))[:100], self.find_file(value)[1]


def as_json(env: Environment) -> Levels:
    """A format for any game: each array of a level under its name."""
    shapes = jax.eval_shape(env.sample_level, jax.random.key(0))
    paths, tree = jax.tree_util.tree_flatten_with_path(shapes)
    expected = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}

    def to_text(level: Level, name: str = "") -> str:
        values = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(level)]
        return json.dumps({"name": name, **dict(zip(expected, values, strict=True))}) + "\n"

    def parse(text: str) -> Level:
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise LevelError(f"not JSON: {error}") from None
        if not isinstance(given, dict) or not set(expected) <= set(given) <= {"name", *expected}:
            raise LevelError(f"needs the fields {', '.join(expected)}, and nothing else but a name")
        level = jax.tree.unflatten(tree, [array_of(name, given[name], expected[name]) for name in expected])
        if not 1 <= level.time_limit <= MAX_TIME_LIMIT:
            raise LevelError(f"time_limit: {level.time_limit} is not between 1 and {MAX_TIME_LIMIT}")
        return level

    return Levels(parse, to_text, ending=".json", max_bytes=1_000_000)


def array_of(name: str, value: Any, like: Any) -> jax.Array:
    """One array of a level, of the shape and type that the generator gives it."""
    try:
        given = np.asarray(value)
        with np.errstate(all="ignore"):  # what does not fit is told below
            array = given.astype(like.dtype)
    except (ValueError, TypeError, OverflowError):
        given = array = np.asarray("no numbers")
    kinds = "b" if like.dtype == bool else "iuf"
    fraction = not jnp.issubdtype(like.dtype, jnp.floating) and not np.array_equal(array, given)
    if given.shape != like.shape or (given.size and given.dtype.kind not in kinds) or fraction:
        raise LevelError(f"{name}: {reprlib.repr(value)} is not {like.dtype}{list(like.shape)}")
    if not np.isfinite(array).all():
        raise LevelError(f"{name}: holds numbers that are not finite")
    return jnp.asarray(array)
