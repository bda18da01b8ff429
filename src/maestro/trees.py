"""What the fields of a tree of arrays hold."""

from typing import TYPE_CHECKING, Any

# For the type checker an array. At run time JAX also puts shapes, axes and NumPy arrays there, so nothing
# is checked then: the shape stands in a comment beside the field.
if TYPE_CHECKING:
    from jax import Array as Leaf
else:
    Leaf = Any

Tree = Any  # of arrays
