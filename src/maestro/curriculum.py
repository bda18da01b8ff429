"""The teacher: which co-player, which levels, and what to remember of how it went (paper, section 3.2)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from maestro import level_buffer, memories, population
from maestro.config import SIGNED, CurriculumConfig
from maestro.level_buffer import LevelBuffer, Played
from maestro.memories import Evidence
from maestro.population import Population
from maestro.trees import Leaf, Tree

Level = Any


class Counts(PyTreeNode):
    """How often each slot was played, for rules that are optimistic about those that were not."""

    since: Leaf  # int [P]; cycles since it joined
    played: Leaf  # [P]; cycles against it, each by the share of the environments that played it


class Parents(PyTreeNode):
    """Of which levels new ones are edits."""

    levels: Tree  # a tree, each leaf [W, ...]; the first level that each worker was served by the last replay
    known: Leaf  # bool [W]; whether there was one


class Curriculum(PyTreeNode):
    """Everything the teacher knows. Slot 0 stands for the live student."""

    population: Population
    buffers: LevelBuffer | None  # leading axis: 1 (SHARED) or P, one for each slot (PER_COPLAYER)
    chosen_at: Leaf  # int [P]; the cycle in which each slot was last played against
    cycle: Leaf  # cycles so far
    counts: Counts | None = None  # None: no rule asks for them
    parents: Parents | None = None  # None: the method has no edits


class Task(PyTreeNode):
    """What the student is to play: Q levels for each of E environments, new levels first."""

    coplayer: Leaf  # slot, for all environments or [E]
    levels: Tree  # a tree, each leaf [Q, E, ...]; None: a fresh level for every episode
    slots: Leaf | None  # int [Q, R]; where the last R environments' levels lie in their buffer

    @property
    def replayed(self) -> int:
        """R: environments that replay."""
        return 0 if self.slots is None else self.slots.shape[1]

    def groups(self, num_envs: int) -> int:
        """2 if some environments try new levels and as many others replay, else 1."""
        return 2 if 0 < self.replayed < num_envs else 1


Rule = Callable[[CurriculumConfig, Curriculum], Float[Array, " P"]]


class Source(Enum):
    """Where levels come from."""

    NEW = "new"
    SHARED = "shared"
    PER_COPLAYER = "per_coplayer"


@dataclass(frozen=True)
class Method:
    """A rule that weighs the co-players, a source of levels, whether some new ones are edits, and a score."""

    coplayer: Rule
    levels: Source
    edits: bool = False  # of served levels, as in ACCEL
    score: str | None = None  # a name of `regret.SCORES`; None: the setting `curriculum.score` decides


@dataclass(frozen=True)
class Teacher:
    """The part of the teacher that is fixed."""

    config: CurriculumConfig
    method: Method
    generate: Callable[[PRNGKeyArray], Level]
    workers: int
    max_members: int
    num_levels: int | None = None  # how many levels exist, if few
    edit: Callable[[PRNGKeyArray, Level, int], Level] | None = None  # (key, level, changes) -> one nearby

    @property
    def score(self) -> str:
        """By what levels are scored: the method's own score before the setting."""
        return self.method.score or self.config.score

    @property
    def fixed(self) -> bool:
        """Whether there is but one level, as for a specialist."""
        return self.num_levels == 1

    @property
    def learns_from_new(self) -> bool:
        """Whether the student learns from new levels: where none are kept, and where there is but one."""
        return self.fixed or self.method.levels is Source.NEW

    @property
    def apart(self) -> bool:
        """Whether new levels and replayed ones may have different co-players in one cycle."""
        return self.config.try_against == "uniform" or (self.config.cold == "redraw" and self.owned)

    @property
    def owned(self) -> bool:
        """Whether each co-player has a buffer of its own."""
        return self.method.levels is Source.PER_COPLAYER

    def __post_init__(self) -> None:
        if self.config.prioritization == "proportional" and self.score in SIGNED:
            raise ValueError(
                "prioritization is 'proportional', which needs scores that are never negative: "
                f"score is {self.score!r}, allowed: 'positive_value_loss', 'learnability'"
            )
        if self.score == "learnability" and self.config.playlist == 1:
            raise ValueError(
                "score is 'learnability', which needs several games on a level: "
                "playlist is 1, which says that a rollout holds one game, allowed: 2 or more"
            )
        if (self.config.estimate != "max" or self.config.optimism) and not self.owned:
            raise ValueError("estimate and optimism: Eq. 2 needs a buffer for each co-player")
        if self.config.try_against == "uniform" and self.learns_from_new:
            raise ValueError(
                "try_against is 'uniform', which needs levels that are replayed; allowed: 'chosen'"
            )
        if self.method.edits and (self.edit is None or self.learns_from_new):
            raise ValueError("edits need a game with `edit`, levels that are kept, and more than one level")


