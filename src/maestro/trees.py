"""What the fields of a tree of arrays hold."""

from typing import TYPE_CHECKING, Any

import jax

# For the type checker an array. At run time JAX also puts shapes, axes and NumPy arrays there, so nothing
# is checked then: the shape stands in a comment beside the field.
if TYPE_CHECKING:
    from jax import Array as Leaf
else:
    Leaf = Any

Tree = Any  # of arrays


def is_key(x: Any) -> bool:
    """Whether an array is one of random keys, which levels and states may hold."""
    return jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def numbers(x: Any) -> Any:
    """An array as plain numbers: of random keys those that they hold."""
    return jax.random.key_data(x) if is_key(x) else x
