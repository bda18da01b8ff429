"""The emergent curriculum of a run: which levels and which co-players were served, over training.

All of it is read from the run's logs and samples, of a run as of a piece of one.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from maestro.analysis.curves import Curve, Record, logged, numbers, records
from maestro.envs.base import Environment
from maestro.runs import served as samples
from maestro.runs.folder import RunError, RunFolder
from maestro.runs.served import Sample

Moment = Literal["start", "middle", "end"]
SHARES = {"start": 0.0, "middle": 0.5, "end": 1.0}  # of the training


@dataclass(frozen=True)
class Course:
    """A quantity of each co-player, or of each buffer, over training."""

    updates: Float[np.ndarray, " T"]
    values: Float[np.ndarray, "T S *b"]  # of each seed and slot; NaN where nothing was measured


def level_statistics(folder: RunFolder) -> dict[str, Curve]:
    """What the game says of levels, each as a curve, of the levels that updates have learned from."""
    metrics = records(folder.metrics)
    prefix = f"{learned_from(metrics)}.levels."
    names = dict.fromkeys(name for record in metrics for name in record if name.startswith(prefix))
    found = {name.removeprefix(prefix): logged(metrics, name) for name in names}
    return {name: curve for name, curve in found.items() if curve is not None}


def learned_from(metrics: list[Record]) -> str:
    """`replayed` where levels are replayed, as only those are learned from; else `new`."""
    names = {name for record in metrics for name in record if name.startswith("replayed.")}
    return "replayed" if any(logged(metrics, name) is not None for name in names) else "new"


def served(folder: RunFolder, env: Environment, moment: Moment | int) -> tuple[int, Sample]:
    """(updates, sample) of what was served at a moment, or nearest to an update."""
    points = samples.points(folder)
    if not points:
        raise RunError(f"{folder.path}: no levels were kept (evaluation.keep_levels)")
    wanted = SHARES[moment] * points[-1] if isinstance(moment, str) else moment
    nearest = min(points, key=lambda updates: abs(updates - wanted))
    return nearest, samples.load(folder, env, nearest)


def pairs(folder: RunFolder) -> Course | None:
    """How often each co-player was chosen: shares of the environments; slot 0 is the live student."""
    return course(records(folder.metrics), "chosen")


def buffers(folder: RunFolder) -> dict[str, Course]:
    """The share of each level buffer that is filled, and its highest score; nothing where there are none."""
    metrics = records(folder.metrics)
    found = {name: course(metrics, name) for name in ("buffer_fill", "max_score")}
    return {name: x for name, x in found.items() if x is not None and np.isfinite(x.values).any()}


def stored_scores(folder: RunFolder, env: Environment) -> Course:
    """Quantiles of the scores in each buffer wherever levels were kept: values [T, S, B, 9]."""
    points = samples.points(folder)
    scores = [np.asarray(samples.load(folder, env, updates).scores, float) for updates in points]
    alike = [i for i, x in enumerate(scores) if x.shape == scores[-1].shape]
    values = np.stack([scores[i] for i in alike]) if alike else np.zeros((0, 0, 0, 0))
    return Course(np.array([points[i] for i in alike], float), values)


def course(metrics: list[Record], name: str) -> Course | None:
    """A quantity of the training log that has a value for each seed and slot; None if it was not logged."""
    known = {record["updates"]: numbers(record.get(name), "SP") for record in metrics}
    rows = {at: values for at, values in known.items() if values is not None}
    shape = next((values.shape for values in reversed(rows.values())), None)
    alike = {at: values for at, values in rows.items() if values.shape == shape}
    return Course(np.array([*alike], float), np.stack([*alike.values()])) if alike else None
