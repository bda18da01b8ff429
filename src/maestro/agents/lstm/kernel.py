"""An LSTM on Hopper GPUs: the recursion as a kernel for each direction, and one step (`hopper.cu`).

They compute what `portable` and `cell` do; in the recursion gates are kept in bfloat16, not computed again.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array

from maestro.native import Library

UNITS = 256  # the hidden size that it is written for
SEQUENCES = 8  # a batch is a multiple of this
ALIGNED, PIECE = 8, 32  # a step: the inputs are a multiple of the one, padded to one of the other
WIDEST = 1504  # inputs of a step: 64 rows of them, and of h, fit into shared memory
FORWARD, BACKWARD, STEP = "maestro_lstm_forward", "maestro_lstm_backward", "maestro_lstm_step"
SYMBOLS = ((FORWARD, "LstmForward"), (BACKWARD, "LstmBackward"), (STEP, "LstmStep"))
LIBRARY = Library(Path(__file__).with_name("hopper.cu"), "90a", SYMBOLS)

Shape = tuple[tuple[int, ...], jnp.dtype]


def call(name: str, *outputs: Shape):
    """A kernel as a function; `vmap` adds leading axes, one matrix of weights for each."""
    shapes = tuple(jax.ShapeDtypeStruct(*output) for output in outputs)
    return jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")


def forward(projected: Array, keep: Array, h0: Array, c0: Array, w: Array) -> tuple[Array, Array, Array]:
    """(h, c) of all steps, and their gates."""
    states, f32 = (*projected.shape[:2], UNITS), jnp.dtype(jnp.float32)
    kernel = call(FORWARD, (states, w.dtype), (states, f32), (projected.shape, w.dtype))
    return kernel(projected, keep, h0, c0, w.T)


def backward(
    gates: Array, previous: Array, cs: Array, keep: Array, c0: Array, w: Array, dhs: Array
) -> tuple[Array, Array, Array]:
    """Gradients of the gates' inputs at all steps, and of the first h and c."""
    f32 = jnp.dtype(jnp.float32)
    kernel = call(BACKWARD, (gates.shape, w.dtype), (c0.shape, f32), (c0.shape, f32))
    return kernel(gates, cs, keep, c0, w, dhs.astype(w.dtype))


def joined(wx: Array, wh: Array) -> Array:
    """Both matrices as one [..., 1024, K], inputs padded with zeros, in the order in which `step` reads it.

    That is: 8 units, 32 inputs, the gates of these, and of each unit 4 times 8 inputs.
    """
    padded = jnp.pad(wx, [(0, 0)] * (wx.ndim - 2) + [(0, -wx.shape[-2] % PIECE), (0, 0)])
    w = jnp.concatenate([padded, wh], axis=-2)
    lead, (columns, gates) = w.shape[:-2], w.shape[-2:]
    apart = w.reshape(*lead, columns // PIECE, PIECE, gates // 32, 8, 4)  # piece, input, slice, unit, gate
    apart = jnp.moveaxis(apart, (-5, -4, -3, -2, -1), (-4, -1, -5, -2, -3))
    return apart.reshape(*lead, gates, columns)


def launched(x: Array, h: Array, c: Array, w: Array, b: Array) -> tuple[Array, Array]:
    """`step` without its rule for `vmap`."""
    return call(STEP, (h.shape, h.dtype), (c.shape, c.dtype))(x, h, c, w, b)


@jax.custom_batching.custom_vmap
def step(*values: Array) -> tuple[Array, Array]:
    """(h, c) of N networks after one step: x [N, B, F], h and c [N, B, 256], w `joined`, b [N, 1024]."""
    return launched(*values)


@step.def_vmap
def batched(size: int, mapped: list[bool], *values: Array) -> tuple[tuple[Array, ...], tuple[bool, bool]]:
    """More networks where these differ, otherwise more rows of each: no weights are copied for a row."""
    spread = [
        y if is_mapped else jnp.broadcast_to(y, (size, *y.shape))
        for y, is_mapped in zip(values, mapped, strict=True)
    ]
    if any(mapped[3:]):
        found = step(*(y.reshape(-1, *y.shape[2:]) for y in spread))
        return tuple(y.reshape(size, -1, *y.shape[1:]) for y in found), (True, True)
    rows = [jnp.moveaxis(y, 0, 1).reshape(y.shape[1], -1, y.shape[-1]) for y in spread[:3]]
    found = step(*rows, *values[3:])
    apart = [y.reshape(len(y), size, -1, y.shape[-1]) for y in found]
    return tuple(jnp.moveaxis(y, 1, 0) for y in apart), (True, True)
