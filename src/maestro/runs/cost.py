"""What a run takes, before anything is compiled: memory on its device, and time where there is only a CPU."""

import os
from typing import Any

import jax
import jax.numpy as jnp

from maestro import train
from maestro.config import RunConfig, exploiter_budget, exploiter_count
from maestro.envs.base import observation_shape
from maestro.runs.build import parameter_count
from maestro.runs.checkpoint import raw
from maestro.sharding import Layout
from maestro.train import Experiment
from maestro.trajectory import LARGE

STEP_BYTES = 50  # what a step keeps besides observations and memories
UNIT_NUMBERS = 24  # that a gradient step keeps for each feature of the recurrent body
PER_CORE = 3e10  # operations per second of a core, as preset `fast` was seen to take a day on two
BACKWARD = 3  # a gradient costs as much as so many forward passes
PICTURES = 7  # that a gradient step keeps of each large observation: patches in float32, and what follows


def size_of(tree: Any) -> int:
    """Bytes of a tree of arrays."""
    return sum(
        leaf.size * jnp.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree) if hasattr(leaf, "size")
    )


def memory(config: RunConfig, experiment: Experiment, layout: Layout | None = None) -> int:
    """Bytes on a device: the state before and after a chunk, a rollout, a gradient step, borrowed weights.

    The devices of one seed each have all of its state and of what is learned from, but only their own
    environments' steps and part of a gradient step.

    Compared with XLA's own account of the compiled chunk (arguments, outputs and temporaries, on a CPU): 0.8
    to 1.3 of it, for `paper` with 2 seeds, and for `tiny` as it is, with `dr-sp`, 4 seeds, 256
    units, longer rollouts, both seats, and a co-player for each worker.
    """
    ppo, schedule, agent = config.ppo, config.schedule, experiment.agent
    init = jax.eval_shape(lambda: jax.tree.map(raw, train.init(jax.random.key(0), experiment)))
    remembered = jax.eval_shape(lambda: agent.start(1))
    features = jax.eval_shape(agent.features, remembered)
    replays = not experiment.teacher.learns_from_new
    both = 2 if schedule.kind == "parallel" and replays else 1
    steps = ppo.rollout_length * ppo.workers * (2 if schedule.sp_train_both else 1)
    seen = size_of(observation_shape(experiment.env))
    large = seen > LARGE
    following = size_of(features) if large else seen  # what is kept of the next observation
    rollout = both * steps * (size_of(remembered) + seen + following + STEP_BYTES)
    gradient = (UNIT_NUMBERS * size_of(features) + large * PICTURES * seen) * steps // ppo.minibatches
    borrowed = 2 * both * ppo.workers * size_of(init.learner.params)
    worker = config.curriculum.coplayer_per == "worker"
    exploiter = size_of((init.learner, init.normalizer)) * (schedule.exploiters != "none")
    seeds, envs = (config.seeds, 1) if layout is None else (config.seeds // layout.seeds, layout.envs)
    divided = (rollout + gradient + worker * borrowed) // envs
    gathered = steps * seen + both * steps * STEP_BYTES if envs > 1 else 0
    return seeds * (2 * (size_of(init) + exploiter) + divided + gathered)


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
