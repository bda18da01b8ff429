"""The pictures of the theory, each with its data beside it."""

from pathlib import Path
from typing import Any

import numpy as np

from maestro.analysis.figures import to_csv
from maestro.analysis.figures.style import (
    BLACK,
    BLUE,
    GRAY,
    GREEN,
    VERMILION,
    WIDTH,
    drawing,
    finish,
    sheet,
    write,
)
from maestro.runs.files import write_file
from maestro.theory import report
from maestro.theory.condition import FAILS, HOLDS, Counterexample, Gaps
from maestro.theory.convergence import APART, BUFFERS, COPIES, EVERYONE, EXPLOITERS, JOINT, RANDOM, Excess
from maestro.theory.report import Findings, Row
from maestro.theory.tabular import COUNTEREXAMPLE

LOOKS = {  # color and line
    BUFFERS: (BLUE, "-"),
    JOINT: (BLACK, "--"),
    APART: (VERMILION, "-."),
    RANDOM: (GRAY, ":"),
    EVERYONE: (BLACK, "--"),
    EXPLOITERS: (BLUE, "-"),
    COPIES: (VERMILION, "-."),
}
LEAST = 1e-4  # where the scale of excesses begins
EXCESS = "excess over the exact value\n(share of the payoffs' range)"


def save(found: Findings, folder: Path) -> list[Path]:
    """Write all pictures (.svg and .png) and their data (.csv); returns the files."""
    games, steps = found.teachers[0].curves.shape
    learner = "The student is Hedge, its average policy is measured. Lines: median, bands: quartiles of"
    about = f"{learner} {games} games for each panel, {steps:,} steps."
    with drawing():
        pictures = {
            "teachers": convergence(found.teachers, "Joint teachers reach minimax regret", about),
            "populations": convergence(found.populations, "Copies are not enough, exploiters are", about),
            "condition": condition(found.counterexample, found.gaps),
        }
        files = [folder / f"{name}{ending}" for name in pictures for ending in (".svg", ".png")]
        for file in files:
            write(pictures[file.stem], file)
    return files + [save_rows(folder / f"{name}.csv", rows) for name, rows in tables(found).items()]


def tables(found: Findings) -> dict[str, list[Row]]:
    """The data, by the name of its file."""
    return {
        "teachers": report.curves(found.teachers),
        "populations": report.curves(found.populations),
        "ends": report.ends(found.teachers) + report.ends(found.populations),
        "condition": report.gap_rows(found.gaps),
        "table-1": report.table_rows(found.table_1),
    }


def save_rows(path: Path, rows: list[Row]) -> Path:
    """Write data as CSV."""
    write_file(path, to_csv(rows).encode())
    return path


def convergence(excesses: list[Excess], title: str, caption: str) -> Any:
    """Excess by steps, a panel for each view of the level."""
    views = list(dict.fromkeys(found.view for found in excesses))
    figure, panels = sheet(WIDTH, 2.9, 1, len(views), sharey=True)
    rows = report.curves(excesses)
    for view, panel in zip(views, panels[0], strict=True):
        for name in dict.fromkeys(found.name for found in excesses):
            curve(panel, name, [row for row in rows if (row["level"], row["teacher"]) == (view, name)])
        panel.set(xscale="log", yscale="log", title=f"level {view}", xlabel="steps", ylim=(LEAST, 1))
        panel.grid(axis="y", linewidth=0.3)
        powers = range(1 + int(np.log10(rows[-1]["step"])))
        panel.set_xticks([10**power for power in powers], [f"{10**power:,}" for power in powers])
    panels[0, 0].set_yticks([10.0**power for power in range(-4, 1)], ["0.0001", "0.001", "0.01", "0.1", "1"])
    panels[0, 0].set_ylabel(EXCESS)
    panels[0, 0].legend(loc="lower left", fontsize=6.5)
    return finish(figure, title, caption)


def curve(panel: Any, name: str, rows: list[Row]) -> None:
    """A median with its quartiles."""
    color, line = LOOKS[name]
    step, low, middle, high = (
        np.maximum([row[column] for row in rows], LEAST) for column in ("step", "lower", "median", "upper")
    )
    panel.plot(step, middle, color=color, linestyle=line, label=name)
    panel.fill_between(step, low, high, color=color, alpha=0.15, linewidth=0)


def condition(example: Counterexample, gaps: list[Gaps]) -> Any:
    """The counterexample over all students, and the gaps of random games."""
    figure, panels = sheet(WIDTH, 2.9, 1, 2)
    students_of(panels[0, 0], example)
    distances(panels[0, 1], gaps)
    caption = (
        "Left: every student of the game. Right: exact MAESTRO equilibria of random games (4 levels, 3 x 3)."
    )
    return finish(figure, "When the equilibrium is a Nash equilibrium, and when not", caption)


def students_of(panel: Any, example: Counterexample) -> None:
    """Worst regret and guaranteed payoff of every student of the counterexample."""
    first, payoff = np.linspace(0, 1, 221), COUNTEREXAMPLE[0]
    students = np.stack([first, 1 - first], axis=1)
    regret = (students @ (payoff.max(axis=0) - payoff)).max(axis=1)
    panel.plot(first, regret, color=VERMILION, linestyle="-.", label="worst regret")
    panel.plot(first, (students @ payoff).min(axis=1), color=BLUE, label="guaranteed payoff")
    panel.plot(example.student[0], example.regret, "o", color=VERMILION, label="MAESTRO: (1/11, 10/11)")
    panel.plot(example.nash_student[0], example.nash_guarantee, "s", color=BLUE, label="Nash: (10/11, 1/11)")
    panel.set(title="one level, U = diag(1, 10)", xlabel="probability of the first action", ylim=(0, 10))
    panel.legend(loc="upper left")


def distances(panel: Any, gaps: list[Gaps]) -> None:
    """How many games have gaps below a size."""
    looks = {HOLDS: GREEN, FAILS: VERMILION}
    for found in gaps:
        share = np.arange(1, 1 + found.nash.size) / found.nash.size
        line = "-" if found.view == "seen" else "--"
        label = f"condition {found.condition}, level {found.view}"
        gap = np.maximum(np.sort(found.nash), 0)
        panel.step(gap, share, where="post", color=looks[found.condition], linestyle=line, label=label)
    panel.set_xscale("symlog", linthresh=1e-3)
    panel.set(
        title="distance from (Bayesian) Nash", xlabel="gap (payoffs in 0 to 1)", ylabel="share of games"
    )
    panel.set_xlim(-2e-4, 1)
    panel.set_xticks([0, 0.001, 0.01, 0.1, 1], ["0", "0.001", "0.01", "0.1", "1"])
    panel.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(0.05, 0.9))
