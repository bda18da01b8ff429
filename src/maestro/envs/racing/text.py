"""Racing levels as JSON: the field's half side, the frames of the time limit, and the road.

The road is `center`, points along its middle in driving order, the first not repeated at the end; or
`control`, the 12 points through which the generator leads a curve. Lengths are in units of the game.
"""

import json
import math
import reprlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.levels import MAX_TIME_LIMIT, LevelError, Levels
from maestro.envs.racing import bezier, circuits, line
from maestro.envs.racing.levels import LEAST_TILE, Level
from maestro.envs.racing.track import TILES

MIN_POINTS, MAX_POINTS = 3, 4096
MAX_HALF_SIDE = 10_000
MAX_BYTES = 262_144  # 4,096 points at full precision take less
FIELDS = ("name", "half_side", "frames", "center", "control")

curve = jax.jit(bezier.center_line)


def parse(text: str) -> Level:
    """The level that a text describes; raises `LevelError`."""
    given = _fields(text)
    _check_name(given.get("name", ""))
    half_side, frames = given["half_side"], given["frames"]
    if not _is_number(half_side) or not 0 < half_side <= MAX_HALF_SIDE:
        raise LevelError(f"half_side: {reprlib.repr(half_side)} is not a number up to {MAX_HALF_SIDE:,}")
    if type(frames) is not int or not 1 <= frames <= MAX_TIME_LIMIT:
        raise LevelError(f"frames: {reprlib.repr(frames)} is not an integer from 1 to {MAX_TIME_LIMIT:,}")
    center = _road(given)
    _check_road(center, np.float32(half_side))
    return Level(jnp.asarray(center), jnp.float32(half_side), jnp.int32(frames))


def to_text(level: Level, name: str = "") -> str:
    """The text of a level, which `parse` turns back into an equal level."""
    if not name.isprintable() or len(name) > 100:
        raise ValueError(f"name: {name[:120]!r} must be one line of at most 100 characters")
    written: dict[str, Any] = {"name": name} if name else {}
    written |= {"half_side": _short(level.half_side), "frames": int(level.frames)}
    written["center"] = [[_short(x), _short(y)] for x, y in np.asarray(level.center)]
    return json.dumps(written) + "\n"


def _short(value: Any) -> float:
    """A float32 as the number with the fewest digits that is read back as the same float32."""
    return float(str(np.float32(value)))


def _is_number(value: Any) -> bool:
    """Whether something read from JSON is a finite number and no truth value."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which no name stands twice."""
    if len(dict(pairs)) < len(pairs):
        raise LevelError("a field is given twice")
    return dict(pairs)


def _no_number(constant: str) -> Any:
    raise LevelError(f"holds {constant}, which is no number")


def _fields(text: str) -> dict[str, Any]:
    """The fields of a level, each allowed and none missing."""
    if len(text) > MAX_BYTES:
        raise LevelError(f"longer than {MAX_BYTES:,} characters")
    try:
        given = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except LevelError:
        raise
    except (ValueError, RecursionError) as error:
        raise LevelError(f"not JSON: {error}") from None
    if not isinstance(given, dict):
        raise LevelError("not a JSON object: a level begins with a brace")
    if unknown := [name for name in given if name not in FIELDS]:
        raise LevelError(f"unknown field {unknown[0][:100]!r} (allowed: {', '.join(FIELDS)})")
    if missing := [name for name in ("half_side", "frames") if name not in given]:
        raise LevelError(f"field {missing[0]!r} is missing")
    if ("center" in given) == ("control" in given):
        raise LevelError("needs the field 'center' or the field 'control', not both")
    return given


def _check_name(name: Any) -> None:
    """A name is one short line."""
    if not isinstance(name, str) or not name.isprintable() or len(name) > 100:
        raise LevelError(f"name: {reprlib.repr(name)} is not one line of at most 100 characters")


def _points(name: str, value: Any, least: int, most: int) -> np.ndarray:
    """A list of so many pairs of numbers, each within the largest field."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        count = f"{least}" if least == most else f"{least} to {most:,}"
        raise LevelError(f"{name}: is not a list of {count} points [x, y]")
    for number, point in enumerate(value):
        if not isinstance(point, list) or len(point) != 2 or not all(map(_is_number, point)):
            raise LevelError(f"{name}: point {number}, {reprlib.repr(point)}, is not a pair of numbers")
        if not all(abs(x) <= MAX_HALF_SIDE for x in point):
            raise LevelError(f"{name}: point {number}, {reprlib.repr(point)}, lies outside the field")
    return np.asarray(value, np.float64)


def _road(given: dict[str, Any]) -> np.ndarray:
    """The center line as float32 [468, 2]."""
    if "control" in given:
        control = _points("control", given["control"], bezier.CONTROL, bezier.CONTROL)
        return np.asarray(curve(jnp.asarray(control, jnp.float32)))
    points = _points("center", given["center"], MIN_POINTS, MAX_POINTS)
    outside = np.abs(points.astype(np.float32)) > np.float32(given["half_side"])
    if outside.any():  # a sharp corner may lie between the points that are kept
        raise LevelError(f"center: point {int(outside.any(axis=1).argmax())} lies outside the field")
    return (points if len(points) == TILES else line.resample(points, TILES)).astype(np.float32)


def _check_road(center: np.ndarray, half_side: np.float32) -> None:
    """The road lies in the field and leads somewhere at every point."""
    if (np.abs(center) > half_side).any():
        raise LevelError("the road leaves the field")
    step = np.roll(center, -1, axis=0) - center
    for length, problem in (
        (np.hypot(*step.T), "a tile of zero length"),
        (np.hypot(*(step + np.roll(step, 1, axis=0)).T), "a road that doubles back on itself"),
    ):
        if length.min() < LEAST_TILE:
            raise LevelError(f"{problem}, at ({', '.join(f'{x:g}' for x in center[length.argmin()])})")


LEVELS = Levels(parse, to_text, tuple(circuits.TEXTS.items()), ending=".json", max_bytes=MAX_BYTES)
NAMES = LEVELS.names
VALIDATION = Path(__file__).parent / "validation.json"  # 256 tracks of the generator
