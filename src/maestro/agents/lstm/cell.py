"""One step of an LSTM; on a GPU the operands of products are bfloat16 and their sums float32."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

Carry = tuple[Array, Array]  # h and c, [B, H]


def operand_dtype() -> jnp.dtype:
    """What the operands of products are rounded to; on a CPU they are not."""
    return jnp.dtype(jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16)


def dot(a: Array, b: Array) -> Array:
    """A product summed in float32."""
    return jnp.dot(a, b, preferred_element_type=jnp.float32)


def plus(x: Array, b: Array) -> Array:
    """A bias added to each row."""
    return x + jnp.broadcast_to(b, x.shape)


def project(x: Array, wx: Array, b: Array) -> Array:
    """The part of the gates that comes from the input."""
    dtype = operand_dtype()
    return plus(dot(x.astype(dtype), wx.astype(dtype)), b).astype(dtype)


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
