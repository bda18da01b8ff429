"""Rewards in units of what returns vary by: over their running standard deviation (paper, appendix D.2)."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float

from maestro.trajectory import Trajectory
from maestro.trees import Leaf

FIRST_COUNT = 1e-4  # of the returns that a fresh normalizer pretends to know, of mean 0 and variance 1
SMALLEST = 1e-8  # added to the variance
LARGEST = 10.0  # normalized rewards are clipped to this


class Normalizer(PyTreeNode):
    """Moments of all discounted returns so far, each up to a step of a student's episode."""

    mean: Leaf
    variance: Leaf
    count: Leaf


def init() -> Normalizer:
    """As good as no return."""
    return Normalizer(jnp.float32(0), jnp.float32(1), jnp.float32(FIRST_COUNT))


def returns_so_far(
    reward: Float[Array, "T E"], done: Bool[Array, "T E"], gamma: float
) -> Float[Array, "T E"]:
    """G_t = r_t + gamma G_{t-1}, from 0 at the start of the rollout and after each end of an episode."""
    goes_on = jnp.concatenate([jnp.zeros_like(done[:1]), ~done[:-1]])

    def early_then_late(early: Any, late: Any) -> Any:
        return late[0] + late[1] * early[0], late[1] * early[1]

    return jax.lax.associative_scan(early_then_late, (reward, gamma * goes_on))[0]


def merged(known: Normalizer, values: Float[Array, "T E"]) -> Normalizer:
    """The moments of all that was known and these values; known as before if they are not finite."""
    total = known.count + values.size
    old, new, gap = known.count / total, values.size / total, values.mean() - known.mean
    variance = old * known.variance + new * values.var() + old * new * gap**2
    after = Normalizer(known.mean + new * gap, variance, total)
    finite = jnp.isfinite(after.mean) & jnp.isfinite(after.variance)
    return jax.tree.map(lambda a, b: jnp.where(finite, a, b), after, known)


def observe(known: Normalizer | None, trajectory: Trajectory, gamma: float) -> Normalizer | None:
    """A whole rollout's returns merged at once, whether it is learned from or not."""
    if known is None:
        return None
    return merged(known, returns_so_far(trajectory.reward, trajectory.done, gamma))


def scale(known: Normalizer | None) -> Float[Array, "*s"] | None:
    """What rewards are divided by; None where they are not."""
    return None if known is None else jnp.sqrt(known.variance + SMALLEST)


def normalized(trajectory: Trajectory, scale: Float[Array, ""] | None) -> Trajectory:
    """The trajectory with rewards in the critic's units; the scores, which decide who won, stay."""
    if scale is None:
        return trajectory
    return trajectory.replace(reward=jnp.clip(trajectory.reward / scale, -LARGEST, LARGEST))


def in_units(
    units: str, trajectory: Trajectory, advantage: Float[Array, "T E"], scale: Float[Array, ""] | None
) -> tuple[Trajectory, Float[Array, "T E"]]:
    """A trajectory as it was played and the critic's advantages, both in the units of the scores.

    The critic's units change with the scale, so that old scores seem larger than they were; raw ones do not.
    """
    if units == "normalized" or scale is None:
        return normalized(trajectory, scale), advantage
    return trajectory.replace(value=trajectory.value * scale), advantage * scale
