"""Draw the pictures of docs/results.md, but for those of the study, from the tables that stand there."""

import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

FIRST = "## Preset `fast` on LaserTag\n"  # the section that these begin with
PAGE = Path(__file__).parent.parent / "results.md"
IMAGES = Path(__file__).parent.parent / "images"
COLORS = {"won": "#2a8a43", "drawn": "#cdd5e0", "lost": "#d8435f"}
METHODS = {"maestro": "#2a8a43", "dr-sp": "#8a5fb0"}
NUMBER = re.compile(r"(?<![\d.])\d*\.\d+|\d[\d,]*")
FIXED = {"svg.hashsalt": "maestro", "font.size": 12, "font.family": "sans-serif"}


def tables(text):
    """Every table of a page, as rows of cells without their heads."""
    found = re.findall(r"^\|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in x.splitlines()] for x in found]


def numbers(cell):
    """The numbers of a cell, without those in parentheses."""
    return [float(x.replace(",", "")) for x in NUMBER.findall(cell.partition("(")[0])]


def draw_games(games):
    """Won, drawn and lost as one bar for each method and opponent."""
    figure = Figure(figsize=(6.4, 9), layout="constrained")
    for axes, (title, rows) in zip(figure.subplots(2), games.items(), strict=True):
        for i, (opponent, *cells) in enumerate(rows):
            for j, cell in enumerate(cells):
                left = 0.0
                for share, (kind, color) in zip(numbers(cell), COLORS.items(), strict=True):
                    place = 3 * i + j
                    axes.barh(place, share, left=left, color=color, label=kind if place == 0 else None)
                    left += share
            axes.text(0, 3 * i - 0.6, f"against {opponent}", va="bottom", weight="bold", size=11)
        places = [3 * i + j for i in range(len(rows)) for j in range(2)]
        axes.set_yticks(places, list(METHODS) * len(rows))
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_title(title, pad=16)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
    figure.axes[0].legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.08), frameon=False)
    return figure


def draw_curves(rows):
    """Share won over the updates, for each method."""
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    updates = [numbers(row[0])[0] for row in rows]
    for column, (method, color) in enumerate(METHODS.items(), start=1):
        won = [numbers(row[column])[0] for row in rows]
        axes.plot(updates, won, marker="o", color=color)
        axes.text(updates[-1], won[-1] + 0.04, method, color=color, ha="right")
    axes.set(ylim=(0, 1), xlim=(0, None), xlabel="updates of the student", title="share of games won")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_speed(rows):
    """Trained steps per second of each kind of run."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    names, speeds = [row[0].replace(", ", ",\n") for row in rows], [numbers(row[2])[0] / 1e6 for row in rows]
    bars = axes.barh(names, speeds, color="#2f8fd8")
    axes.bar_label(bars, [f"{speed:.2f}" for speed in speeds], padding=4)
    axes.invert_yaxis()
    axes.set(xlabel="million trained steps per second", xlim=(0, 1.12 * max(speeds)))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def figures(text):
    """The pictures of the page by their names."""
    generated, tests, curves, _, speed, *_ = tables(text[text.index(FIRST) :])
    games = {"generated levels": generated, "the 13 test levels": tests}
    return {"games": draw_games(games), "curves": draw_curves(curves), "speed": draw_speed(speed)}


def main(folder=IMAGES):
    """Write all pictures."""
    with matplotlib.rc_context(FIXED):
        for name, figure in figures(PAGE.read_text()).items():
            figure.savefig(folder / f"results_{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
