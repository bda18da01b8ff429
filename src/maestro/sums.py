"""Sums of what goes to each slot, the same on every device and every time.

A GPU adds numbers that go to one slot as they come, so that the rounding of floats differs from run to run;
there, each slot looks through all numbers by itself. CPUs have an order of their own.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Num


def add(total: Num[Array, " K"], slots: Int[Array, "*n"], x: Num[Array, "*n"]) -> Num[Array, " K"]:
    """`total` and what goes to each of its slots; slots that are none are left out."""
    return jax.lax.platform_dependent(total, slots, x, cpu=scattered, default=gathered)


def scattered(total: Num[Array, " K"], slots: Int[Array, "*n"], x: Num[Array, "*n"]) -> Num[Array, " K"]:
    """One number after the other goes to its slot."""
    return total.at[slots].add(x, mode="drop")


def gathered(total: Num[Array, " K"], slots: Int[Array, "*n"], x: Num[Array, "*n"]) -> Num[Array, " K"]:
    """Each slot takes what is for it."""
    own = slots.ravel()[None] == jnp.arange(total.size)[:, None]
    return total + jnp.sum(jnp.where(own, x.ravel()[None], 0), axis=1, dtype=total.dtype)
