"""What is logged of a cycle."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool

from maestro import curriculum, population, regret
from maestro.curriculum import Curriculum, Task
from maestro.level_buffer import Played
from maestro.ppo import Losses
from maestro.rollout import Trajectory
from maestro.trees import Leaf, Tree


class Metrics(PyTreeNode):
    """One cycle of one seed; NaN where there was nothing to measure."""

    active: Leaf  # whether the cycle took place
    trained: Leaf  # whether it ended in an update
    losses: Losses
    student_return: Leaf  # mean over finished episodes
    episode_length: Leaf
    episodes: Leaf  # finished ones
    won: Leaf  # shares of finished episodes
    drawn: Leaf
    lost: Leaf
    regret: Leaf  # mean score of the finished episodes on levels served to the update, or tried
    coplayer: Leaf  # slot (of the last environment)
    coplayer_weights: Leaf  # [P]
    coplayer_entropy: Leaf
    chosen_ago: Leaf  # [P]; cycles since each member's maximum could last change
    win_rate: Leaf  # [P]
    members: Leaf
    buffer_fill: Leaf  # [1 or P]; share of slots filled
    max_score: Leaf  # [1 or P]
    turnover: Leaf  # levels stored in this cycle, over the number of new levels tried
    levels: Tree  # dict of means over the levels served
    skipped: Leaf  # updates skipped so far because they were not finite


def no_losses() -> Losses:
    """Of a cycle without an update."""
    nan = jnp.float32(jnp.nan)
    return Losses(nan, nan, nan, nan, nan, nan)


def mean_where(mask: Bool[Array, "*s"], x: Array) -> Array:
    """Mean over the marked entries, NaN if there is none."""
    return jnp.sum(jnp.where(mask, x, 0.0)) / jnp.where(jnp.any(mask), jnp.sum(mask), jnp.nan)


def of_cycle(
    experiment: Any,
    before: Any,
    after: Any,
    task: Task,
    trajectory: Trajectory,
    played: Played,
    losses: Losses,
) -> Metrics:
    """Everything that is logged of one cycle; `before` and `after` are the seed's states."""
    seat = trajectory.columns(jnp.arange(trajectory.num_envs))
    served = slice(-task.replayed if task.replayed else None, None)
    done, outcome = seat.done, regret.results(seat)
    first, last = regret.spans(done)
    known, told = before.curriculum, after.curriculum
    weights = curriculum.weights(experiment.teacher, known)
    return Metrics(
        active=jnp.bool_(True),
        trained=jnp.bool_(task.levels is None or task.replayed > 0),
        losses=losses,
        student_return=mean_where(done, regret.episode_returns(seat)),
        episode_length=mean_where(done, (last - first + 1).astype(jnp.float32)),
        episodes=jnp.sum(done),
        won=mean_where(done, outcome == 1.0),
        drawn=mean_where(done, outcome == 0.5),
        lost=mean_where(done, outcome == 0.0),
        regret=jnp.sum(played.score[:, served]) / jnp.sum(played.episodes[:, served]),
        coplayer=task.coplayer if task.coplayer.ndim == 0 else task.coplayer[-1],
        coplayer_weights=weights,
        coplayer_entropy=-jnp.sum(
            jnp.where(weights > 0, weights * jnp.log(jnp.maximum(weights, 1e-30)), 0.0)
        ),
        chosen_ago=known.cycle - known.chosen_at,
        win_rate=population.win_rate(told.population),
        members=told.population.size,
        skipped=after.learner.skipped,
        levels=level_statistics(experiment, task, trajectory, played),
        **buffer_metrics(known, told, task),
    )


def buffer_metrics(before: Curriculum, after: Curriculum, task: Task) -> dict[str, Array]:
    """Fill, highest score and turnover of the buffers; zeros where there are none."""
    if after.buffers is None or before.buffers is None:
        return {
            "buffer_fill": jnp.zeros(1),
            "max_score": jnp.full(1, -jnp.inf),
            "turnover": jnp.float32(jnp.nan),
        }
    changed = jnp.any(after.buffers.digest != before.buffers.digest, axis=-1)
    tried = jax.tree.leaves(task.levels)[0].shape[1] - task.replayed
    return {
        "buffer_fill": after.buffers.size / after.buffers.score.shape[1],
        "max_score": after.buffers.score.max(axis=1),
        "turnover": jnp.sum(changed) / tried if tried else jnp.float32(jnp.nan),
    }


def level_statistics(experiment: Any, task: Task, trajectory: Trajectory, played: Played) -> dict[str, Array]:
    """Means over the levels that were served to the update (or tried), each as often as it was started."""
    if task.levels is None:
        levels, started = trajectory.first_level, jnp.ones(trajectory.num_envs, bool)
    else:
        served = slice(-task.replayed if task.replayed else None, None)
        started = played.started[:, served].ravel()
        levels = jax.tree.map(lambda x: x[:, served].reshape(-1, *x.shape[2:]), task.levels)
    values = jax.vmap(experiment.env.statistics)(levels)
    return {name: mean_where(started, value) for name, value in values.items()}
