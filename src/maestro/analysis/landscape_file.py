"""Regret landscapes as a file: JSON with finite numbers, or null where nothing is known."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from maestro.analysis.landscapes import Survey, averages, places, regrets
from maestro.evaluation.landscape import Landscape
from maestro.runs.files import write_file
from maestro.settings import shown
from maestro.toml import reason

FILE = "landscape.json"
FORMAT = 1
MAX_BYTES = 16_000_000
MOST = 1e15  # larger numbers measure nothing
TEXTS = ("run", "game", "method", "score")
COUNTS = ("dice", "rollouts", "steps")


def known(value: Any) -> Any:
    """Plain data in which numbers that are not finite are null, and others have six decimals."""
    if isinstance(value, dict):
        return {name: known(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [known(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return known(value.tolist())
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def of_seed(number: int, seed: Landscape) -> dict[str, Any]:
    """What a file holds of one seed."""
    marks = {name: {"member": row, "level": column} for name, (row, column) in places(seed).items()}
    return {"seed": number, **vars(seed), "marks": marks, "regret": regrets(seed)}


def to_json(survey: Survey) -> dict[str, Any]:
    """All of a survey as plain data."""
    seeds = [of_seed(number, seed) for number, seed in survey.seeds.items()]
    return known({"format": FORMAT, **survey.about, "mean": averages(survey.seeds.values()), "seeds": seeds})


def write(folder: Path, survey: Survey) -> None:
    """A survey as a file in a folder."""
    write_file(folder / FILE, json.dumps(to_json(survey), indent=1).encode())


def read(folder: Path) -> Survey:
    """The survey in a folder; what is wrong with its file is a ValueError."""
    path = folder / FILE
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES:,} bytes")
        return parsed(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {reason(error)}") from None


def parsed(content: Any) -> Survey:
    """A survey of plain data."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"no landscapes of format {FORMAT}")
    told = {name: field_of(content, name, str) for name in TEXTS}
    told |= {name: field_of(content, name, int) for name in COUNTS}
    seeds = field_of(content, "seeds", list)
    if not seeds:
        raise ValueError("seeds: there is none")
    return Survey(told, {field_of(seed, "seed", int): seed_of(seed) for seed in seeds})


def field_of(content: Any, name: str, kind: type) -> Any:
    """A field, which must be of this type."""
    value = content.get(name) if isinstance(content, dict) else None
    if type(value) is not kind:
        raise ValueError(f"{name}: {shown(value)} is no {kind.__name__}")
    return value


def seed_of(content: Any) -> Landscape:
    """One seed of a file."""
    members, levels = (tuple(map(str, field_of(content, name, list))) for name in ("members", "levels"))
    shape = (len(members), len(levels))
    return Landscape(
        student=field_of(content, "student", str),
        members=members,
        levels=levels,
        scores=array_of(content, "scores", shape),
        halves=array_of(content, "halves", (2, *shape)),
        episodes=np.nan_to_num(array_of(content, "episodes", shape)).astype(int),
    )


def array_of(content: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of a shape, at least one; null is NaN."""
    try:
        found = np.array(content.get(name), float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != shape or not found.size or (np.abs(found) > MOST).any():
        raise ValueError(f"{name}: not {' x '.join(map(str, shape))} numbers")
    return found
