"""What is told of how a run goes, on the live line and in its folder."""

from typing import Any

from maestro.config import PPOConfig, ScheduleConfig, exploiter_budget, exploiter_count
from maestro.evaluation.statistics import finite_mean


def expected(schedule: ScheduleConfig) -> dict[str, Any]:
    """How many updates exploiters are to make, each seed's in all; nothing where there are to be none."""
    count = exploiter_count(schedule)
    return {"exploiter_total": count * exploiter_budget(schedule)} if count else {}


def measured(config: PPOConfig, metrics: Any, seconds: float) -> dict[str, Any]:
    """What a chunk's metrics, [cycles, seeds], say about how the run is going.

    The speed is that of all updates, whoever makes them; the rest is of the students, and nothing where only
    exploiters were trained.
    """
    active = metrics.active[:, 0]
    updates, seeds = int(metrics.trained[active, 0].sum()), metrics.active.shape[1]
    updates += 0 if metrics.exploiter is None else int(metrics.exploiter.active[:, 0].sum())
    speed = updates / seconds
    steps = config.workers * config.rollout_length * seeds
    known = {"speed": speed, "steps_per_second": speed * steps} if updates else {}
    if not active.any():
        return known
    return known | {
        "replay": float(metrics.trained[active].mean()),
        "coplayer": int(metrics.chosen[active].sum(axis=(0, 1)).argmax()),
        "skipped": int(metrics.skipped[active].max()),
        "return": finite_mean(metrics.student_return[active]),
        "fill": finite_mean(metrics.buffer_fill[active]),
    }
