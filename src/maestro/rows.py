"""Trees of small arrays as one array for each width of numbers: in a loop each array costs a GPU a kernel."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from flax.struct import PyTreeNode
from jax import lax
from jaxtyping import Array

from maestro.trees import Leaf, Tree

WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32}  # by bytes
KINDS = ("bool", "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "int32", "uint32", "float32")

Form = tuple[tuple[int, ...], Any]  # shape and dtype of a leaf in one row


class Rows(PyTreeNode):
    """Leaves [*lead, ...] side by side; `tree` has them back as they were, bit for bit."""

    packed: dict[int, Leaf]  # by bytes of a number: [*lead, K]
    apart: tuple[Leaf, ...]  # [*lead, ...]; leaves that are not small
    structure: Any = struct.field(pytree_node=False)
    forms: tuple[Form, ...] = struct.field(pytree_node=False)
    most: int = struct.field(pytree_node=False)  # bytes of a leaf in a row that is small

    @property
    def tree(self) -> Tree:
        """What was packed; leading axes that came later, as in a scan, stand before."""
        apart, taken, leaves = iter(self.apart), dict.fromkeys(self.packed, 0), []
        for shape, dtype in self.forms:
            if not is_small((shape, dtype), self.most):
                leaves.append(next(apart))
                continue
            width, count = dtype.itemsize, math.prod(shape)
            part = lax.slice_in_dim(self.packed[width], taken[width], taken[width] + count, axis=-1)
            leaves.append(from_words(part.reshape(*part.shape[:-1], *shape), dtype))
            taken[width] += count
        return jax.tree.unflatten(self.structure, leaves)


def is_small(form: Form, most: int) -> bool:
    """Whether a leaf of this form goes into the rows; random keys, for instance, do not."""
    shape, dtype = form
    return str(dtype) in KINDS and 0 < math.prod(shape) * dtype.itemsize <= most


def to_words(leaf: Array) -> Array:
    """The bits of numbers as whole numbers of the same width."""
    if leaf.dtype == jnp.bool_:
        return leaf.astype(jnp.uint8)
    return lax.bitcast_convert_type(leaf, WORDS[leaf.dtype.itemsize])


def from_words(words: Array, dtype: Any) -> Array:
    """The inverse of `to_words`."""
    return words != 0 if dtype == jnp.bool_ else lax.bitcast_convert_type(words, dtype)


def pack(tree: Tree, axes: int, most: int) -> Rows:
    """The leaves behind so many leading axes as rows, but for those of more than `most` bytes in one."""
    leaves, structure = jax.tree.flatten(tree)
    forms = tuple((leaf.shape[axes:], leaf.dtype) for leaf in leaves)
    small: dict[int, list[Array]] = {}
    for leaf, form in zip(leaves, forms, strict=True):
        if is_small(form, most):
            words = to_words(leaf).reshape(*leaf.shape[:axes], math.prod(form[0]))
            small.setdefault(leaf.dtype.itemsize, []).append(words)
    packed = {width: jnp.concatenate(parts, axis=-1) for width, parts in small.items()}
    apart = tuple(leaf for leaf, form in zip(leaves, forms, strict=True) if not is_small(form, most))
    return Rows(packed, apart, structure, forms, most)
