"""The last layers of a network: an actor's logits or a critic's value."""

from flax import linen as nn
from jaxtyping import Array

orthogonal = nn.initializers.orthogonal


class Head(nn.Module):
    """Hidden layers with ReLU, and a last layer of its own scale."""

    sizes: tuple[int, ...]
    outputs: int
    last_scale: float

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for size in self.sizes:
            x = nn.relu(nn.Dense(size, kernel_init=orthogonal(2**0.5))(x))
        return nn.Dense(self.outputs, kernel_init=orthogonal(self.last_scale))(x)
