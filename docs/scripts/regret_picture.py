"""Draw the pictures of docs/regret_study.md that are made of many cohorts.

python docs/scripts/regret_picture.py runs/regret_test             # exploited.png: what students win and lose
python docs/scripts/regret_picture.py --true runs/regret           # true.png: estimated and true regret
python docs/scripts/regret_picture.py --true runs/regret_500 half  # true-half.png: the same of others
"""

import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from regret_tables import responses, surveys

from maestro.evaluation import round_robin, table

OUT = Path(__file__).parent.parent / "images" / "regret"
ROW = 5  # panels, at most
COLORS = {"maestro": "C3", "learnability": "C0", "accel-pfsp": "C1", "plr-pfsp": "C2"}


def won(study):
    """{cohort: [seeds]}: mean return against the students of all other cohorts on the test levels."""
    games = table.read(study / "crossplay" / "test" / "table.csv")
    cube = round_robin.cube(table.select(games, updates=[1000]))
    return dict(zip(cube.methods, round_robin.round_robin(cube), strict=True))


def exploited(study):
    """Each student: its returns, and the gain of a best response to it."""
    returns, answered = won(study), responses(study)
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for name, color in COLORS.items():
        axes.scatter(returns[name], answered[name][1], color=color, label=name, s=45, alpha=0.85, lw=0)
    axes.set_xlabel("mean return against the other cohorts, 13 test levels")
    axes.set_ylabel("gain of a best response to it")
    axes.axhline(0, color="0.7", lw=0.8, zorder=0)
    axes.axvline(0, color="0.7", lw=0.8, zorder=0)
    axes.legend(frameon=False, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(OUT / "exploited.png", dpi=140)


KINDS = {
    "top": ("C3", "highest estimates"),
    "middle": ("C0", "around the median"),
    "random": ("0.5", "at random"),
}


def estimates(study, which=""):
    """Each level of each cohort: the stored estimate, and the regret that a best response shows."""
    found = surveys(study)
    deep = math.ceil(len(found) / ROW)
    wide = math.ceil(len(found) / deep)
    size = {"figsize": (2.4 * wide, 2.2 * deep + 0.6)}
    figure, axes = plt.subplots(deep, wide, layout="constrained", sharey=True, squeeze=False, **size)
    for panel in axes.flat[len(found) :]:
        panel.set_axis_off()
    for panel, (name, one) in zip(axes.flat, found.items(), strict=False):
        for kind, (color, label) in KINDS.items():
            rows = [row for row in one["levels"] if row["kind"] == kind]
            stored = [row["estimates"]["stored"] for row in rows]
            true = [row["true_regret"] for row in rows]
            panel.scatter(stored, true, color=color, label=label, s=14, alpha=0.6, lw=0)
        panel.set_title(f"{name}\n{one['score']}", fontsize=9)
        panel.axhline(0, color="0.7", lw=0.8, zorder=0)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("stored estimate, in units of the score")
    figure.supylabel("true regret")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(OUT / f"true{which and '-'}{which}.png", dpi=120)


def main():
    if sys.argv[1] == "--true":
        estimates(Path(sys.argv[2]), *sys.argv[3:])
    else:
        exploited(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
