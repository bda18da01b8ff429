"""The convex hull of a few hundred points from all pairs of them: shapes are fixed, nothing is searched."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

ROWS = 39  # of the table of all pairs that are looked at together, so that memory stays small


def measure(points: Float[Array, "N 2"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Perimeter and area of the hull.

    With points sorted from left to right, one lies on the upper chain if no way on from it is steeper than
    any way to it, and on the lower chain if none is less steep. Rounding only ever takes or leaves a point
    that is in line with its neighbors, so that nothing can go astray.
    """
    x, y = jax.lax.sort((points[:, 0], points[:, 1]), num_keys=2)
    number = jnp.arange(len(x))

    def chains(i: Any) -> tuple[Any, Any]:
        rise, run = y - y[i], x - x[i]
        slope = jnp.where(run == 0, jnp.inf, rise / run)
        elsewhere = (run != 0) | (rise != 0)
        back, on = (number < i) & elsewhere, (number > i) & elsewhere
        upper = jnp.min(slope, initial=jnp.inf, where=back) >= jnp.max(slope, initial=-jnp.inf, where=on)
        lower = jnp.max(slope, initial=-jnp.inf, where=back) <= jnp.min(slope, initial=jnp.inf, where=on)
        return upper, lower

    upper, lower = jax.lax.map(chains, number, batch_size=ROWS)
    upper_length, upper_area = chain(x, y, upper)
    lower_length, lower_area = chain(x, y, lower)
    return upper_length + lower_length, upper_area - lower_area


def chain(
    x: Float[Array, " N"], y: Float[Array, " N"], on: Bool[Array, " N"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Length of the line through those points that are on it, the first among them, and the area below it."""
    last = jax.lax.cummax(jnp.where(on, jnp.arange(len(x)), 0))
    before = jnp.concatenate([last[:1], last[:-1]])
    run, rise = jnp.where(on, x - x[before], 0.0), jnp.where(on, y - y[before], 0.0)
    return jnp.hypot(run, rise).sum(), jnp.sum(run * (y + y[before]) / 2)
