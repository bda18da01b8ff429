"""A masked LSTM over time with a hand-written gradient, for training many agents at once.

All that needs no recursion is outside its two scans: the input projection, the gates for the
gradient, and every weight gradient in one product. On a GPU the operands of products are bfloat16
and their sums float32; on a CPU everything is float32.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Num

Carry = tuple[Array, Array]  # h and c, [B, H]
UNROLL = 8


def operand_dtype() -> jnp.dtype:
    """What the operands of products are rounded to."""
    return jnp.dtype(jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16)


def dot(a: Array, b: Array) -> Array:
    """A product summed in float32."""
    return jnp.dot(a, b, preferred_element_type=jnp.float32)


def project(x: Array, wx: Array, b: Array) -> Array:
    """The part of the gates that comes from the input."""
    dtype = operand_dtype()
    return plus(dot(x.astype(dtype), wx.astype(dtype)), b).astype(dtype)


def plus(x: Array, b: Array) -> Array:
    """A bias added to each row."""
    return x + jnp.broadcast_to(b, x.shape)


def gates(z: Array) -> tuple[Array, Array, Array, Array]:
    """Input, forget, cell and output gate; column 4 u + k is gate k of unit u."""
    z = z.reshape((*z.shape[:-1], -1, 4))
    return (
        jax.nn.sigmoid(z[..., 0]),
        jax.nn.sigmoid(z[..., 1]),
        jnp.tanh(z[..., 2]),
        jax.nn.sigmoid(z[..., 3]),
    )


def cell(projected: Array, h: Array, c: Array, wh: Array) -> Carry:
    """One step; `projected` and `wh` in the operands' dtype."""
    i, f, g, o = gates(projected + dot(h.astype(wh.dtype), wh))
    c = f * c + i * g
    return o * jnp.tanh(c), c


def following(xs: Array) -> Array:
    """The entry of the step after each step, zeros after the last."""
    return jnp.concatenate([xs[1:], jnp.zeros_like(xs[:1])])


def preceding(first: Array, xs: Array) -> Array:
    """The entry of the step before each step."""
    return jnp.concatenate([first[None].astype(xs.dtype), xs[:-1]])


@jax.custom_vjp
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
    return forward(x, keep, h0, c0, wx, wh, b)[0]


def forward(x, keep, h0, c0, wx, wh, b):
    """The states, and what the gradient needs: only h and c, no gates."""
    dtype = operand_dtype()
    w, k = wh.astype(dtype), keep[..., None]
    projected = project(x, wx, b)

    def step(carry, inputs):
        z, keep_next = inputs
        h, c = cell(z, carry[0], carry[1], w)
        h = h.astype(dtype)
        return (h * keep_next.astype(dtype), c * keep_next), (h, c)

    start = ((h0 * k[0]).astype(dtype), c0 * k[0])
    _, (hs, cs) = lax.scan(step, start, (projected, following(k)), unroll=UNROLL)
    like = jnp.zeros(0, x.dtype)
    return hs.astype(jnp.float32), (
        like,
        x.astype(dtype),
        keep,
        h0,
        c0,
        wx.astype(dtype),
        w,
        hs,
        cs,
        projected,
    )


def backward(saved, dhs):
    """The gradient: gates recomputed in one product, one scan back, weight gradients in one product."""
    like, x, keep, h0, c0, wx, w, hs, cs, projected = saved
    k = keep[..., None]
    previous = preceding(h0, hs) * k.astype(hs.dtype)
    dz, dh0, dc0 = scan_back(projected, previous, cs, k, c0, w, dhs)
    ones = jnp.ones((*x.shape[:2], 8), x.dtype)  # 8 of them: rows stay 16-byte aligned
    inputs = jnp.concatenate([x, previous, ones], -1)
    dw = jnp.einsum("tbk,tbz->kz", inputs, dz, preferred_element_type=jnp.float32)
    features, hidden = x.shape[-1], h0.shape[-1]
    dx = dot(dz, wx.T).astype(like.dtype)
    return dx, None, dh0, dc0, dw[:features], dw[features : features + hidden], dw[features + hidden]


def scan_back(projected, previous, cs, k, c0, w, dhs):
    """Gradients of the gates' inputs at all steps, and of the first carry."""
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


lstm.defvjp(forward, backward)


def plain_lstm(x: Array, keep: Array, h0: Array, c0: Array, wx: Array, wh: Array, b: Array) -> Array:
    """The same by a plain float32 scan and automatic differentiation: the twin that tests compare with."""

    def step(carry: Carry, inputs: tuple[Array, Array]) -> tuple[Carry, Array]:
        z, k = inputs
        h, c = cell(z, carry[0] * k[:, None], carry[1] * k[:, None], wh)
        return (h, c), h

    return lax.scan(step, (h0, c0), (plus(x.astype(jnp.float32) @ wx, b), keep))[1]
