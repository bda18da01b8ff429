"""Outcomes -> shares, and how far they can be trusted."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def shares(outcomes: Int[Array, "*b L"]) -> Float[Array, "*b 3"]:
    """Shares won, drawn and lost."""
    kinds = [outcomes > 0, outcomes == 0, outcomes < 0]
    return jnp.stack([jnp.mean(kind.astype(jnp.float32), axis=-1) for kind in kinds], axis=-1)


def interval(successes: int, games: int) -> tuple[float, float]:
    """A 95 % confidence interval of a share (Wilson's)."""
    from scipy.stats import binomtest  # slow to load

    found = binomtest(successes, games).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)
