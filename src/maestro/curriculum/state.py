"""What the teacher knows, what it sets the student, and how the population grows."""

from typing import Any

from flax.struct import PyTreeNode
from jaxtyping import Array, Bool

from maestro import population
from maestro.level_buffer import LevelBuffer
from maestro.population import Population
from maestro.trees import Leaf, Tree


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


def join(curriculum: Curriculum, student: Any, joins: Bool[Array, ""]) -> Curriculum:
    """A frozen copy of the student joins the population, if `joins`; its buffer is still empty."""
    return curriculum.replace(population=population.add(curriculum.population, student, joins))


def follow(curriculum: Curriculum, student: Any, joins: Bool[Array, ""]) -> Curriculum:
    """After an update: slot 0 is the student as it is now, and a copy of it joins if that is due."""
    mirrored = curriculum.replace(population=population.mirror(curriculum.population, student))
    return join(mirrored, student, joins)
