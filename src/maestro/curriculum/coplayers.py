"""Who plays against the student: pi' ~ P_N, by the method's rule (paper, Equation 2)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from maestro import level_buffer, population
from maestro.curriculum.state import Curriculum
from maestro.curriculum.teacher import Source, Teacher


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
