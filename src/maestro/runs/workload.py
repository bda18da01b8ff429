"""How long a run takes without an accelerator, roughly, before anything is compiled."""

import os

from maestro.config import RunConfig, exploiter_budget, exploiter_count
from maestro.runs.build import parameter_count
from maestro.train import Experiment

PER_CORE = 3e10  # operations per second of a core, as preset `fast` was seen to take a day on two
BACKWARD = 3  # a gradient costs as much as so many forward passes


def seconds(config: RunConfig, experiment: Experiment) -> float:
    """On the cores of this machine: the network, at two operations for each parameter, step and seat.

    The game itself and what small networks cost beside their arithmetic are left out.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ppo, schedule = config.ppo, config.schedule
    rollouts = 1.0
    if not experiment.teacher.learns_from_new:
        rollouts = 2.0 if schedule.kind == "parallel" else 1 / max(config.curriculum.replay_rate, 1e-3)
    seats = 2 if schedule.sp_train_both else 1
    steps = ppo.workers * ppo.rollout_length * config.seeds  # of an update
    passes = schedule.total_updates * (2 * rollouts + BACKWARD * ppo.epochs * seats)
    if schedule.exploiters != "none":
        passes += exploiter_count(schedule) * exploiter_budget(schedule) * (2 + BACKWARD * ppo.epochs)
    return 2.0 * parameter_count(experiment) * steps * passes / (PER_CORE * cores)
