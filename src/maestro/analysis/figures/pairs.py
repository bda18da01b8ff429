"""Which co-player was served when, and what the level buffers held."""

from typing import Any

import numpy as np

from maestro.analysis import curriculum
from maestro.analysis.figures import panels, style
from maestro.analysis.figures.logs import by_label, points_of, pooled
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Run, Source, drawn
from maestro.evaluation.round_robin import mean_of

COLUMNS = {
    "chosen": "co-player served (share)",
    "buffer_fill": "buffer filled (share)",
    "max_score": "highest score",
}
LIVE = "#bbbbbb"  # the student itself
Courses = dict[str, list[curriculum.Course]]  # of the runs of a label, by the name of the quantity


def pairs(source: Source, options: Options) -> Made:
    """A line of panels for each method: co-players as areas, their buffers as curves."""
    found = {label: courses(runs) for label, runs in by_label(drawn(source, options)).items()}
    points = points_of(course for own in found.values() for course in own["chosen"])
    rows = [row for label, own in found.items() for row in rows_of(label, own, points)]
    labels = list(dict.fromkeys(row["method"] for row in rows))
    if not labels:
        raise FigureError("the runs have logged nothing yet of who was served (metrics.jsonl)")
    slots = 1 + max(row["slot"] for row in rows)
    figure, axes = style.sheet(style.WIDTH, 1.35 * len(labels) + 0.7, len(labels), 3, sharex=True)
    for line, label in zip(axes, labels, strict=True):
        fill_line(line, panels.chosen(rows, method=label), slots)
        line[0].set_ylabel(style.plain(label, 20))
    for panel, title in zip(axes[0], COLUMNS.values(), strict=True):
        panel.set_title(title)
    for panel in axes[-1]:
        panel.set_xlabel("updates")
    key(figure, slots)
    seeds = " to ".join(map(str, sorted({f(row["seeds"] for row in rows) for f in (min, max)})))
    caption = f"Means over seeds ({seeds}). Co-players are numbered as they joined; "
    caption += "gray: the student itself; a level buffer that all of them share is drawn in black."
    missing = [label for label in found if label not in labels]
    caption += f" Not drawn, as nothing was logged of it: {', '.join(missing)}." * bool(missing)
    return Made(rows, style.finish(figure, options.title, caption))


def courses(runs: list[Run]) -> Courses:
    """What each run has logged of its co-players and its buffers."""
    found: Courses = {name: [] for name in COLUMNS}
    for run in runs:
        own = curriculum.buffers(run.folder) | {"chosen": curriculum.pairs(run.folder)}
        for name in COLUMNS:
            course = own.get(name)
            found[name] += [] if course is None else [course]
    return found


def rows_of(label: str, own: Courses, points: np.ndarray) -> list[Row]:
    """A row for each point and slot of the population; slot 0 is the live student, or the shared buffer."""
    values = {name: pooled(courses, points) for name, courses in own.items()}
    chosen, fill = values["chosen"], values["buffer_fill"]
    if chosen is None:
        return []
    told = np.isfinite(chosen).any(axis=-1, keepdims=True)
    chosen = values["chosen"] = np.where(told, np.nan_to_num(chosen), np.nan)  # nobody else is served
    kind = "none" if fill is None else "shared" if fill.shape[2] == 1 else "one each"
    rows = []
    for t, at in enumerate(points.tolist()):
        seeds = int(np.isfinite(chosen[t]).any(axis=-1).sum())
        for slot in range(chosen.shape[2] if seeds else 0):
            where = {"method": label, "updates": at, "slot": slot, "buffers": kind}
            rows.append(where | {name: at_slot(x, t, slot) for name, x in values.items()} | {"seeds": seeds})
    return rows


def at_slot(values: np.ndarray | None, t: int, slot: int) -> float:
    """The mean over seeds; NaN where there is no such slot."""
    known = values is not None and slot < values.shape[2]
    return float(mean_of(values[t, :, slot], 0)) if values is not None and known else float("nan")


def fill_line(line: Any, rows: list[Row], slots: int) -> None:
    """The three panels of a method."""
    areas(line[0], rows, slots)
    for panel, name in zip(line[1:], list(COLUMNS)[1:], strict=True):
        if rows[0]["buffers"] == "none":
            panel.text(0.5, 0.5, "no level buffer", transform=panel.transAxes, ha="center", color="#888888")
            panel.set_yticks([])
        else:
            lines(panel, rows, name, slots)
    line[1].set_ylim(0, 1.05)


def color(slot: int, slots: int) -> Any:
    """Of a co-player: the later it joined, the brighter."""
    import matplotlib

    return LIVE if slot == 0 else matplotlib.colormaps["viridis"]((slot - 1) / max(1, slots - 2))


def areas(axes: Any, rows: list[Row], slots: int) -> None:
    """The shares of the co-players, one upon the other."""
    own = sorted({row["slot"] for row in rows})
    at = [row["updates"] for row in panels.chosen(rows, slot=0)]
    shares = [[row["chosen"] for row in panels.chosen(rows, slot=slot)] for slot in own]
    axes.stackplot(at, np.nan_to_num(shares), colors=[color(slot, slots) for slot in own], lw=0)
    axes.set_ylim(0, 1)
    axes.margins(x=0)


def lines(axes: Any, rows: list[Row], name: str, slots: int) -> None:
    """A curve for each buffer that ever held something."""
    shared = rows[0]["buffers"] == "shared"
    for slot in sorted({row["slot"] for row in rows}):
        own = panels.chosen(rows, slot=slot)
        values = np.array([row[name] for row in own], float)
        held = np.array([row["buffer_fill"] for row in own], float) > 0
        if held.any() and (slot > 0 or shared):
            axes.plot(
                [row["updates"] for row in own],
                np.where(held, values, np.nan),
                color="black" if shared else color(slot, slots),
            )
    axes.grid(alpha=0.25, lw=0.5)


def key(figure: Any, slots: int) -> None:
    """The colors of the co-players; of many only the first and the last."""
    from matplotlib.patches import Patch

    shown = range(slots) if slots <= 12 else (0, 1, slots // 2, slots - 1)
    names = {slot: f"member {slot}" if slot else "student" for slot in shown}
    patches = [Patch(color=color(slot, slots), label=name) for slot, name in names.items()]
    figure.legend(handles=patches, loc="outside right upper")
