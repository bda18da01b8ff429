"""A masked LSTM over time with a hand-written gradient, for training many agents at once.

What needs no recursion is outside of it: the input projection, and every weight gradient in one
product. The recursion itself has two forms that compute the same: `portable` and `kernel`.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Num

from maestro.agents.lstm.cell import Carry, cell, dot, operand_dtype, plus, project
from maestro.agents.lstm.form import FORMS, Form, choose
from maestro.agents.lstm.one_step import prepare, step
from maestro.agents.lstm.portable import preceding

__all__ = ["Form", "choose", "dot", "lstm", "operand_dtype", "plain_lstm", "plus", "prepare", "step"]


def lstm(
    x: Num[Array, "T B F"],
    keep: Float[Array, "T B"],
    h0: Float[Array, "B H"],
    c0: Float[Array, "B H"],
    wx: Float[Array, "F G"],
    wh: Float[Array, "H G"],
    b: Float[Array, " G"],
) -> Float[Array, "T B H"]:
    """The states h of all steps; where `keep` is 0 an episode starts and the carry is dropped first."""
    return run(choose(h0.shape[-1], x.shape[1]).name, x, keep, h0, c0, wx, wh, b)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def run(form, x, keep, h0, c0, wx, wh, b):
    """`lstm` in one of its forms."""
    return forward(form, x, keep, h0, c0, wx, wh, b)[0]


def forward(form, x, keep, h0, c0, wx, wh, b):
    """The states, and what the gradient needs."""
    dtype, like = operand_dtype(), jnp.zeros(0, x.dtype)
    w = wh.astype(dtype)
    hs, cs, seen = FORMS[form].forward(project(x, wx, b), keep, h0, c0, w)
    saved = (like, x.astype(dtype), keep, h0, c0, wx.astype(dtype), w, hs, cs, seen)
    return hs.astype(jnp.float32), saved


def backward(form, saved, dhs):
    """The gradient: back through the recursion, then weight gradients in one product."""
    like, x, keep, h0, c0, wx, w, hs, cs, seen = saved
    previous = preceding(h0, hs) * keep[..., None].astype(hs.dtype)
    dz, dh0, dc0 = FORMS[form].backward(seen, previous, cs, keep, c0, w, dhs)
    ones = jnp.ones((*x.shape[:2], 8), x.dtype)  # 8 of them: rows stay 16-byte aligned
    inputs = jnp.concatenate([x, previous, ones], -1)
    dw = jnp.einsum("tbk,tbz->kz", inputs, dz, preferred_element_type=jnp.float32)
    features, hidden = x.shape[-1], h0.shape[-1]
    dx = dot(dz, wx.T).astype(like.dtype)
    return dx, None, dh0, dc0, dw[:features], dw[features : features + hidden], dw[features + hidden]


run.defvjp(forward, backward)


def plain_lstm(x: Array, keep: Array, h0: Array, c0: Array, wx: Array, wh: Array, b: Array) -> Array:
    """The same by a plain float32 scan and automatic differentiation: the twin that tests compare with."""

    def step(carry: Carry, inputs: tuple[Array, Array]) -> tuple[Carry, Array]:
        z, k = inputs
        h, c = cell(z, carry[0] * k[:, None], carry[1] * k[:, None], wh)
        return (h, c), h

    return lax.scan(step, (h0, c0), (plus(x.astype(jnp.float32) @ wx, b), keep))[1]
