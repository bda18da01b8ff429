"""Every figure that can be drawn of some folders, as pictures within the page, and why others cannot."""

import base64
import io
from collections.abc import Iterator
from typing import Any

from maestro.analysis import figures
from maestro.analysis.figures import style
from maestro.analysis.figures.hyperparameters import grouped
from maestro.analysis.figures.source import FigureError, Made, Options, Source, opened

DOTS = 110  # in an inch
SHADES = 128  # colors of a picture


def all_of(source: Source, options: Options) -> Iterator[tuple[str, Made | str]]:
    """(name, the figure or why there is none) of every figure that is a picture."""
    pictures = {name: kind for name, kind in figures.KINDS.items() if kind.endings == style.ENDINGS}
    for name, kind in pictures.items():
        try:
            with style.drawing():
                yield name, kind.make(source, options)
        except FigureError as error:
            yield name, str(error)


def picture(name: str, made: Made) -> dict[str, Any]:
    """A figure as a page has it."""
    title = name.replace("-", " ").capitalize()
    return {"name": name, "title": title, "about": figures.KINDS[name].about, "image": encoded(made.picture)}


def encoded(figure: Any) -> str:
    """A picture of matplotlib as an address that holds it."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    with style.drawing():
        figure.savefig(drawn, format="png", dpi=DOTS, metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(SHADES).save(small, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(small.getvalue()).decode()}"


def settings(source: Source, options: Options) -> dict[str, Any]:
    """The settings of runs, as a table: those that have the same share a column."""
    groups = grouped(opened(source, options))
    names = dict.fromkeys(name for values in groups.values() for name in values)
    rows = [[name, *(values.get(name) for values in groups.values())] for name in names]
    columns = ["setting", *(groups if len(groups) > 1 else ["value"])]
    return {"title": "Settings", "note": "As the runs have them.", "columns": columns, "rows": rows}
