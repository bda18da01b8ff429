"""The recursion of an LSTM as one kernel for each direction, for Hopper GPUs: `hopper.cu`, through XLA.

It computes what `portable` does; its gates are kept in bfloat16 and not computed again.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
from jaxtyping import Array

from maestro.native import Library

UNITS = 256  # the hidden size that it is written for
SEQUENCES = 8  # a batch is a multiple of this
FORWARD, BACKWARD = "maestro_lstm_forward", "maestro_lstm_backward"
SYMBOLS = ((FORWARD, "LstmForward"), (BACKWARD, "LstmBackward"))
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
