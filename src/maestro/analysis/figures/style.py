"""The look of all figures: colors that everybody can tell apart, sizes, the same files every time."""

import io
import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maestro.methods import METHODS, PAPER_METHODS
from maestro.runs.files import write_file

# Okabe and Ito (2008), and gray: to be told apart by everybody, on paper too.
SKY, BLUE, GRAY, GREEN, PURPLE = "#56B4E9", "#0072B2", "#999999", "#009E73", "#CC79A7"
BLACK, VERMILION, ORANGE, YELLOW = "#000000", "#D55E00", "#E69F00", "#F0E442"
PALETTE = (SKY, BLUE, GRAY, GREEN, PURPLE, BLACK, VERMILION, ORANGE, YELLOW)
COLORS = dict(zip(PAPER_METHODS, PALETTE, strict=True))  # one for each method, in every figure
MARKERS = dict(zip(PAPER_METHODS, "osDvP^*Xp", strict=True))
KIN = {  # methods with edits or a score of their own have the color of those without, and hatching
    name: plain
    for name, method in METHODS.items()
    for plain, kin in PAPER_METHODS.items()
    if name != plain and replace(method, edits=False, score=None) == kin
}
HATCHES = ("", "////", "....", "xxxx", "----", "++++")
LINES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 3)))
WIDTH = 7.2  # inches, of a page
DOTS = 200  # of a .png, in an inch
MAX_NAME = 32  # letters of a name that are shown
ENDINGS = (".pdf", ".svg", ".png")
RULES: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # letters that stay letters
    "svg.fonttype": "path",
    "svg.hashsalt": "maestro",  # the same file every time
    "text.parse_math": False,  # names are names
}


@dataclass(frozen=True)
class Look:
    """How one method is drawn."""

    color: str
    hatch: str = ""
    marker: str = "o"
    line: Any = "-"


def base(label: str) -> str:
    """The method of a label: `dr-sp` of `dr-sp@Ruins` and of `dr-sp (another run)`."""
    return re.split(r"[@ ]", label, maxsplit=1)[0]


def kin(label: str) -> str:
    """The method whose color a label has."""
    return KIN.get(base(label), base(label))


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """A look for each label: a method's own color; others share the colors, with hatching and lines."""
    names = list(dict.fromkeys(labels))
    found: dict[str, Look] = {}
    used: dict[str, int] = {}
    strangers = [name for name in names if kin(name) not in COLORS]
    for name in sorted(names, key=lambda name: (name not in COLORS, name)):
        number = strangers.index(name) if name in strangers else 0
        color = COLORS.get(kin(name), PALETTE[number % len(PALETTE)])
        turn = used.get(color, int(name not in COLORS))
        used[color] = turn + 1
        which = turn % len(HATCHES)
        marker = MARKERS.get(kin(name), "osDvP^*Xp"[number % 9])
        found[name] = Look(color, HATCHES[which], marker, LINES[which])
    return {name: found[name] for name in names}


def ordered(labels: Iterable[str]) -> list[str]:
    """Labels as they are shown: the methods as the paper lists them, then others by name."""
    rank = {name: place for place, name in enumerate(METHODS)}
    return sorted(set(labels), key=lambda name: (rank.get(base(name), len(rank)), name))


def plain(text: str, most: int = MAX_NAME) -> str:
    """A name as it can be drawn with any font, cut where it is very long."""
    drawn = "".join(x if x.isascii() and x.isprintable() else "?" for x in text)
    return drawn if len(drawn) <= most else drawn[: most - 3] + "..."


@contextmanager
def drawing() -> Iterator[None]:
    """While entered, matplotlib follows the rules of this module."""
    import matplotlib

    with matplotlib.rc_context(RULES):
        yield


def sheet(width: float, height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Any, Any]:
    """(a figure, its panels [rows, columns])."""
    from matplotlib.figure import Figure  # slow to load

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def grid_shape(count: int) -> tuple[int, int]:
    """(rows, columns) for so many panels on a page."""
    columns = count if count <= 4 else min(5, math.ceil(math.sqrt(count * 1.3)))
    return math.ceil(count / columns), columns


def finish(figure: Any, title: str, caption: str) -> Any:
    """Title above, and below what was measured."""
    if title:
        figure.suptitle(plain(title, 200), fontsize=10, x=0.01, ha="left", weight="bold")
    letters = max(40, int(figure.get_figwidth() * 18.5))  # fonts at few dots are a little wider
    lines = "\n".join(textwrap.wrap(plain(caption, 600), letters))
    figure.supxlabel(lines, fontsize=7, color="#555555", x=0.01, ha="left")
    return figure


def write(figure: Any, path: Path) -> None:
    """A picture into a file, the same bytes for the same picture."""
    content, ending = io.BytesIO(), path.suffix.lower()[1:]
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    figure.savefig(content, format=ending, dpi=DOTS, metadata=dates[ending])
    figure.set_layout_engine("none")  # everything has found its place
    write_file(path, content.getvalue())
