"""Draw docs/images/regret/exploited.png: what each student wins, and what a best response wins against it.

python docs/scripts/regret_picture.py runs/regret_test
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from regret_tables import responses

from maestro.evaluation import round_robin, table

OUT = Path(__file__).parent.parent / "images" / "regret" / "exploited.png"
COLORS = {"maestro": "C3", "learnability": "C0", "accel-pfsp": "C1", "plr-pfsp": "C2"}


def won(study):
    """{cohort: [seeds]}: mean return against the students of all other cohorts on the test levels."""
    games = table.read(study / "crossplay" / "test" / "table.csv")
    cube = round_robin.cube(table.select(games, updates=[1000]))
    return dict(zip(cube.methods, round_robin.round_robin(cube), strict=True))


def main():
    study = Path(sys.argv[1])
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
    figure.savefig(OUT, dpi=140)


if __name__ == "__main__":
    main()
