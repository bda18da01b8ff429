"""The recursion of an LSTM as two lean scans, which run everywhere.

All that needs no recursion is outside of them: the gates that the gradient needs are computed again in
one product, as only h and c are kept.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from maestro.agents.lstm.cell import cell, dot, gates

UNROLL = 8


def following(xs: Array) -> Array:
    """The entry of the step after each step, zeros after the last."""
    return jnp.concatenate([xs[1:], jnp.zeros_like(xs[:1])])


def preceding(first: Array, xs: Array) -> Array:
    """The entry of the step before each step."""
    return jnp.concatenate([first[None].astype(xs.dtype), xs[:-1]])


def forward(projected: Array, keep: Array, h0: Array, c0: Array, w: Array) -> tuple[Array, Array, Array]:
    """(h, c) of all steps, and what `backward` wants to see again."""
    k = keep[..., None]

    def step(carry, inputs):
        z, keep_next = inputs
        h, c = cell(z, carry[0], carry[1], w)
        h = h.astype(w.dtype)
        return (h * keep_next.astype(w.dtype), c * keep_next), (h, c)

    start = ((h0 * k[0]).astype(w.dtype), c0 * k[0])
    _, (hs, cs) = lax.scan(step, start, (projected, following(k)), unroll=UNROLL)
    return hs, cs, projected


def backward(
    projected: Array, previous: Array, cs: Array, keep: Array, c0: Array, w: Array, dhs: Array
) -> tuple[Array, Array, Array]:
    """Gradients of the gates' inputs at all steps, and of the first h and c.

    `previous` is the h that each step began with, zero where an episode starts.
    """
    k = keep[..., None]
    i, f, g, o = gates(projected + dot(previous, w))
    c_before, tanh_c = preceding(c0, cs) * k, jnp.tanh(cs)
    slopes = [g * i * (1 - i), c_before * f * (1 - f), i * (1 - g * g), tanh_c * o * (1 - o)]
    slope = jnp.stack(slopes, -1).astype(w.dtype)
    through = (o * (1 - tanh_c * tanh_c)).astype(w.dtype)

    def step(carry, inputs):
        dz, dc = carry  # of the step after
        slope, through, f_after, k_after, dh = inputs
        dh = dot(dz, w.T) * k_after + dh
        dc = dc * f_after + dh * through
        dz = (jnp.stack([dc, dc, dc, dh], -1) * slope).astype(w.dtype).reshape(dz.shape)
        return (dz, dc), dz

    zero = jnp.zeros(projected.shape[1:], w.dtype), jnp.zeros(c0.shape, jnp.float32)
    inputs = (slope, through, following(f * k), following(k), dhs)
    (dz0, dc), dz = lax.scan(step, zero, inputs, reverse=True, unroll=UNROLL)
    return dz, dot(dz0, w.T) * k[0], dc * f[0] * k[0]
