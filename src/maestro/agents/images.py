"""The first layers of a network for pictures: several convolutions, one after another."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, PRNGKeyArray

from maestro.agents import lstm
from maestro.agents.base import Params, Weights

MIDDLE = 128  # of a byte: inputs are x / 128 - 1
FIRST_BIAS = 0.1


def picture_of(observation: Any) -> tuple[int, int, int]:
    """The shape of an observation that is a picture of bytes; what is none is refused."""
    shape: tuple[int, ...] = getattr(observation, "shape", ())
    if len(shape) != 3 or getattr(observation, "dtype", None) != jnp.uint8:
        needed = "pictures [rows, columns, channels] of bytes (uint8)"
        raise ValueError(f"conv_beta needs {needed}, not {observation}; mlp and lstm take any")
    return shape[0], shape[1], shape[2]


def patches(x: Array, kernel: int, stride: int) -> Array:
    """What a kernel sees at each place, [..., rows, columns, kernel^2 channels]; nothing is padded."""
    rows, columns = ((size - kernel) // stride + 1 for size in x.shape[-3:-1])
    if kernel == stride:  # the patches share nothing: they are only put in another order
        x = x[..., : rows * kernel, : columns * kernel, :]
        blocks = x.reshape(*x.shape[:-3], rows, kernel, columns, kernel, x.shape[-1])
        return jnp.swapaxes(blocks, -4, -3).reshape(*x.shape[:-3], rows, columns, -1)
    height, width = (rows - 1) * stride + 1, (columns - 1) * stride + 1
    corners = [(i, j) for i in range(kernel) for j in range(kernel)]
    seen = [x[..., i : i + height : stride, j : j + width : stride, :] for i, j in corners]
    return jnp.concatenate(seen, axis=-1)


@jax.custom_vjp
def product(patches: Array, matrix: Array) -> Array:
    """A product summed in float32, whose gradients' products take operands of the same dtype again."""
    return lstm.dot(patches, matrix)


def _forward(patches: Array, matrix: Array) -> tuple[Array, tuple[Array, Array]]:
    return lstm.dot(patches, matrix), (patches, matrix)


def _backward(operands: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    patches, matrix = operands
    gradient = gradient.astype(patches.dtype)
    rows, columns = (x.reshape(-1, x.shape[-1]) for x in (patches, gradient))
    return lstm.dot(gradient, matrix.T).astype(patches.dtype), lstm.dot(rows.T, columns).astype(matrix.dtype)


product.defvjp(_forward, _backward)


@dataclass(frozen=True)
class Convolutions:
    """Convolutions with ReLU over pictures of bytes, as products with patches; nothing is padded.

    Products can be batched over players, where a convolution with two kernels would be slow. On a GPU
    their operands are rounded to bfloat16, which keeps all inputs.
    """

    view: tuple[int, int, int]
    channels: tuple[int, ...]
    kernels: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.channels) == len(self.kernels) == len(self.strides):
            told = f"{len(self.channels)} channels, {len(self.kernels)} kernels, {len(self.strides)} strides"
            raise ValueError(f"each convolution needs all three: {told}")
        if min(min(shape) for shape in self.shapes) < 1:
            sizes = " -> ".join(f"{rows} x {columns}" for rows, columns, _ in self.shapes)
            raise ValueError(f"kernels {self.kernels} with strides {self.strides} do not fit: {sizes}")

    @property
    def shapes(self) -> list[tuple[int, int, int]]:
        """Rows, columns and channels before each layer, and at the end."""
        found = [self.view]
        for channels, kernel, stride in zip(self.channels, self.kernels, self.strides, strict=True):
            rows, columns = ((size - kernel) // stride + 1 for size in found[-1][:2])
            found.append((rows, columns, channels))
        return found

    @property
    def outputs(self) -> int:
        """One feature for each filter and place of the last layer."""
        rows, columns, channels = self.shapes[-1]
        return rows * columns * channels

    def init(self, key: PRNGKeyArray) -> Params:
        """Xavier uniform times ReLU's gain, biases 0.1: features of six layers are then of usual size."""
        make = nn.initializers.variance_scaling(2.0, "fan_avg", "uniform")
        keys, layers = jax.random.split(key, len(self.channels)), {}
        for i, (size, before, after) in enumerate(
            zip(self.kernels, self.shapes, self.channels, strict=False)
        ):
            kernel = make(keys[i], (size, size, before[2], after))
            layers[f"layer_{i}"] = {"kernel": kernel, "bias": jnp.full(after, FIRST_BIAS)}
        return layers

    def prepare(self, params: Params) -> Weights:
        """For each layer a matrix from one patch, in the dtype that products use, and a bias."""
        layers = [params[f"layer_{i}"] for i in range(len(self.channels))]
        return [
            {
                "matrix": x["kernel"].reshape(-1, x["kernel"].shape[-1]).astype(lstm.operand_dtype()),
                "bias": x["bias"],
            }
            for x in layers
        ]

    def encode(self, weights: Weights, obs: Array, axes: int) -> Array:
        """Features behind the leading axes."""
        x = obs
        for number, (layer, kernel, stride) in enumerate(
            zip(weights, self.kernels, self.strides, strict=True)
        ):
            dtype = layer["matrix"].dtype
            seen = patches(x, kernel, stride).astype(dtype)  # pictures stay bytes until here
            seen = (seen - MIDDLE) / MIDDLE if number == 0 else seen
            x = nn.relu(lstm.plus(product(seen, layer["matrix"]), layer["bias"])).astype(dtype)
        return x.astype(jnp.float32).reshape(*obs.shape[:axes], -1)
