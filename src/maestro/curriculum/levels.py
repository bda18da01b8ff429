"""Which levels a task has: new ones from the generator or edited, stored ones from P_replay, or both."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from maestro import level_buffer
from maestro.curriculum.coplayers import buffer_index
from maestro.curriculum.state import Curriculum, Parents, Task
from maestro.curriculum.teacher import Level, Source, Teacher


def ask(
    key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum, coplayer: Array, new: bool, replay: bool
) -> Task:
    """Levels against a co-player: W workers on new ones, or W on replayed ones, or both side by side."""
    if teacher.method.levels is Source.NEW:
        return Task(coplayer, None, None)
    new_key, replay_key = jax.random.split(key)
    parts, slots = [], None
    if new:
        parts.append(ask_new(new_key, teacher, curriculum, teacher.config.playlist if replay else 1))
    if replay:
        whose = coplayer if coplayer.ndim == 0 else coplayer[-teacher.workers :]
        levels, slots = ask_replay(replay_key, teacher, curriculum, whose)
        parts.append(levels)
    return Task(coplayer, jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), *parts), slots)


def ask_new(key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum, queue: int) -> Level:
    """A fresh level for each worker, kept for the whole rollout: leaves [Q, W, ...]."""
    levels = jax.vmap(lambda e: teacher.generate(jax.random.fold_in(key, e)))(jnp.arange(teacher.workers))
    if curriculum.parents is not None:
        levels = with_children(jax.random.fold_in(key, teacher.workers), teacher, curriculum.parents, levels)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (queue, *x.shape)), levels)


def with_children(key: PRNGKeyArray, teacher: Teacher, parents: Parents, levels: Level) -> Level:
    """The first workers' levels are edits of their parents, once there are any: leaves [W, ...]."""
    count = int(teacher.config.edit_share * teacher.workers + 0.5)

    def child(e: Array, parent: Level) -> Level:
        assert teacher.edit is not None
        return teacher.edit(jax.random.fold_in(key, e), parent, teacher.config.edits)

    first = jax.tree.map(lambda x: x[:count], parents)
    own = jax.tree.map(lambda x: x[:count], levels)
    children = jax.vmap(child)(jnp.arange(count), first.levels)
    chosen = jax.vmap(lambda known, *two: jax.tree.map(partial(jnp.where, known), *two))(
        first.known, children, own
    )
    return jax.tree.map(lambda x, new: x.at[:count].set(new), levels, chosen)


def ask_replay(
    key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum, coplayer: Array
) -> tuple[Level, Int[Array, "Q W"]]:
    """A queue of stored levels for each worker, drawn independently from P_replay."""
    index = buffer_index(teacher, coplayer)
    keys = jax.vmap(lambda e: jax.random.fold_in(key, e))(jnp.arange(teacher.workers))
    queue = teacher.config.playlist
    draw = jax.vmap(lambda k, chances: level_buffer.sample(k, chances, queue), (0, None), 1)
    if coplayer.ndim == 0:
        buffer = jax.tree.map(lambda x: x[index], curriculum.buffers)
        slots = draw(keys, level_buffer.priorities(teacher.config, buffer))
        return level_buffer.take(buffer, slots), slots
    chances = jax.vmap(lambda b: level_buffer.priorities(teacher.config, b))(curriculum.buffers)
    slots = jax.vmap(lambda k, i: level_buffer.sample(k, chances[i], queue), out_axes=1)(keys, index)
    assert curriculum.buffers is not None
    return jax.tree.map(
        lambda x: x[jnp.broadcast_to(index, slots.shape), slots], curriculum.buffers.levels
    ), slots
