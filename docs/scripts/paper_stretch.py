"""Draw paper.png of docs/performance.md, and print its table: the first updates of runs of preset `paper`.

python docs/scripts/paper_stretch.py runs/paper-maestro runs/paper-dr-sp
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from maestro.analysis import curves
from maestro.analysis.figures.style import COLORS
from maestro.evaluation.resampling import student_interval

OUT = Path(__file__).parent.parent / "images" / "performance" / "paper.png"
OPPONENTS = {"first": "its own first co-player", "hunter": "the scripted hunter"}
TOLD = (400, 1200, 2000, 4000)


def returns(run, opponent):
    """(updates, mean return of each seed [T, S])."""
    records = curves.records(run / "evaluation.jsonl")
    shares = np.array([record["won_drawn_lost"][opponent] for record in records])
    return np.array([record["updates"] for record in records]), shares[..., 0] - shares[..., 2]


def half_width(values):
    """Of the 95 % interval of a mean over seeds, the last axis."""
    low, high = student_interval(values)
    return (high - low) / 2


def picture(runs):
    """A panel for each opponent, a curve for each run."""
    figure, axes = plt.subplots(1, len(OPPONENTS), figsize=(9, 3.4), layout="constrained")
    for panel, (opponent, words) in zip(axes, OPPONENTS.items(), strict=True):
        for run in runs:
            updates, values = returns(run, opponent)
            name = run.name.removeprefix("paper-")
            mean, wide = values.mean(axis=1), half_width(values)
            panel.plot(updates, mean, color=COLORS[name], label=name)
            panel.fill_between(updates, mean - wide, mean + wide, color=COLORS[name], alpha=0.2, lw=0)
        panel.set(title=f"against {words}", xlabel="updates of 40,000", ylabel="mean return")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    figure.savefig(OUT, dpi=140)


def table(runs):
    """Rows: means, and the difference of the two runs with its interval, at some updates."""
    for opponent in OPPONENTS:
        (updates, one), (_, other) = (returns(run, opponent) for run in runs)
        for at in TOLD:
            a, b = one[updates == at], other[updates == at]
            wide = np.hypot(half_width(a), half_width(b))[0]
            ends = f"{a.mean() - b.mean() - wide:+.3f} to {a.mean() - b.mean() + wide:+.3f}"
            print(f"| `{opponent}` | {at:,} | {a.mean():+.3f} | {b.mean():+.3f} | {ends} |")


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    picture(folders)
    table(folders)