def init(teacher: Teacher, student: Any) -> Curriculum:
    """No co-players, no levels."""
    nobody = population.init(student, teacher.max_members)
    slots, buffers = nobody.games.shape[0], None
    if teacher.method.levels is not Source.NEW:
        shared = teacher.method.levels is Source.SHARED
        size = teacher.config.buffer_size if shared else teacher.config.member_buffer_size
        shape = jax.eval_shape(teacher.generate, jax.random.key(0))
        kind = memories.KINDS.get(teacher.score)
        one = level_buffer.empty(shape, size, kind and kind.fresh(size))
        buffers = jax.tree.map(lambda x: jnp.stack([x] * (1 if shared else slots)), one)
    return Curriculum(
        nobody,
        buffers,
        jnp.zeros(slots, jnp.int32),
        jnp.int32(0),
        Counts(jnp.zeros(slots, jnp.int32), jnp.zeros(slots)) if teacher.config.optimism > 0 else None,
        no_parents(teacher) if teacher.method.edits else None,
    )


def no_parents(teacher: Teacher) -> Parents:
    """Room for a level of each worker."""
    one = jax.eval_shape(teacher.generate, jax.random.key(0))
    levels = jax.tree.map(lambda x: jnp.zeros((teacher.workers, *x.shape), x.dtype), one)
    return Parents(levels, jnp.zeros(teacher.workers, bool))


def live(curriculum: Curriculum) -> Float[Array, " P"]:
    """All weight on the live student."""
    return (jnp.arange(curriculum.chosen_at.shape[0]) == 0).astype(jnp.float32)


def weights(teacher: Teacher, curriculum: Curriculum) -> Float[Array, " P"]:
    """The probability of each slot; without members the live student plays."""
    chances = teacher.method.coplayer(teacher.config, curriculum)
    return jnp.where(curriculum.population.size > 0, chances, live(curriculum))


def warm(teacher: Teacher, curriculum: Curriculum) -> Bool[Array, " P"]:
    """Which slots, of those that may be chosen, have a buffer to replay from."""
    may = weights(teacher, curriculum) > 0
    if curriculum.buffers is None:
        return may & False
    enough = jax.vmap(lambda b: level_buffer.is_warm(teacher.config, b, teacher.num_levels))(
        curriculum.buffers
    )
    return may & jnp.broadcast_to(enough, may.shape)


def choose(key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum) -> Int[Array, ""]:
    """A co-player, by the method's rule."""
    return level_buffer.sample(key, weights(teacher, curriculum), 1)[0]


def choose_to_try(key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum) -> Int[Array, ""]:
    """Whom new levels are tried against: by the method's rule, or any member alike."""
    if teacher.config.try_against == "chosen":
        return choose(key, teacher, curriculum)
    who = population.members(curriculum.population).astype(jnp.float32)
    who = jnp.where(curriculum.population.size > 0, who, live(curriculum))
    return level_buffer.sample(jax.random.fold_in(key, 1), who, 1)[0]  # its own dice: `choose` has the key's


def choose_warm(key: PRNGKeyArray, teacher: Teacher, curriculum: Curriculum) -> Int[Array, ""]:
    """A co-player, by the same rule restricted to those with a warm buffer."""
    chances = weights(teacher, curriculum) * warm(teacher, curriculum)
    return level_buffer.sample(key, chances, 1)[0]


