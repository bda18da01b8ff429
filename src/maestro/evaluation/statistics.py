"""Outcomes -> shares, and how far they can be trusted."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

CONFIDENCE = 0.95


def shares(outcomes: Int[Array, "*b L"]) -> Float[Array, "*b 3"]:
    """Shares won, drawn and lost."""
    kinds = [outcomes > 0, outcomes == 0, outcomes < 0]
    return jnp.stack([jnp.mean(kind.astype(jnp.float32), axis=-1) for kind in kinds], axis=-1)


def finite_mean(x: np.ndarray) -> float | None:
    """The mean of what is finite, if anything is."""
    known = x[np.isfinite(x)]
    return float(known.mean()) if known.size else None


def interval(share: Float[np.ndarray, "*b S"], games: int) -> Float[np.ndarray, "*b 2"]:
    """A 95 % confidence interval of a share, from each seed's share of so many games of its own.

    Wilson's, with as many games as would vary as much as the seeds do, and Student's t for few seeds:
    seeds are the units, not their games. One seed speaks for itself alone, and its games are the units;
    so they are for seeds that do not differ at all.
    """
    from scipy.stats import norm, t  # slow to load

    seeds, middle, tail = share.shape[-1], share.mean(axis=-1), (1 + CONFIDENCE) / 2
    differ = share.max(axis=-1) > share.min(axis=-1)
    variance = share.var(axis=-1, ddof=min(1, seeds - 1)) / seeds
    count = np.where(differ, middle * (1 - middle) / np.where(differ, variance, 1), seeds * games)
    squared = np.where(differ, t.ppf(tail, max(1, seeds - 1)), norm.ppf(tail)) ** 2 / count
    half = np.sqrt(squared * (middle * (1 - middle) + squared / 4))
    ends = np.stack([middle + squared / 2 - half, middle + squared / 2 + half], axis=-1)
    return np.clip(ends / (1 + squared)[..., None], 0.0, 1.0)
