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
from maestro.trajectory import Trajectory
from maestro.trees import Leaf, Tree


class Served(PyTreeNode):
    """Levels of one kind, replayed or new, and how it went on them."""

    regret: Leaf  # mean score of the finished episodes
    student_return: Leaf  # means over the finished episodes
    episode_length: Leaf
    won: Leaf
    drawn: Leaf
    lost: Leaf
    levels: Tree  # dict of means over the levels, each as often as it was started


class Exploited(PyTreeNode):
    """One update of an exploiter in training; NaN in cycles of the student."""

    active: Leaf  # whether it took place
    updates: Leaf  # of all exploiters so far
    mean_return: Leaf  # the exploiter's, over all finished episodes
    episode_length: Leaf
    won: Leaf  # shares of finished episodes, as the exploiter sees them
    drawn: Leaf
    lost: Leaf
    losses: Losses
    skipped: Leaf  # updates of this exploiter skipped so far because they were not finite


class Metrics(PyTreeNode):
    """One cycle of one seed; NaN where there was nothing to measure."""

    active: Leaf  # whether the cycle took place
    trained: Leaf  # whether it ended in an update
    losses: Losses
    student_return: Leaf  # mean over all finished episodes
    episode_length: Leaf
    episodes: Leaf  # finished ones
    won: Leaf  # shares of finished episodes
    drawn: Leaf
    lost: Leaf
    replayed: Served
    new: Served
    chosen: Leaf  # [P]; share of the environments that played against each slot
    coplayer_weights: Leaf  # [P]
    coplayer_entropy: Leaf
    chosen_ago: Leaf  # [P]; cycles since each slot's maximum could last change, NaN if never chosen
    win_rate: Leaf  # [P]; NaN without a game
    members: Leaf
    buffer_fill: Leaf  # [1 or P]; share of slots filled
    max_score: Leaf  # [1 or P]
    turnover: Leaf  # levels stored in this cycle, over the number of new levels tried
    skipped: Leaf  # updates skipped so far because they were not finite
    exploiter: Exploited | None = None  # None: there never are any
    replayed_against: Leaf | None = None  # [P]; as `chosen`, of those that replay; None: it is the same


def no_losses() -> Losses:
    """Of a cycle without an update."""
    nan = jnp.float32(jnp.nan)
    return Losses(nan, nan, nan, nan, nan, nan)


def means_where(mask: Bool[Array, "*s"], values: dict[str, Array]) -> dict[str, Array]:
    """Means over the marked entries, NaN if there are none; all at once, which makes fewer kernels."""
    if not values:
        return {}
    count = jnp.sum(mask)
    every = jnp.stack([jnp.where(mask, x, 0.0) for x in values.values()])
    found = every.reshape(len(every), -1).sum(axis=1) / jnp.where(count > 0, count, jnp.nan)
    return dict(zip(values, found, strict=True))


def of_games(
    experiment: Any, known: Curriculum, told: Curriculum, task: Task, trajectory: Trajectory, played: Played
) -> Metrics:
    """What is logged of one cycle's games; `known` was there before, and has been `told` of them."""
    seat = trajectory.columns(slice(trajectory.num_envs))
    weights = curriculum.weights(experiment.teacher, known)
    games = per_episode(seat)
    return Metrics(
        active=jnp.bool_(True),
        trained=jnp.bool_(experiment.teacher.learns_from_new or task.replayed > 0),
        losses=no_losses(),
        **means_where(seat.done, games),
        episodes=jnp.sum(seat.done),
        replayed=served(experiment, task, seat, played, games, True),
        new=served(experiment, task, seat, played, games, False),
        chosen=jnp.zeros_like(weights).at[task.coplayer].add(1.0) / task.coplayer.size,
        replayed_against=replayed_against(task, weights.size) if experiment.teacher.apart else None,
        coplayer_weights=weights,
        coplayer_entropy=-jnp.sum(
            jnp.where(weights > 0, weights * jnp.log(jnp.maximum(weights, 1e-30)), 0.0)
        ),
        chosen_ago=chosen_ago(known),
        win_rate=jnp.where(told.population.games > 0, population.win_rate(told.population), jnp.nan),
        members=told.population.size,
        skipped=jnp.int32(0),
        exploiter=None,
        **buffer_metrics(known, told, task),
    )


def of_update(measured: Metrics, members: Array, skipped: Array, losses: Losses) -> Metrics:
    """What is logged of a cycle, with what may have changed since its games."""
    return measured.replace(members=members, skipped=skipped, losses=losses)


def per_episode(seat: Trajectory) -> dict[str, Array]:
    """What is known of each episode where it ends, [T, E]."""
    (first, last), outcome = regret.spans(seat.done), regret.results(seat)
    return {
        "student_return": regret.episode_returns(seat),
        "episode_length": (last - first + 1).astype(jnp.float32),
        "won": outcome == 1.0,
        "drawn": outcome == 0.5,
        "lost": outcome == 0.0,
    }


def replayed_against(task: Task, slots: int) -> Array:
    """The share of the replaying environments that played against each slot; NaN where none replay."""
    if not task.replayed:
        return jnp.full(slots, jnp.nan)
    whose = jnp.broadcast_to(task.coplayer, jax.tree.leaves(task.levels)[0].shape[1])[-task.replayed :]
    return jnp.zeros(slots).at[whose].add(1.0) / task.replayed


def chosen_ago(known: Curriculum) -> Array:
    """Cycles since each slot was last chosen; NaN if nothing shows that it ever was.

    Slots start as if they had been chosen in cycle 0: only a game tells who was.
    """
    ever = (known.chosen_at > 0) | (known.population.games > 0)
    return jnp.where(ever, (known.cycle - known.chosen_at).astype(jnp.float32), jnp.nan)


def buffer_metrics(before: Curriculum, after: Curriculum, task: Task) -> dict[str, Array]:
    """Fill, highest score and turnover of the buffers; NaN where there are none."""
    nothing = jnp.float32(jnp.nan)
    if after.buffers is None or before.buffers is None:
        return {"buffer_fill": nothing[None], "max_score": nothing[None], "turnover": nothing}
    changed = jnp.any(after.buffers.digest != before.buffers.digest, axis=-1)
    tried = jax.tree.leaves(task.levels)[0].shape[1] - task.replayed
    return {
        "buffer_fill": after.buffers.size / after.buffers.score.shape[1],
        "max_score": after.buffers.score.max(axis=1),
        "turnover": jnp.sum(changed) / tried if tried else nothing,
    }


def served(
    experiment: Any, task: Task, seat: Trajectory, played: Played, games: dict[str, Array], replayed: bool
) -> Served:
    """The replayed levels of a cycle, or its new ones, and how it went on them; NaN where there are none."""
    fresh = seat.num_envs - task.replayed
    columns = slice(fresh, None) if replayed else slice(0, fresh)
    if replayed and task.levels is not None:
        levels = jax.tree.map(lambda x: x[:, columns].reshape(-1, *x.shape[2:]), task.levels)
        started = played.started[:, columns].ravel()
    else:  # the first one of each worker, which is kept, or followed by others like it
        levels = jax.tree.map(lambda x: x[columns], seat.first_level)
        started = jnp.ones(jax.tree.leaves(levels)[0].shape[0], bool)
    values = jax.vmap(experiment.env.statistics)(levels)
    return Served(
        regret=jnp.sum(played.score[:, columns]) / jnp.sum(played.episodes[:, columns]),
        levels=means_where(started, values),
        **means_where(seat.done[:, columns], {name: x[:, columns] for name, x in games.items()}),
    )