def buffer_index(teacher: Teacher, coplayer: Array) -> Array:
    """Which buffer goes with a co-player."""
    return jnp.zeros_like(coplayer) if teacher.method.levels is Source.SHARED else coplayer


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


def split(task: Task, x: Array) -> tuple[Array, Array]:
    """The columns of the new levels, and of the replayed ones."""
    at = x.shape[-1] - task.replayed
    return x[..., :at], x[..., at:]


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


def best_returns(
    teacher: Teacher, curriculum: Curriculum, task: Task, best: Float[Array, "Q E"]
) -> Float[Array, "Q E"]:
    """The best return known for each level now: of all who played it in this rollout, and before."""
    if task.levels is None:
        return jnp.full_like(best, best.max()) if teacher.fixed else best

    def known(buffer: LevelBuffer, mine: Array) -> Array:
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

    index, result = buffers_with(teacher, curriculum, task, known)
    if index is not None:
        return result
    return jnp.take_along_axis(result, buffer_index(teacher, task.coplayer)[None, None, :], axis=0)[0]


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


def recall(
    teacher: Teacher, curriculum: Curriculum, task: Task, seen: Evidence
) -> tuple[Any, Float[Array, "Q E"]]:
    """(memory, score) of each level now: of all who played it in this rollout, and before.

    Without a buffer nothing was before; there `task` has a fixed level, which all have played.
    """
    if task.levels is None:
        everyone = jax.tree.map(lambda x: jnp.broadcast_to(x.sum(), x.shape), seen)
        return memories.after(memories.KINDS[teacher.score].fresh(*seen.episodes.shape), everyone)
    fresh = seen.episodes.shape[1] - task.replayed

    def remembered(buffer: LevelBuffer, mine: Array) -> Any:
        own = jax.tree.map(lambda x: jnp.where(mine[None, :], x, 0), seen)
        new = jax.tree.map(lambda x: split(task, x)[0].sum(axis=0), own)
        replayed = jax.tree.map(lambda x: split(task, x)[1], own)
        levels = jax.tree.map(lambda x: x[0, :fresh], task.levels)
        parts = memories.recall(buffer, levels, task.slots, new, replayed)
        queue = seen.episodes.shape[:1]
        rows = jax.tree.map(lambda x: jnp.broadcast_to(x, (*queue, *x.shape)), parts[0])
        there = [part for part in (rows, parts[1]) if part is not None]
        return jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), *there)

    index, result = buffers_with(teacher, curriculum, task, remembered)
    if index is not None:
        return result
    own = buffer_index(teacher, task.coplayer)[None, None, :]
    return jax.tree.map(lambda x: jnp.take_along_axis(x, own, axis=0)[0], result)


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

    def told(buffer: LevelBuffer, mine: Array) -> LevelBuffer:
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
        if fresh:
            memory = jax.tree.map(lambda x: x[0], new.memory)  # that of a level, whatever the entry
            new = Played(
                new.score.sum(0), new.episodes.sum(0), new.best_return.max(0), new.started[0], memory
            )
            levels = jax.tree.map(lambda x: x[0, :fresh], task.levels)
            buffer = level_buffer.insert(teacher.config, buffer, levels, new)
        return buffer

    index, result = buffers_with(teacher, curriculum, task, told)
    if index is not None:
        result = jax.tree.map(lambda x, y: x.at[index].set(y), curriculum.buffers, result)
    return curriculum.replace(buffers=result)


def join(curriculum: Curriculum, student: Any, joins: Bool[Array, ""]) -> Curriculum:
    """A frozen copy of the student joins the population, if `joins`; its buffer is still empty."""
    return curriculum.replace(population=population.add(curriculum.population, student, joins))


def follow(curriculum: Curriculum, student: Any, joins: Bool[Array, ""]) -> Curriculum:
    """After an update: slot 0 is the student as it is now, and a copy of it joins if that is due."""
    mirrored = curriculum.replace(population=population.mirror(curriculum.population, student))
    return join(mirrored, student, joins)
