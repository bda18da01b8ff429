"""Tables that fit the terminal: columns are left out or stacked, names are never cut."""

import shutil
import sys
import textwrap
from collections.abc import Collection, Mapping
from typing import Any

from rich.cells import cell_len

Row = dict[str, str]  # a text for each column, the name first


def width() -> int | None:
    """Columns of the terminal; None where there is none, as nothing is narrow there."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def lines(rows: list[Row], width: int | None, dropped: tuple[str, ...] = ()) -> list[str]:
    """The table; `dropped` are left out one by one until it fits, and rows are stacked if it never does."""
    shown = list(rows[0])
    for column in (*dropped, ""):
        sizes = {name: max(cell_len(text) for text in (name, *(row[name] for row in rows))) for name in shown}
        if width is None or sum(sizes.values()) + 2 * (len(shown) - 1) <= width:
            break
        if not column:
            return [line for row in rows for line in stacked(row, width)]
        shown.remove(column)
    table = [
        "  ".join(row[name] + " " * (sizes[name] - cell_len(row[name])) for name in shown).rstrip()
        for row in [{name: name for name in shown}, *rows]
    ]
    left_out = ", ".join(name for name in rows[0] if name not in shown)
    return table + wrapped([f"left out: {left_out}", "--json has all"], width or 1) * bool(left_out)


def own(row: Mapping[str, Any], shares: Collection[str]) -> Row:
    """A game's own numbers of a row in words, those that are shares in percent."""
    return {
        name.replace("_", " "): in_words(found["mean"], name in shares) for name, found in row["own"].items()
    }


def in_words(mean: float | None, is_share: bool) -> str:
    """A number of a game's own; nothing where it is not known."""
    return "" if mean is None else f"{mean:.1%}" if is_share else f"{mean:.4g}"


def stacked(row: Row, width: int) -> list[str]:
    """A row over several lines: its name alone on the first."""
    name, *columns = row
    facts = [f"{column} {row[column]}" for column in columns if row[column]]
    return [row[name], *(f"  {line}" for line in wrapped(facts, max(width, 20) - 2))]


def wrapped(parts: list[str], width: int) -> list[str]:
    """Parts of a sentence in lines; none is broken."""
    joined = "; ".join(part.replace(" ", "\xa0") for part in parts)
    lines = textwrap.wrap(joined, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]
