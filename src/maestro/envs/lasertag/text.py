"""LaserTag levels as text: a few header lines, then the map in `#` wall, `.` floor, `A` and `B` starts."""

import difflib

import jax.numpy as jnp
import numpy as np

from maestro.envs.lasertag.levels import MAX_SIZE, SIDE, Level
from maestro.envs.levels import LevelError

FACINGS = ("up", "right", "down", "left")
CELLS = "#.AB"
REQUIRED = ("time limit", "A faces", "B faces")
HEADERS = (*REQUIRED, "name")
MAX_TIME_LIMIT = 10_000
MAX_BYTES = 4096  # far more than the longest level; nothing beyond is ever read


class TextError(LevelError):
    """What is wrong with a text, and where."""

    def __init__(self, problem: str, line: int, column: int):
        self.problem, self.line, self.column = problem, line, column
        super().__init__(f"line {line}, column {column}: {problem}")


def parse(text: str) -> Level:
    """The level that a text describes; raises `TextError`."""
    _check_characters(text)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise TextError("empty: a level needs header lines and a map", 1, 1)
    headers, first = _headers(lines)
    rows = lines[first:]
    if not rows:
        raise TextError("no map follows the header lines", len(lines), 1)
    _check_rows(rows, first)
    return _level(rows, headers, first)


def to_text(level: Level, name: str = "") -> str:
    """The text of a level, which `parse` turns back into an equal level."""
    if not name.isprintable() or len(name) > 100:
        raise ValueError(f"name: {name[:120]!r} must be one line of at most 100 characters")
    y, x = np.arange(1, int(level.height) + 1)[:, None], np.arange(1, int(level.width) + 1)[None, :]
    grid = np.where(np.asarray(level.walls)[y] >> x.astype(np.uint32) & 1, "#", ".")
    for letter, (row, column) in zip("AB", np.asarray(level.position), strict=True):
        grid[row - 1, column - 1] = letter
    a, b = (FACINGS[f] for f in np.asarray(level.facing))
    header = [f"name: {name}"] if name else []
    header += [f"time limit: {int(level.time_limit)}", f"A faces: {a}", f"B faces: {b}"]
    return "\n".join(header + ["".join(row) for row in grid]) + "\n"


def decode(data: bytes) -> str:
    """The text in the bytes of a file."""
    if len(data) > MAX_BYTES and b"\0" not in data:
        place = _place(data[:MAX_BYTES].decode("utf-8", "replace"))
        raise TextError(f"longer than {MAX_BYTES} bytes", *place)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _place(data[: error.start].decode("utf-8"))
        raise TextError("binary: not UTF-8 text", *place) from None


def _place(before: str) -> tuple[int, int]:
    """Line and column of the character that follows."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _check_characters(text: str) -> None:
    """Refuse what is binary or too long before looking closer."""
    head = text[: MAX_BYTES + 1]
    if "\0" in head:
        raise TextError("binary: a NUL character", *_place(head[: head.index("\0")]))
    if len(head) > MAX_BYTES:
        raise TextError(f"longer than {MAX_BYTES} characters", *_place(head[:MAX_BYTES]))


def _headers(lines: list[str]) -> tuple[dict[str, int], int]:
    """Time limit and facings by header name, and the index of the map's first row."""
    found: dict[str, int] = {}
    index = 0
    while index < len(lines) and (":" in lines[index] or not lines[index].strip()):
        if lines[index].strip():
            key, value = _header(lines[index], index + 1)
            if key in found:
                raise TextError(f"header {key!r} is given twice", index + 1, 1)
            found[key] = value
        index += 1
    missing = [key for key in REQUIRED if key not in found]
    if missing:
        raise TextError(f"header '{missing[0]}:' is missing before the map", index + 1, 1)
    return found, index


def _header(line: str, number: int) -> tuple[str, int]:
    """One header line as its name and its value, facings being numbers."""
    key, _, rest = line.partition(":")
    names = {name.lower(): name for name in HEADERS}
    close = difflib.get_close_matches(" ".join(key.lower().split()), names, 1, 0.0)[0]
    if close != " ".join(key.lower().split()):
        allowed = ", ".join(HEADERS)
        raise TextError(f"unknown header {key!r} (nearest: {names[close]!r}; allowed: {allowed})", number, 1)
    value, column = rest.strip(), len(line) - len(rest.lstrip()) + 1
    if close == "name":
        return close, 0
    if close == "time limit":
        digits = value.isascii() and value.isdigit() and len(value) <= 9
        if not digits or not 1 <= int(value) <= MAX_TIME_LIMIT:
            problem = f"time limit {value!r} is not a number from 1 to {MAX_TIME_LIMIT}"
            raise TextError(problem, number, column)
        return names[close], int(value)
    if value.lower() not in FACINGS:
        raise TextError(f"{names[close]} {value!r}: allowed are {', '.join(FACINGS)}", number, column)
    return names[close], FACINGS.index(value.lower())


def _check_rows(rows: list[str], first: int) -> None:
    """Every row has known characters and one length, and neither side is too long."""
    for number, row in enumerate(rows, first + 1):
        if number - first > MAX_SIZE:
            raise TextError(f"more than {MAX_SIZE} rows", number, 1)
        for column, cell in enumerate(row, 1):
            if cell not in CELLS:
                raise TextError(f"unknown character {cell!r} (allowed: {' '.join(CELLS)})", number, column)
            if column > MAX_SIZE:
                raise TextError(f"more than {MAX_SIZE} columns", number, column)
        if len(row) != len(rows[0]):
            column = min(len(row), len(rows[0])) + 1
            raise TextError(f"ragged: {len(row)} cells, the first row has {len(rows[0])}", number, column)


def _level(rows: list[str], headers: dict[str, int], first: int) -> Level:
    """The arrays of a level from rows that were checked."""
    height, width = len(rows), len(rows[0])
    cells = np.full((SIDE, SIDE), " ")
    cells[: height + 2, : width + 2] = "#"
    cells[1 : height + 1, 1 : width + 1] = [list(row) for row in rows]
    position = [_start(cells, letter, first) for letter in "AB"]
    bits = np.where(cells == "#", np.uint32(1) << np.arange(SIDE, dtype=np.uint32), 0)
    return Level(
        walls=jnp.asarray(bits.sum(axis=1, dtype=np.uint32)),
        height=jnp.int32(height),
        width=jnp.int32(width),
        position=jnp.asarray(position, jnp.int32),
        facing=jnp.asarray([headers["A faces"], headers["B faces"]], jnp.int32),
        time_limit=jnp.int32(headers["time limit"]),
    )


def _start(cells: np.ndarray, letter: str, first: int) -> tuple[int, int]:
    """Where the one start of an agent is, the outer wall being row 0 and column 0."""
    places = np.argwhere(cells == letter)
    if len(places) == 0:
        raise TextError(f"there is no {letter} in the map", first + 1, 1)
    if len(places) > 1:
        row, column = places[1]
        raise TextError(f"a second {letter} in the map", first + int(row), int(column))
    return int(places[0][0]), int(places[0][1])
