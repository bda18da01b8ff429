"""Lambda(pi'): the levels of most regret against one co-player (paper, section 3.2.2; PLR)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from maestro import sums
from maestro.config import CurriculumConfig
from maestro.trees import Leaf, Tree, numbers

Level = Any  # a tree of arrays


class LevelBuffer(PyTreeNode):
    """K slots, filled from the first on. Time is counted in levels started through this buffer."""

    levels: Tree  # a tree, each leaf [K, ...]
    digest: Leaf  # uint32 [K, 2]; equal levels have equal digests
    score: Leaf  # [K]; estimated regret
    best_return: Leaf  # [K]; best undiscounted return ever seen on the level, from -inf
    played: Leaf  # int [K]; the clock when the level was last started
    size: Leaf  # slots filled
    clock: Leaf  # levels started so far, new or replayed
    memory: Tree | None = None  # leaves [K]; what some scores remember of a level's games, see `memories`


class Played(PyTreeNode):
    """What playing B levels gave; the scores are sums over finished episodes."""

    score: Leaf  # [B]
    episodes: Leaf  # int [B]; finished ones
    best_return: Leaf  # [B]; over the finished episodes, -inf without
    started: Leaf  # bool [B]
    memory: Tree | None = None  # leaves [B]; all that is now remembered of the level, if its score needs it


def empty(level: Level, slots: int, memory: Tree | None = None) -> LevelBuffer:
    """A buffer without levels; `level` shows what one looks like, `memory` [K] is that of no game."""
    return LevelBuffer(
        levels=jax.tree.map(lambda x: jnp.zeros((slots, *x.shape), x.dtype), level),
        digest=jnp.zeros((slots, 2), jnp.uint32),
        score=jnp.full(slots, -jnp.inf, jnp.float32),
        best_return=jnp.full(slots, -jnp.inf, jnp.float32),
        played=jnp.zeros(slots, jnp.int32),
        size=jnp.int32(0),
        clock=jnp.int32(0),
        memory=memory,
    )


def filled(buffer: LevelBuffer) -> Bool[Array, " K"]:
    """Which slots hold a level."""
    return jnp.arange(buffer.score.shape[0]) < buffer.size


def is_warm(config: CurriculumConfig, buffer: LevelBuffer, num_levels: int | None = None) -> Bool[Array, ""]:
    """Whether there is enough to replay from: a share of the slots, or all levels that exist."""
    return buffer.size >= needed(config, buffer.score.shape[0], num_levels)


def needed(config: CurriculumConfig, slots: int, num_levels: int | None = None) -> float:
    """How many levels that is."""
    need = config.min_fill * slots
    return max(1.0, need if num_levels is None else min(need, num_levels))


def digest(level: Level) -> UInt32[Array, "2"]:
    """64 bits that identify a level."""
    leaves = [jnp.ravel(numbers(x)) for x in jax.tree.leaves(level)]
    words = [
        x if x.dtype == jnp.uint32 else jax.lax.bitcast_convert_type(as_word(x), jnp.uint32) for x in leaves
    ]
    word = jnp.concatenate(words)
    place = jnp.arange(word.size, dtype=jnp.uint32)
    halves = [scramble(word + scramble(place + jnp.uint32(salt))) for salt in (0x9E3779B9, 0x85EBCA6B)]
    return jnp.stack([scramble(jnp.sum(half, dtype=jnp.uint32)) for half in halves])


def as_word(x: Array) -> Array:
    """An array in 32 bits per entry."""
    return x.astype(jnp.float32 if jnp.issubdtype(x.dtype, jnp.floating) else jnp.int32)


def scramble(x: Array) -> Array:
    """A bijection of 32 bits in which every input bit moves every output bit."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def score_probabilities(config: CurriculumConfig, buffer: LevelBuffer) -> Float[Array, " K"]:
    """P_S: by rank, (1 / rank)^(1 / beta), or proportional to the score; ties go to the lower slot."""
    has = filled(buffer)
    if config.prioritization == "rank":
        order = jnp.argsort(jnp.where(has, -buffer.score, jnp.inf), stable=True)
        rank = jnp.zeros_like(order).at[order].set(jnp.arange(1, order.size + 1))
        weight = (1.0 / rank) ** (1.0 / config.temperature)
    else:
        # In logarithms, from the highest score down: powers of scores over- and underflow.
        power = jnp.log(jnp.maximum(jnp.where(has, buffer.score, 0.0), 0.0)) / config.temperature
        weight = jnp.exp(power - jnp.maximum(power.max(), jnp.finfo(power.dtype).min))
    return normalized(weight, has)


