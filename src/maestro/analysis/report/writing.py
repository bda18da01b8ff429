"""A page as a file: all of it or nothing, and never too large."""

from pathlib import Path
from typing import Any

from maestro import games
from maestro.analysis.report.bound import MOST, bounded, size
from maestro.analysis.report.join import page
from maestro.runs.files import write_file


def write(out: Path, data: dict[str, Any], most: int = MOST) -> int:
    """Write the page, of at most so many bytes where that can be; returns how many it has."""
    scripts = games.known(data["game"]).page
    around = len(page(data, scripts).encode()) - size(data)
    content = page(bounded(data, most - around), scripts).encode()
    write_file(out, content)
    return len(content)
