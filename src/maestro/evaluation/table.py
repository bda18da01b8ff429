"""The table of games: one row for each pair of entrants, level and seat; in memory and as CSV."""

import csv
import io
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Table = dict[str, np.ndarray]  # columns of equal length

TEXTS = ("a", "b", "level")
GAMES = ("episodes", "wins", "draws", "losses")
MEANS = ("a_return", "b_return", "length")
KEY = ("updates", "a", "a_seed", "b", "b_seed", "level", "seat")
COUNTS = (*(name for name in KEY if name not in TEXTS), *GAMES)
COLUMNS = (*KEY, *GAMES, *MEANS)
SHARES = ("won", "drawn", "lost")  # of games, as everything that is made of a table calls them


def of(columns: Mapping[str, Any]) -> Table:
    """A table from columns of any kind: texts as str, counts as int64, means as float64."""
    wrong = wrong_header(list(columns))
    if wrong:
        raise ValueError(f"a table of games: {wrong}")
    table: Table = {name: np.asarray(columns[name], dtype=kind(name)) for name in in_order(columns)}
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"a table of games has columns of equal length, not {lengths}")
    return table


def kind(name: str) -> type:
    """What a column holds."""
    return str if name in TEXTS else np.int64 if name in COUNTS else np.float64


def in_order(names: Iterable[str]) -> list[str]:
    """The common columns, then the game's own."""
    return [*COLUMNS, *(name for name in names if name not in COLUMNS)]


def extras(names: Iterable[str]) -> list[str]:
    """The game's own quantities, of which a table has a column for each of the two."""
    return [name[2:] for name in names if name not in COLUMNS and name.startswith("a_")]


def wrong_header(names: list[str]) -> str:
    """What is wrong with the names of the columns; nothing if all is well."""
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        return f"no column {', '.join(missing)}"
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"column {', '.join(twice)} more than once"
    own = [name for name in names if name not in COLUMNS]
    odd = [name for name in own if name[:2] not in ("a_", "b_") or other(name) not in names]
    return f"column {', '.join(odd)}: a game's own come in pairs, a_NAME and b_NAME" if odd else ""


def other(name: str) -> str:
    """The column that holds the same of the other one: a <-> b, wins <-> losses."""
    swapped = {"a": "b", "b": "a", "wins": "losses", "losses": "wins"}
    if name[:2] in ("a_", "b_"):
        return swapped[name[0]] + name[1:]
    return swapped.get(name, name)


def mirrored(table: Table) -> Table:
    """All rows, and then every row as b sees it."""
    seen = {name: table[other(name)] for name in table} | {"seat": 1 - table["seat"]}
    return concatenate([table, seen])


def concatenate(tables: Collection[Table]) -> Table:
    """The rows of all tables, which have the same columns; none of no tables."""
    first, *rest = tables or [of({name: [] for name in COLUMNS})]
    for table in rest:
        if set(table) != set(first):
            odd = ", ".join(sorted(set(table) ^ set(first)))
            raise ValueError(f"tables with different columns do not go together: {odd}")
    return {name: np.concatenate([first[name], *(table[name] for table in rest)]) for name in first}


def select(table: Table, /, **wanted: Any) -> Table:
    """The rows in which each named column has the value, or one of the values, asked for."""
    unknown = sorted(set(wanted) - set(table))
    if unknown:
        raise ValueError(f"no column {', '.join(unknown)}; there are {', '.join(table)}")
    chosen = np.ones(len(table["a"]), bool)
    for name, value in wanted.items():
        several = isinstance(value, Collection) and not isinstance(value, str)
        chosen &= np.isin(table[name], list(value) if several else [value])
    return {name: column[chosen] for name, column in table.items()}


def to_csv(table: Table) -> str:
    """The table as text; numbers in full, so that nothing is lost."""
    text = io.StringIO()
    names = in_order(table)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(table[name].tolist() for name in names), strict=True))
    return text.getvalue()


def read(path: str | Path) -> Table:
    """The table in a file; a ValueError names the file, the line and the column that is wrong."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            wrong = wrong_header(names)
            rows = [] if wrong else list(parsed(path, reader, names))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path}: no table of games: {error}") from error
    if wrong:
        raise ValueError(f"{path}, line 1: no table of games: {wrong}")
    return of({name: [row[i] for row in rows] for i, name in enumerate(names)})


def parsed(path: str | Path, reader: Any, names: list[str]) -> Iterator[list[Any]]:
    """The values of each line, checked."""
    parsers, lines = list(map(parser, names)), dict[tuple[Any, ...], int]()
    key, counts = ([names.index(name) for name in group] for group in (KEY, COUNTS[-4:]))
    for texts in reader:
        place, row = f"{path}, line {reader.line_num}", []
        if len(texts) != len(names):
            raise ValueError(f"{place}: {len(texts)} values for {len(names)} columns")
        for name, parse, text in zip(names, parsers, texts, strict=True):
            try:
                row.append(parse(text))
            except ValueError as error:
                raise ValueError(f"{place}, column {name}: {text!r} is {error}") from None
        episodes, *outcomes = (row[i] for i in counts)
        if sum(outcomes) != episodes:
            raise ValueError(f"{place}, column episodes: not the sum of wins, draws and losses")
        before = lines.setdefault(tuple([row[i] for i in key]), reader.line_num)
        if before != reader.line_num:
            raise ValueError(f"{place}: the same {', '.join(KEY)} as in line {before}")
        yield row


def parser(name: str) -> Callable[[str], Any]:
    """What makes a value of a text in this column."""
    common = dict.fromkeys(TEXTS, named) | dict.fromkeys(COUNTS, count) | dict.fromkeys(MEANS, finite)
    return {**common, "seat": seat}.get(name, number)


def named(text: str) -> str:
    """A name."""
    if not text:
        raise ValueError("not a name")
    return text


def count(text: str) -> int:
    """A number of something."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError("not a count")
    return int(text)


def seat(text: str) -> int:
    """0 or 1."""
    if text not in ("0", "1"):
        raise ValueError("not 0 or 1")
    return int(text)


def number(text: str) -> float:
    """A number, or NaN where a game has measured nothing."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number") from None


def finite(text: str) -> float:
    """A finite number."""
    if not math.isfinite(number(text)):
        raise ValueError("not a finite number")
    return number(text)