def normalized(weight: Float[Array, " K"], has: Bool[Array, " K"]) -> Float[Array, " K"]:
    """Weights of the filled slots as probabilities, uniform if all are 0; zeros if none is filled."""
    weight = jnp.where(has, weight, 0.0)
    weight = jnp.where(weight.sum() > 0, weight, has.astype(weight.dtype))
    return weight / jnp.maximum(weight.sum(), jnp.finfo(weight.dtype).tiny)


def priorities(config: CurriculumConfig, buffer: LevelBuffer) -> Float[Array, " K"]:
    """P_replay = (1 - rho) P_S + rho P_C, with P_C proportional to the time since a level was played."""
    age = (buffer.clock - buffer.played).astype(jnp.float32)
    stale = normalized(age, filled(buffer))
    return (1 - config.staleness) * score_probabilities(config, buffer) + config.staleness * stale


def sample(key: PRNGKeyArray, probabilities: Float[Array, " K"], count: int) -> Int[Array, " count"]:
    """Slots drawn independently; only slots of positive probability, if there is one."""
    # A parallel sum is not monotone to the last bit: a slot without probability must not rise by rounding.
    cumulative = jax.lax.cummax(jnp.where(probabilities > 0, jnp.cumsum(probabilities), 0.0))
    point = (1.0 - jax.random.uniform(key, (count,))) * cumulative[-1]  # in (0, total]
    slots = jnp.searchsorted(cumulative, point, side="left")
    return jnp.minimum(slots, probabilities.size - 1).astype(jnp.int32)


def take(buffer: LevelBuffer, slots: Array) -> Level:
    """The levels in some slots."""
    return jax.tree.map(lambda x: x[slots], buffer.levels)


def start(buffer: LevelBuffer, count: Int[Array, ""]) -> LevelBuffer:
    """The clock moves by the levels started, new and replayed, before anything is stamped."""
    return buffer.replace(clock=buffer.clock + count)


def rescore(buffer: LevelBuffer, slots: Int[Array, " B"], played: Played) -> LevelBuffer:
    """Replayed levels: the started ones are stamped, pooled scores overwrite.

    A level without a finished episode keeps its score.
    """
    total = sums.add(jnp.zeros_like(buffer.score), slots, played.score)
    episodes = jnp.zeros_like(buffer.played).at[slots].add(played.episodes)
    finished = jnp.where(played.episodes > 0, slots, buffer.score.shape[0])
    return buffer.replace(
        score=jnp.where(episodes > 0, total / jnp.maximum(episodes, 1), buffer.score),
        best_return=buffer.best_return.at[slots].max(played.best_return),
        played=buffer.played.at[jnp.where(played.started, slots, buffer.score.shape[0])].set(
            buffer.clock, mode="drop"
        ),
        memory=kept(buffer.memory, finished, played.memory),
    )


def kept(memory: Tree | None, slots: Int[Array, " B"], new: Tree | None) -> Tree | None:
    """What is remembered, with some slots' memories replaced; slots that are none are left out."""
    return jax.tree.map(lambda old, x: old.at[slots].set(x, mode="drop"), memory, new)


class Match(PyTreeNode):
    """Where each of W new levels belongs."""

    leader: Leaf  # int [W]; the first equal level of the batch
    slot: Leaf  # int [W]; the slot that holds it already, K if none


