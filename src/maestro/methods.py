"""The methods by name: a rule that weighs the co-players, and a source of levels (paper, section 4)."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro import population
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Method, Source, live


def self_play(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """The live student itself."""
    return live(curriculum)


def uniform(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """Fictitious self-play: every member alike."""
    return share(population.members(curriculum.population))


def hardest(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """PFSP: f_hard(x) = (1 - x)^power of the win rate x, normalized, smoothed, normalized again."""
    who = population.members(curriculum.population)
    lost = jnp.where(who, 1 - population.win_rate(curriculum.population), 0.0)
    largest = lost.max()
    scale = jnp.where(largest**config.hard_power > 1e-30, 1.0, jnp.maximum(largest, 1e-30))  # no underflow
    hard = jnp.where(who, (lost / scale) ** config.hard_power, 0.0)
    chances = jnp.where(hard.sum() > 0, hard / jnp.maximum(hard.sum(), 1e-30), share(who))
    smooth = jnp.where(who, chances + config.smoothing, 0.0)
    return smooth / jnp.maximum(smooth.sum(), 1e-30)


def highest_regret(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """Equation 2: lambda / N for each, the rest shared by those whose buffer holds the most regret."""
    who = population.members(curriculum.population)
    most = jnp.where(who, max_scores(config, curriculum), -jnp.inf)
    maximal = who & (most == most.max())
    return config.exploration * share(who) + (1 - config.exploration) * share(maximal)


def max_scores(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """The highest score in each slot's buffer; -inf, or +inf if optimistic, where it is empty."""
    assert curriculum.buffers is not None
    most = curriculum.buffers.score.max(axis=1)
    nothing = jnp.inf if config.empty == "optimistic" else -jnp.inf
    return jnp.where(curriculum.buffers.size > 0, most, nothing)


def share(who: Bool[Array, " P"]) -> Float[Array, " P"]:
    """Equal parts of 1."""
    return who / jnp.maximum(who.sum(), 1)


METHODS = {
    "dr-sp": Method(self_play, Source.NEW),
    "dr-fsp": Method(uniform, Source.NEW),
    "dr-pfsp": Method(hardest, Source.NEW),
    "plr-sp": Method(self_play, Source.SHARED),
    "plr-fsp": Method(uniform, Source.SHARED),
    "plr-pfsp": Method(hardest, Source.SHARED),
    "maestro": Method(highest_regret, Source.PER_COPLAYER),
    "maestro-r": Method(uniform, Source.PER_COPLAYER),
    "maestro-p": Method(hardest, Source.PER_COPLAYER),
}
