"""What the teacher served along a run: levels, co-players and statistics at some moments."""

from functools import partial
from typing import Any

import jax
import numpy as np

from maestro.analysis.figures.source import Run
from maestro.analysis.report.numbers import listed, short
from maestro.analysis.report.scenes import Scenes
from maestro.envs.base import Environment
from maestro.runs import served
from maestro.runs.folder import RunError
from maestro.runs.served import Sample

MOMENTS = 25  # at most, of a run


def curriculum(run: Run, env: Environment, scenes: Scenes, count: int) -> dict[str, Any] | None:
    """The moments of a run, with so many levels of each seed; nothing if no levels were kept."""
    samples = dict(loaded(run, env))
    if not samples:
        return None
    measured = [statistics(env, sample) for sample in samples.values()]
    moments = [
        {"updates": at, "seeds": [of_seed(sample, seed, scenes, count) for seed in range(len(run.seeds))]}
        for at, sample in samples.items()
    ]
    named = [
        {
            "name": name,
            "y": [[short(own[name][seed]) for own in measured] for seed in range(len(run.seeds))],
        }
        for name in measured[0]
    ]
    return {"moments": moments, "statistics": named}


def loaded(run: Run, env: Environment) -> Any:
    """(updates, sample) of the moments that can be read and are of this run's seeds."""
    points = served.points(run.folder)
    places = np.unique(np.linspace(0, len(points) - 1, min(MOMENTS, len(points))).round().astype(int))
    for at in (points[i] for i in places.tolist()):
        try:
            sample = served.load(run.folder, env, at)
        except RunError:  # in the middle of being written, or damaged
            continue
        if sample.coplayer.shape[0] == len(run.seeds):
            yield at, sample


@partial(jax.jit, static_argnums=0)
def measure(env: Environment, levels: Any) -> dict[str, Any]:
    """The statistics of levels [N]."""
    return jax.vmap(env.statistics)(levels)


def statistics(env: Environment, sample: Sample) -> dict[str, np.ndarray]:
    """What the game says of the levels served: the mean for each seed."""
    shape = sample.coplayer.shape
    levels = jax.tree.map(lambda x: x.reshape(shape[0] * shape[1], *x.shape[2:]), sample.levels)
    found = jax.device_get(measure(env, levels))
    return {name: np.asarray(values, float).reshape(shape).mean(axis=1) for name, values in found.items()}


def of_seed(sample: Sample, seed: int, scenes: Scenes, count: int) -> dict[str, Any]:
    """What one seed was served at a moment."""
    members = int(sample.members[seed])
    return {
        "levels": [served_level(sample, seed, i, scenes) for i in range(min(count, sample.score.shape[1]))],
        "members": members,
        "weights": listed(sample.weights[seed][: members + 1]),
        "win_rate": listed(sample.win_rate[seed][: members + 1]),
        "fill": listed(sample.fill[seed]),
        "scores": listed(sample.scores[seed]),
    }


def served_level(sample: Sample, seed: int, number: int, scenes: Scenes) -> dict[str, Any]:
    """One of the levels with its co-player."""
    level = jax.tree.map(lambda x: x[seed, number], sample.levels)
    return {
        "scene": scenes.add(level),
        "coplayer": int(sample.coplayer[seed, number]),
        "score": short(sample.score[seed, number]),
        "replayed": bool(sample.replayed[seed, number]),
    }
