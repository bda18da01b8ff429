"""The methods by name: rule for the co-player x source of levels x edits x score (paper, section 4)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from maestro import level_buffer, population
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Method, Source, live
from maestro.level_buffer import LevelBuffer

TOP = 10  # scores that a mean of the highest takes at least


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
    most = jnp.where(who, estimates(config, curriculum), -jnp.inf)
    maximal = ahead(who, most, most.max())
    return config.exploration * share(who) + (1 - config.exploration) * share(maximal)


def ahead(who: Bool[Array, " P"], most: Float[Array, " P"], highest: Float[Array, ""]) -> Bool[Array, " P"]:
    """Which members have the highest estimate.

    A compiler may compute estimates twice and round them differently; if then nobody has it, the first has.
    """
    maximal = who & (most == highest)
    first = who & (jnp.arange(who.size) == jnp.argmax(most))
    return jnp.where(maximal.any(), maximal, first)


def estimates(config: CurriculumConfig, curriculum: Curriculum) -> Float[Array, " P"]:
    """The regret that each slot's buffer holds; -inf, or +inf if optimistic, where it is empty."""
    assert curriculum.buffers is not None
    held = jax.vmap(lambda buffer: ESTIMATES[config.estimate](config, buffer))(curriculum.buffers)
    nothing = jnp.inf if config.empty == "optimistic" else -jnp.inf
    most = jnp.where(curriculum.buffers.size > 0, held, nothing)
    return most + bonus(config, curriculum, most) if config.optimism > 0 else most


def max_score(config: CurriculumConfig, buffer: LevelBuffer) -> Float[Array, ""]:
    """The highest score."""
    return buffer.score.max()


def expected_score(config: CurriculumConfig, buffer: LevelBuffer) -> Float[Array, ""]:
    """The expected score of what P_replay would serve."""
    chances = level_buffer.priorities(config, buffer)
    return jnp.sum(jnp.where(level_buffer.filled(buffer), chances * buffer.score, 0.0))


def top_mean(config: CurriculumConfig, buffer: LevelBuffer) -> Float[Array, ""]:
    """The mean of the highest tenth of the scores, of ten at least, of all if there are fewer."""
    count = jnp.minimum(buffer.size, jnp.maximum(TOP, -(-buffer.size // 10)))
    falling = -jnp.sort(jnp.where(level_buffer.filled(buffer), -buffer.score, jnp.inf))
    top = jnp.where(jnp.arange(falling.size) < count, falling, 0.0)
    return top.sum() / jnp.maximum(count, 1)


def bonus(config: CurriculumConfig, curriculum: Curriculum, most: Float[Array, " P"]) -> Float[Array, " P"]:
    """c D sqrt(log(1 + C) / (1 + n)): D the spread of the members' finite estimates, C the cycles since each
    joined, n how many of them it was played in."""
    assert curriculum.counts is not None
    finite = population.members(curriculum.population) & jnp.isfinite(most)
    spread = jnp.where(finite, most, -jnp.inf).max() - jnp.where(finite, most, jnp.inf).min()
    spread = jnp.where(finite.any(), spread, 0.0)
    cycles = jnp.maximum(curriculum.counts.since, 1)
    rarely = jnp.sqrt(jnp.log1p(cycles.astype(jnp.float32)) / (1 + curriculum.counts.played))
    return config.optimism * spread * rarely


def share(who: Bool[Array, " P"]) -> Float[Array, " P"]:
    """Equal parts of 1."""
    return who / jnp.maximum(who.sum(), 1)


ESTIMATES = {"max": max_score, "expected": expected_score, "top_mean": top_mean}

PAPER_METHODS = {
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
# Not in the paper: some new levels are edits of served ones (ACCEL, Parker-Holder et al., 2022), or levels
# are scored by how results on them vary, whatever the settings' score.
METHODS = PAPER_METHODS | {
    "accel-sp": Method(self_play, Source.SHARED, edits=True),
    "accel-fsp": Method(uniform, Source.SHARED, edits=True),
    "accel-pfsp": Method(hardest, Source.SHARED, edits=True),
    "maestro-accel": Method(highest_regret, Source.PER_COPLAYER, edits=True),
    "maestro-l": Method(highest_regret, Source.PER_COPLAYER, score="learnability"),
}
