"""What came of a task: what its levels are now known for, and all that is kept."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro import level_buffer, memories, population
from maestro.curriculum.coplayers import buffer_index
from maestro.curriculum.state import Counts, Curriculum, Parents, Task
from maestro.curriculum.teacher import Source, Teacher
from maestro.level_buffer import LevelBuffer, Played
from maestro.memories import Evidence


def tell(
    teacher: Teacher, curriculum: Curriculum, task: Task, played: Played, results: Float[Array, "T E"]
) -> Curriculum:
    """What came of a task: `played` has leaves [Q, E], `results` are those of finished episodes, else NaN."""
    curriculum = noted(curriculum, task).replace(
        population=population.record(curriculum.population, task.coplayer, results),
        chosen_at=curriculum.chosen_at.at[task.coplayer].set(curriculum.cycle),
        cycle=curriculum.cycle + 1,
    )
    if task.levels is None:
        return curriculum
    index, result = buffers_with(teacher, curriculum, task, partial(booked, teacher, task, played))
    if index is not None:
        result = jax.tree.map(lambda x, y: x.at[index].set(y), curriculum.buffers, result)
    return curriculum.replace(buffers=result)


def booked(
    teacher: Teacher, task: Task, played: Played, buffer: LevelBuffer, mine: Bool[Array, " E"]
) -> LevelBuffer:
    """One buffer after the games of the environments that belong to it, replayed levels before new ones."""
    seen = Played(
        score=jnp.where(mine[None, :], played.score, 0.0),
        episodes=jnp.where(mine[None, :], played.episodes, 0),
        best_return=jnp.where(mine[None, :], played.best_return, -jnp.inf),
        started=played.started & mine[None, :],
        memory=played.memory,
    )
    new = jax.tree.map(lambda x: split(task, x)[0], seen)
    replayed = jax.tree.map(lambda x: split(task, x)[1].ravel(), seen)
    buffer = level_buffer.start(buffer, new.started[0].sum() + replayed.started.sum())
    if task.slots is not None:
        buffer = level_buffer.rescore(buffer, task.slots.ravel(), replayed)
    fresh = mine.shape[0] - task.replayed
    if not fresh:
        return buffer
    levels = jax.tree.map(lambda x: x[0, :fresh], task.levels)
    return level_buffer.insert(teacher.config, buffer, levels, over_the_queue(new))


def over_the_queue(new: Played) -> Played:
    """Of new levels, which are the same in each entry of the queue: [Q, W] -> [W]."""
    memory = jax.tree.map(lambda x: x[0], new.memory)  # that of a level, whatever the entry
    return Played(new.score.sum(0), new.episodes.sum(0), new.best_return.max(0), new.started[0], memory)


def noted(curriculum: Curriculum, task: Task) -> Curriculum:
    """Who was played, for rules that ask, and what was served first, for edits."""
    counts, parents = curriculum.counts, curriculum.parents
    if counts is not None:
        share = jnp.zeros_like(counts.played).at[task.coplayer].add(1 / task.coplayer.size)
        since = counts.since + population.members(curriculum.population)
        counts = Counts(since, counts.played + share)
    if parents is not None and task.replayed:
        served = jax.tree.map(lambda x: x[0, -task.replayed :], task.levels)
        parents = Parents(served, jnp.ones_like(parents.known))
    return curriculum.replace(counts=counts, parents=parents)


def buffers_with(
    teacher: Teacher, curriculum: Curriculum, task: Task, change: Callable[[LevelBuffer, Array], Any]
) -> Any:
    """`change(buffer, mine [E])` for the buffers that the task's environments belong to."""
    index = buffer_index(teacher, task.coplayer)
    everyone = jnp.ones(jax.tree.leaves(task.levels)[0].shape[1], bool)
    if index.ndim == 0:
        buffer = jax.tree.map(lambda x: x[index], curriculum.buffers)
        return index, change(buffer, everyone)
    count = curriculum.chosen_at.shape[0] if teacher.method.levels is Source.PER_COPLAYER else 1
    return None, jax.vmap(lambda b, i: change(b, index == i))(curriculum.buffers, jnp.arange(count))


def split(task: Task, x: Array) -> tuple[Array, Array]:
    """The columns of the new levels, and of the replayed ones."""
    at = x.shape[-1] - task.replayed
    return x[..., :at], x[..., at:]


def best_returns(
    teacher: Teacher, curriculum: Curriculum, task: Task, best: Float[Array, "Q E"]
) -> Float[Array, "Q E"]:
    """The best return known for each level now: of all who played it in this rollout, and before."""
    if task.levels is None:
        return jnp.full_like(best, best.max()) if teacher.fixed else best
    index, result = buffers_with(teacher, curriculum, task, partial(best_known, task, best))
    if index is not None:
        return result
    return jnp.take_along_axis(result, buffer_index(teacher, task.coplayer)[None, None, :], axis=0)[0]


def best_known(
    task: Task, best: Float[Array, "Q E"], buffer: LevelBuffer, mine: Bool[Array, " E"]
) -> Float[Array, "Q E"]:
    """The same for one buffer, to which some environments belong."""
    new_best, replay_best = split(task, jnp.where(mine[None, :], best, -jnp.inf))
    parts = []
    if task.slots is not None:
        slots = task.slots.ravel()
        buffer = buffer.replace(best_return=buffer.best_return.at[slots].max(replay_best.ravel()))
        parts.append(buffer.best_return[task.slots])
    if new_best.shape[1]:
        levels = jax.tree.map(lambda x: x[0, : new_best.shape[1]], task.levels)
        found = level_buffer.match(buffer, jax.vmap(level_buffer.digest)(levels))
        pooled = level_buffer.pooled_best(buffer, found, new_best.max(axis=0))
        parts.insert(0, jnp.broadcast_to(pooled, new_best.shape))
    return jnp.concatenate(parts, axis=1)


def recall(
    teacher: Teacher, curriculum: Curriculum, task: Task, seen: Evidence
) -> tuple[Any, Float[Array, "Q E"]]:
    """(memory, score) of each level now: of all who played it in this rollout, and before.

    Without a buffer nothing was before; there `task` has a fixed level, which all have played.
    """
    if task.levels is None:
        everyone = jax.tree.map(lambda x: jnp.broadcast_to(x.sum(), x.shape), seen)
        return memories.after(memories.KINDS[teacher.score].fresh(*seen.episodes.shape), everyone)
    index, result = buffers_with(teacher, curriculum, task, partial(remembered, task, seen))
    if index is not None:
        return result
    own = buffer_index(teacher, task.coplayer)[None, None, :]
    return jax.tree.map(lambda x: jnp.take_along_axis(x, own, axis=0)[0], result)


def remembered(task: Task, seen: Evidence, buffer: LevelBuffer, mine: Bool[Array, " E"]) -> Any:
    """The same for one buffer, to which some environments belong."""
    fresh = seen.episodes.shape[1] - task.replayed
    own = jax.tree.map(lambda x: jnp.where(mine[None, :], x, 0), seen)
    new = jax.tree.map(lambda x: split(task, x)[0].sum(axis=0), own)
    replayed = jax.tree.map(lambda x: split(task, x)[1], own)
    levels = jax.tree.map(lambda x: x[0, :fresh], task.levels)
    parts = memories.recall(buffer, levels, task.slots, new, replayed)
    queue = seen.episodes.shape[:1]
    rows = jax.tree.map(lambda x: jnp.broadcast_to(x, (*queue, *x.shape)), parts[0])
    there = [part for part in (rows, parts[1]) if part is not None]
    return jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), *there)
