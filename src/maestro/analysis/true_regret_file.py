"""Estimated and true regret as files: a part for each co-player as soon as it is known, then all together."""

import json
from pathlib import Path
from typing import Any

from maestro.analysis.figures import to_csv
from maestro.analysis.landscape_file import known
from maestro.analysis.true_regret import Row
from maestro.analysis.true_regret_summary import by_kind, correlations
from maestro.runs.files import write_file

FILE, TABLE, PARTS = "true_regret.json", "true_regret.csv", "parts"
FORMAT = 1
MAX_BYTES = 64_000_000


def part(folder: Path, seed: int, member: int) -> Path:
    """The file of one co-player."""
    return folder / PARTS / f"seed-{seed}-member-{member}.json"


def write_part(folder: Path, seed: int, member: int, about: dict[str, Any], rows: list[Row]) -> list[Row]:
    """Keep what was measured of one co-player; as it will be read again."""
    path, content = part(folder, seed, member), known({"format": FORMAT, "about": about, "levels": rows})
    path.parent.mkdir(exist_ok=True)
    write_file(path, json.dumps(content).encode())
    return list(content["levels"])


def read_part(folder: Path, seed: int, member: int, about: dict[str, Any]) -> list[Row] | None:
    """What an earlier call has measured of a co-player in the very same way; None if there is nothing."""
    path = part(folder, seed, member)
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    same = isinstance(content, dict) and content.get("format") == FORMAT and content.get("about") == about
    rows = content.get("levels") if same else None
    return rows if isinstance(rows, list) and rows else None


def to_json(about: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """All that was found, as plain data."""
    told = {"kinds": by_kind(rows), "rank_correlation": correlations(rows)}
    return dict(known({"format": FORMAT, **about, **told, "levels": rows}))


def flat(row: Row) -> dict[str, Any]:
    """A row for a table: one number in each column."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name == "estimates":
            found |= {f"estimate_{score}": estimate for score, estimate in value.items()}
        elif name.endswith("_95"):
            found |= {f"{name[:-3]}_low_95": value[0], f"{name[:-3]}_high_95": value[1]}
        elif name != "text":
            found[name] = value
    return found


def write(folder: Path, about: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """The files in a folder; what the JSON says."""
    found = to_json(about, rows)
    write_file(folder / FILE, json.dumps(found, indent=1).encode())
    write_file(folder / TABLE, to_csv([flat(row) for row in rows]).encode())
    return found
