"""What runs have logged over training, in as many points as can be seen; the seeds of one label together."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int

from maestro.analysis.curriculum import Course
from maestro.analysis.curves import Curve
from maestro.analysis.figures.source import FigureError, Run
from maestro.analysis.figures.style import ordered
from maestro.evaluation.round_robin import mean_of

POINTS = 40  # of a curve


def by_label(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The runs of each label, in the order in which labels are shown."""
    known = list(runs)
    names = ordered(run.label for run in known)
    return {name: [run for run in known if run.label == name] for name in names}


def points_of(courses: Iterable[Curve | Course]) -> Int[np.ndarray, " T"]:
    """Numbers of updates up to the last one that was logged; a point stands for what lies before it."""
    last = max((course.updates.max() for course in courses), default=0)
    if not last:
        raise FigureError("the runs have logged nothing of this yet (metrics.jsonl)")
    return np.unique(np.linspace(0, last, POINTS + 1).round().astype(int))[1:]


def pooled(
    courses: Sequence[Curve | Course], points: Int[np.ndarray, " T"]
) -> Float[np.ndarray, "T S *b"] | None:
    """At each point the mean since the one before, for each seed of all runs; None if there are none.

    Runs may have different numbers of slots: NaN where one has no such slot.
    """
    if not courses:
        return None
    slots = max(course.values.shape[2:] for course in courses)
    return np.concatenate([padded(binned(course, points), slots) for course in courses], axis=1)


def padded(values: Float[np.ndarray, "T S *b"], slots: tuple[int, ...]) -> Float[np.ndarray, "T S *c"]:
    """The same with so many slots, the last ones unknown."""
    more = [most - own for most, own in zip(slots, values.shape[2:], strict=True)]
    return np.pad(values, [(0, 0), (0, 0), *((0, x) for x in more)], constant_values=np.nan)


def binned(course: Curve | Course, points: Int[np.ndarray, " T"]) -> Float[np.ndarray, "T S *b"]:
    """At each point the mean since the one before; NaN where nothing is known."""
    place = np.searchsorted(points, course.updates)
    nothing = np.full(course.values.shape[1:], np.nan)
    own = [course.values[place == i] for i in range(len(points))]
    return np.stack([mean_of(part, 0) if len(part) else nothing for part in own])
