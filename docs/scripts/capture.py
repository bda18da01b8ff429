"""The numbers and pictures of docs/capture.md, from runs whose true regret was measured.

python docs/scripts/capture.py runs/stuck-0 runs/stuck-1

Prints a line for each run and each stretch of its training; pictures are numbered as the runs are.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from maestro.analysis import figures
from maestro.analysis.curves import logged, records
from maestro.analysis.figures import style
from maestro.runs.folder import RunFolder

IMAGES = Path(__file__).parent.parent / "images" / "capture"
DOTS, PARTS = 140, 5  # in an inch; stretches of a training
QUANTITIES = {
    "won": "replayed.won",
    "served regret": "replayed.regret",
    "steps": "replayed.episode_length",
    "served path": "replayed.levels.shortest_path",
    "new path": "new.levels.shortest_path",
}


def mean(metrics, name, low, high):
    """Of a quantity over the updates after `low` up to `high`, of the first seed."""
    curve = logged(metrics, name)
    there = (curve.updates > low) & (curve.updates <= high)
    return np.nanmean(curve.values[there, 0])


def lines(run):
    """What a run's log says of each stretch."""
    metrics = records(RunFolder(run).metrics)
    total = metrics[-1]["updates"]
    for low, high in zip(*(np.linspace(0, total, PARTS + 1)[i : i + PARTS] for i in (0, 1)), strict=True):
        part = [row for row in metrics if low < row["updates"] <= high]
        cycles = np.array([row["cycles"] for row in part], float)
        chosen = np.array([row["chosen"][0] for row in part], float)
        share = cycles @ chosen / cycles.sum()
        last, most = part[-1], int(share.argmax())
        told = {"updates": f"{low:.0f}-{high:.0f}", "most": most, "share": f"{share[most]:.2f}"}
        told |= {"highest score": f"{last['max_score'][0][most]:.2f}"}
        told |= {name: f"{mean(metrics, key, low, high):.2f}" for name, key in QUANTITIES.items()}
        fill = " ".join(f"{x:.2f}" for x in last["buffer_fill"][0][1 : 1 + int(last["members"][0])])
        yield " | ".join(f"{name} {value}" for name, value in {**told, "fill": fill}.items())


def keep(path, name):
    """A picture of few colors."""
    with Image.open(path) as image:
        whole = image.convert("RGB")
        few = whole.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(IMAGES / f"{name}.png", optimize=True)


def main(*runs):
    """Print the lines, and write the pictures."""
    style.DOTS = DOTS
    IMAGES.mkdir(parents=True, exist_ok=True)
    for number, run in enumerate(map(Path, runs)):
        print(run, *lines(run), sep="\n")
        with tempfile.TemporaryDirectory() as folder:
            keep(figures.draw("pairs", [run], Path(folder) / "pairs")[1], f"pairs-{number}")
        for name in ("scatter", "levels"):
            keep(run / "true_regret" / f"{name}.png", f"{name}-{number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
