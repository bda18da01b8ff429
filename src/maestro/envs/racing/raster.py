"""Which of many four-cornered shapes is on top at each pixel; a word of bits holds a third of a column."""

from itertools import combinations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

SIDE = 84  # pixels
WORD = 28  # pixels in a word
PLANES = 4  # bits of a code
CHUNK = 8  # shapes painted at a time
PAIRS = tuple(combinations(range(4), 2))


def spans(
    shapes: Float[Array, "K 4 2"], at: Float[Array, " M"]
) -> tuple[Float[Array, "K M"], Float[Array, "K M"]]:
    """From where to where lines of constant second coordinate cross the convex hulls of four points.

    From inf to -inf where they do not. The sides of a hull are among the six lines between its points,
    whose order therefore does not matter.
    """
    first, second, at = shapes[:, :, 0, None], shapes[:, :, 1, None], at[None]
    low, high = (jnp.full((len(shapes), at.shape[1]), far) for far in (jnp.inf, -jnp.inf))
    for a, b in PAIRS:
        crossed = (second[:, a] <= at) != (second[:, b] <= at)
        rise = jnp.where(second[:, a] == second[:, b], 1.0, second[:, b] - second[:, a])
        where = first[:, a] + (at - second[:, a]) * ((first[:, b] - first[:, a]) / rise)
        low = jnp.minimum(low, jnp.where(crossed, where, jnp.inf))
        high = jnp.maximum(high, jnp.where(crossed, where, -jnp.inf))
    return low, high


def in_picture(shapes: Float[Array, "K 4 2"]) -> Bool[Array, " K"]:
    """Whether the box around each shape reaches into the picture."""
    least, most = jnp.min(shapes, axis=1), jnp.max(shapes, axis=1)
    return jnp.all((least <= SIDE - 1) & (most >= 0), axis=1)


def masks(shapes: Float[Array, "K 4 2"]) -> UInt32[Array, "K 3 84"]:
    """The pixels whose centers each shape covers, as bits: bit b of word w in column c is row 28 w + b."""
    low, high = spans(shapes, jnp.arange(SIDE, dtype=jnp.float32))
    begin = jnp.clip(jnp.ceil(low), 0, SIDE).astype(jnp.int32)
    end = jnp.clip(jnp.floor(high) + 1, 0, SIDE).astype(jnp.int32)

    def above(row: Int[Array, "K 84"]) -> UInt32[Array, "K 3 84"]:
        inside = jnp.clip(row[:, None] - WORD * jnp.arange(SIDE // WORD)[None, :, None], 0, WORD)
        return (jnp.uint32(1) << inside.astype(jnp.uint32)) - jnp.uint32(1)

    return above(end) & ~above(begin)


def topmost(shapes: Float[Array, "K 4 2"], codes: Int[Array, " K"]) -> UInt8[Array, "84 84"]:
    """At each pixel the code of the last shape that covers it, else 0; corners are (row, column).

    Only shapes in the picture are painted, however many they are; those of code 0 are left out.
    """
    visible = in_picture(shapes) & (codes > 0)
    room = -(-len(codes) // CHUNK) * CHUNK
    order = jnp.nonzero(visible, size=room, fill_value=len(codes))[0]

    def paint(chunk: Int[Array, ""], planes: UInt32[Array, "4 3 84"]) -> UInt32[Array, "4 3 84"]:
        some = jax.lax.dynamic_slice_in_dim(order, chunk * CHUNK, CHUNK)
        covered = masks(shapes.at[some].get(mode="fill", fill_value=-1.0))
        code = codes.at[some].get(mode="fill", fill_value=0)
        bits = (code[:, None] >> jnp.arange(PLANES)[None]) & 1 == 1
        for one in range(CHUNK):
            mask = covered[one][None]
            planes = jnp.where(bits[one][:, None, None], planes | mask, planes & ~mask)
        return planes

    chunks = (jnp.sum(visible) + CHUNK - 1) // CHUNK
    planes = jax.lax.fori_loop(0, chunks, paint, jnp.zeros((PLANES, SIDE // WORD, SIDE), jnp.uint32))
    return unpack(planes)


def unpack(planes: UInt32[Array, "4 3 84"]) -> UInt8[Array, "84 84"]:
    """Codes from their bits."""
    bits = (planes[:, :, None] >> jnp.arange(WORD, dtype=jnp.uint32)[None, None, :, None]) & 1
    weights = jnp.left_shift(1, jnp.arange(PLANES, dtype=jnp.uint32))[:, None, None, None]
    return jnp.sum(bits * weights, axis=0).reshape(SIDE, SIDE).astype(jnp.uint8)