def match(buffer: LevelBuffer, digests: UInt32[Array, "W 2"]) -> Match:
    """Equal levels in the batch and in the buffer."""
    among = jnp.all(digests[:, None] == digests[None, :], axis=-1)
    stored = jnp.all(digests[:, None] == buffer.digest[None, :], axis=-1) & filled(buffer)[None, :]
    slot = jnp.where(jnp.any(stored, axis=1), jnp.argmax(stored, axis=1), buffer.score.shape[0])
    return Match(leader=jnp.argmax(among, axis=1), slot=slot)


def pooled_best(buffer: LevelBuffer, found: Match, best_return: Float[Array, " W"]) -> Float[Array, " W"]:
    """The best return on each new level over all workers that played it, and before."""
    best = jnp.full_like(best_return, -jnp.inf).at[found.leader].max(best_return)[found.leader]
    return jnp.maximum(best, buffer.best_return.at[found.slot].get(mode="fill", fill_value=-jnp.inf))


def insert(config: CurriculumConfig, buffer: LevelBuffer, levels: Level, played: Played) -> LevelBuffer:
    """W new levels in one step.

    P_replay is computed once. Levels stored already update their slot. The others, best first, fill
    free slots; after that the j-th remaining one meets the slot with the j-th smallest P_replay (or
    score), and replaces it unless its own score is lower.
    """
    chances = priorities(config, buffer)
    digests = jax.vmap(digest)(levels)
    found = match(buffer, digests)
    episodes = jnp.zeros_like(played.episodes).at[found.leader].add(played.episodes)
    total = sums.add(jnp.zeros_like(played.score), found.leader, played.score)
    score = total / jnp.maximum(episodes, 1)
    best = jnp.full_like(played.best_return, -jnp.inf).at[found.leader].max(played.best_return)
    slots = buffer.score.shape[0]
    leads = (found.leader == jnp.arange(episodes.size)) & (episodes > 0)
    # The leader itself may have played for another buffer, or not at all: whoever has played tells it.
    told = jnp.where(played.episodes > 0, found.leader, episodes.size)
    memory = kept(played.memory, told, played.memory)
    again = jnp.where(leads, found.slot, slots)
    buffer = buffer.replace(
        score=buffer.score.at[again].set(score, mode="drop"),
        best_return=buffer.best_return.at[again].max(best, mode="drop"),
        played=buffer.played.at[again].set(buffer.clock, mode="drop"),
        memory=kept(buffer.memory, again, memory),
    )
    slot = placement(config, buffer, chances, jnp.where(leads & (found.slot == slots), score, -jnp.inf))
    return buffer.replace(
        levels=jax.tree.map(lambda old, new: old.at[slot].set(new, mode="drop"), buffer.levels, levels),
        digest=buffer.digest.at[slot].set(digests, mode="drop"),
        score=buffer.score.at[slot].set(score, mode="drop"),
        best_return=buffer.best_return.at[slot].set(best, mode="drop"),
        played=buffer.played.at[slot].set(buffer.clock, mode="drop"),
        size=jnp.minimum(slots, buffer.size + jnp.sum(leads & (found.slot == slots))),
        memory=kept(buffer.memory, slot, memory),
    )


def placement(
    config: CurriculumConfig, buffer: LevelBuffer, chances: Float[Array, " K"], score: Float[Array, " W"]
) -> Int[Array, " W"]:
    """The slot each candidate goes to, K for nowhere; a score of -inf is no candidate."""
    slots = buffer.score.shape[0]
    order = jnp.argsort(-score, stable=True)
    place = jnp.zeros_like(order).at[order].set(jnp.arange(order.size))
    free = slots - buffer.size
    standing = chances if config.eviction == "replay" else buffer.score
    victims = jnp.argsort(jnp.where(filled(buffer), standing, jnp.inf), stable=True)
    challenge = place - free
    victim = victims.at[challenge].get(mode="fill", fill_value=slots)
    wins = (challenge < buffer.size) & (score >= buffer.score.at[victim].get(mode="fill", fill_value=jnp.inf))
    slot = jnp.where(challenge < 0, buffer.size + place, jnp.where(wins, victim, slots))
    return jnp.where(jnp.isneginf(score), slots, slot)
