"""The figures and tables of the paper by name, each with the data beside it."""

import csv
import io
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from maestro.analysis.figures import levels, robin, style
from maestro.analysis.figures.emergent import emergent
from maestro.analysis.figures.gallery import gallery
from maestro.analysis.figures.hyperparameters import hyperparameters
from maestro.analysis.figures.landscape import landscape
from maestro.analysis.figures.matrix import matrix
from maestro.analysis.figures.pairs import pairs
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Source, find
from maestro.analysis.figures.specialists import specialists
from maestro.analysis.figures.versus import one_to_one
from maestro.runs.files import write_file
from maestro.settings import nearest

VECTOR, PIXELS = ".pdf", ".png"


@dataclass(frozen=True)
class Kind:
    """A figure: what it shows, how it is made, the files that it is written into."""

    about: str
    make: Callable[[Source, Options], Made]
    endings: tuple[str, ...] = style.ENDINGS


KINDS = {
    "round-robin": Kind("bars: each method against all others, at the end", robin.bars),
    "round-robin-curves": Kind("the same over training, from the milestones", robin.curves),
    "levels": Kind("a panel of bars for each level", levels.bars),
    "levels-curves": Kind("a panel of curves for each level, over training", levels.curves),
    "one-to-one": Kind("one method (--of) against each other one", one_to_one),
    "matrix": Kind("each method against each, as a matrix", matrix),
    "specialists": Kind("generalists against specialists, on the specialist's level only", specialists),
    "ablation": Kind("round robin between maestro, maestro-r and maestro-p", robin.ablation),
    "emergent": Kind("statistics of the levels served over training", emergent),
    "gallery": Kind("levels served at the start, in the middle and at the end", gallery),
    "pairs": Kind("which co-player was served when, and what the buffers held", pairs),
    "landscape": Kind("regret by co-player and level, a heat map for each seed", landscape),
    "hyperparameters": Kind("the settings of runs, as a table", hyperparameters, (".md", ".tex")),
}


def kind_of(name: str) -> Kind:
    """A figure by its name."""
    if name not in KINDS:
        raise FigureError(f"unknown figure {name!r}; {nearest(name, list(KINDS))}")
    return KINDS[name]


def make(name: str, paths: Iterable[Path], options: Options | None = None) -> Made:
    """A figure of what is in some folders, not yet written."""
    kind, source = kind_of(name), find(paths)
    with style.drawing():
        return kind.make(source, options or Options())


def files(name: str, out: Path | None = None) -> list[Path]:
    """The files of a figure: a vector picture, one of pixels, or tables; the data is the last."""
    kind = kind_of(name)
    path = Path(name) if out is None else out / name if out.is_dir() else out
    ending = path.suffix.lower()
    if ending and ending not in (*kind.endings, ".csv"):
        allowed = ", ".join(kind.endings)
        raise FigureError(f"--out: {str(path)!r} does not end in one of {allowed}, or in none")
    pictures = (VECTOR if ending in ("", ".csv", PIXELS) else ending, PIXELS)
    endings = pictures if kind.endings == style.ENDINGS else kind.endings
    return [path.with_suffix(ending) for ending in (*endings, ".csv")]


def write(made: Made, paths: list[Path]) -> None:
    """The picture or the tables, and the data."""
    *shown, data = paths
    with style.drawing():
        for path in shown:
            if made.picture is not None:
                style.write(made.picture, path)
            else:
                write_file(path, made.texts[path.suffix].encode())
    write_file(data, to_csv(made.rows).encode())


def draw(
    name: str, paths: Iterable[Path], out: Path | None = None, options: Options | None = None
) -> list[Path]:
    """Make a figure and write it; returns the files."""
    targets = files(name, out)
    write(make(name, paths, options), targets)
    return targets


def to_csv(rows: list[Row]) -> str:
    """The data in full digits; empty where something is not known."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    for row in rows:
        writer.writerow({k: "" if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()})
    return text.getvalue()
