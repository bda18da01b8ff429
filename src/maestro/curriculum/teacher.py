"""The teacher as it is fixed: a rule that weighs the co-players, a source of levels, and the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from maestro import level_buffer, memories, population
from maestro.config import SIGNED, CurriculumConfig
from maestro.curriculum.state import Counts, Curriculum, Parents

Level = Any
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
