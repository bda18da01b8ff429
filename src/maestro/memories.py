"""What a level buffer remembers of the games on its levels, for scores that need more than a best return."""

from typing import Any, Protocol

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int

from maestro import sums
from maestro.level_buffer import Level, LevelBuffer, digest, match
from maestro.trees import Leaf

DECAY = 0.8  # of what was seen before, in every rollout in which an entry finishes an episode
DOUBT = 4.0  # kappa: episodes that count as no better than the critic expects
LEAK = 0.1  # of its lead over the present mean, which a best mean loses in a rollout


class Evidence(PyTreeNode):
    """Sums over finished episodes, of any shape."""

    episodes: Leaf  # int; how many
    values: Leaf  # of each episode's mean value
    returns: Leaf  # undiscounted, in the units of the values
    results: Leaf  # 1, 0.5 or 0
    squares: Leaf  # of the results


class Memory(Protocol):
    """A tree of arrays, one number of each for an entry."""

    @classmethod
    def fresh(cls, *shape: int) -> "Memory":
        """Of entries without an episode."""

    def told(self, seen: Evidence) -> "Memory":
        """With what a rollout has shown of entries that finished an episode in it."""

    def score(self, seen: Evidence) -> Float[Array, "*s"]:
        """The score of entries that finished an episode, whose memory has been told."""


class Returns(PyTreeNode):
    """The best mean return; it leaks, since the highest of many noisy means is too high."""

    episodes: Leaf  # decayed, as all sums here
    returns: Leaf
    best: Leaf

    @classmethod
    def fresh(cls, *shape: int) -> "Returns":
        """No episode, and no mean."""
        return cls(jnp.zeros(shape), jnp.zeros(shape), jnp.full(shape, -jnp.inf, jnp.float32))

    def told(self, seen: Evidence) -> "Returns":
        """Few episodes say little: `DOUBT` more are taken to return V, or the mean if V hopes for more."""
        episodes, returns = DECAY * self.episodes + seen.episodes, DECAY * self.returns + seen.returns
        doubted = jnp.minimum(ratio(seen.values, seen.episodes), ratio(returns, episodes))
        mean = (returns + DOUBT * doubted) / (episodes + DOUBT)
        best = jnp.maximum(mean, (1 - LEAK) * self.best + LEAK * mean)
        return Returns(episodes, returns, best)

    def score(self, seen: Evidence) -> Float[Array, "*s"]:
        """`mean_mc`: how far the best mean is above what the critic expects now."""
        return self.best - ratio(seen.values, seen.episodes)


class Results(PyTreeNode):
    """The variance of the results; their sums are decayed."""

    episodes: Leaf
    results: Leaf
    squares: Leaf
    count: Leaf  # int; episodes ever, not decayed

    @classmethod
    def fresh(cls, *shape: int) -> "Results":
        """No game."""
        return cls(jnp.zeros(shape), jnp.zeros(shape), jnp.zeros(shape), jnp.zeros(shape, jnp.int32))

    def told(self, seen: Evidence) -> "Results":
        """The sums, and the count, with the new games."""
        return Results(
            DECAY * self.episodes + seen.episodes,
            DECAY * self.results + seen.results,
            DECAY * self.squares + seen.squares,
            self.count + seen.episodes,
        )

    def score(self, seen: Evidence) -> Float[Array, "*s"]:
        """`learnability`: the variance, at most 0.25; 0 while there were fewer than two games."""
        del seen
        mean = ratio(self.results, self.episodes)
        variance = jnp.clip(ratio(self.squares, self.episodes) - mean**2, 0.0, 0.25)
        return jnp.where(self.count >= 2, variance, 0.0)


KINDS: dict[str, type[Memory]] = {"mean_mc": Returns, "learnability": Results}  # by the name of the score


def ratio(total: Float[Array, "*s"], count: Array) -> Float[Array, "*s"]:
    """A mean; 0 of nothing."""
    return total / jnp.where(count > 0, count, 1)


def after(memory: Any, seen: Evidence) -> tuple[Any, Float[Array, "*s"]]:
    """(memories, scores) after a rollout; those of entries without a finished episode say nothing."""
    told = memory.told(seen)
    return told, told.score(seen)


def recall(
    buffer: LevelBuffer, levels: Level, slots: Int[Array, "Q R"] | None, new: Evidence, replayed: Evidence
) -> tuple[Any, Any]:
    """(memories, scores) after a rollout for each of W new levels, [W], and for the replayed ones, [Q, R].

    What all workers saw of a level is pooled first, also where it is both new and replayed: it decays once.
    """
    memory: Any = buffer.memory
    total = jax.tree.map(lambda x: jnp.zeros(buffer.score.shape, x.dtype), new)
    if slots is not None:
        total = jax.tree.map(lambda t, x: sums.add(t, slots, x), total, replayed)
    if not new.episodes.size:
        return None, at(slots, after(memory, total))
    found = match(buffer, jax.vmap(digest)(levels))
    total = jax.tree.map(lambda t, x: sums.add(t, found.slot, x), total, new)
    stored = after(memory, total)
    alike = jax.tree.map(lambda x: sums.add(jnp.zeros_like(x), found.leader, x)[found.leader], new)
    stranger = after(type(memory).fresh(*new.episodes.shape), alike)
    known = found.slot < buffer.score.shape[0]
    own = jax.tree.map(lambda a, b: jnp.where(known, a, b), at(found.slot, stored), stranger)
    return own, None if slots is None else at(slots, stored)


def at(slots: Any, tree: Any) -> Any:
    """The entries of some slots; beyond the last slot, any."""
    return jax.tree.map(lambda x: x[slots], tree)
