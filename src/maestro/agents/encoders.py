"""The first layers of a network: an observation becomes a vector of features."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, PRNGKeyArray

from maestro.agents import lstm
from maestro.agents.base import Params, Weights
from maestro.agents.heads import orthogonal
from maestro.envs.base import Box, Discrete, Obs

KERNEL = 3
LARGEST = 2**18  # entries of a matrix that stands for a whole convolution


def joined(obs: Obs, axes: int) -> Array:
    """All numbers of an observation as one vector, behind the leading axes."""
    parts = [leaf.reshape(*leaf.shape[:axes], -1) for leaf in jax.tree.leaves(obs)]
    return jnp.concatenate(parts, axis=-1).astype(jnp.float32)


def count(observation: Any) -> int:
    """How many numbers an observation of these shapes has."""
    return sum(leaf.size for leaf in jax.tree.leaves(observation))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def rectified(dtype: Any, x: Array) -> Array:
    """ReLU, rounded; its gradient looks at the result, so that x need not be kept."""
    return nn.relu(x).astype(dtype)


def kept(dtype: Any, x: Array) -> tuple[Array, Array]:
    """The result, which is all that the gradient needs."""
    out = rectified(dtype, x)
    return out, out


def slopes(_: Any, out: Array, slope: Array) -> tuple[Array]:
    """The gradient, in float32 again."""
    return (jnp.where(out > 0, slope, 0).astype(jnp.float32),)


rectified.defvjp(kept, slopes)


@dataclass(frozen=True)
class Layer:
    """A dense layer with ReLU over all numbers of an observation."""

    inputs: int
    outputs: int

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal, biases 0."""
        kernel = orthogonal(2**0.5)(key, (self.inputs, self.outputs), jnp.float32)
        return {"kernel": kernel, "bias": jnp.zeros(self.outputs)}

    def prepare(self, params: Params) -> Weights:
        """The parameters themselves."""
        return params

    def encode(self, weights: Weights, obs: Obs, axes: int, dtype: Any = jnp.float32) -> Array:
        """In float32 everywhere, since numbers of any size may come in."""
        return rectified(dtype, lstm.plus(lstm.dot(joined(obs, axes), weights["kernel"]), weights["bias"]))


@dataclass(frozen=True)
class Convolution:
    """A 3 x 3 convolution with ReLU over views of rows x columns x channels; nothing is padded.

    On a GPU its inputs are rounded to bfloat16, which keeps whole numbers up to 256.
    """

    view: tuple[int, int, int]
    filters: int

    @property
    def places(self) -> tuple[int, int]:
        """Where the kernel fits: rows and columns."""
        return self.view[0] - KERNEL + 1, self.view[1] - KERNEL + 1

    @property
    def outputs(self) -> int:
        """One feature per filter and place of the kernel."""
        return self.places[0] * self.places[1] * self.filters

    @property
    def inputs(self) -> int:
        return self.view[0] * self.view[1] * self.view[2]

    @property
    def is_small(self) -> bool:
        """Whether the whole convolution is one matrix."""
        return self.inputs * self.outputs <= LARGEST

    def init(self, key: PRNGKeyArray) -> Params:
        """Xavier uniform, biases 0."""
        kernel = nn.initializers.xavier_uniform()(key, (KERNEL, KERNEL, self.view[2], self.filters))
        return {"kernel": kernel, "bias": jnp.zeros(self.filters)}

    def prepare(self, params: Params) -> Weights:
        """A matrix, in the dtype that products use, and a bias: from all inputs, or from one patch."""
        dtype, kernel, bias = lstm.operand_dtype(), params["kernel"], params["bias"]
        if self.is_small:
            bias = jnp.tile(bias, self.outputs // self.filters)
            return {"matrix": whole_matrix(self, kernel).astype(dtype), "bias": bias}
        return {"matrix": kernel.reshape(-1, self.filters).astype(dtype), "bias": bias}

    def patches(self, obs: Array) -> Array:
        """What the kernel sees at each place, [..., rows, columns, 9 channels]."""
        rows, columns = self.places
        corners = [(y, x) for y in range(KERNEL) for x in range(KERNEL)]
        return jnp.concatenate([obs[..., y : y + rows, x : x + columns, :] for y, x in corners], axis=-1)

    def encode(self, weights: Weights, obs: Array, axes: int, dtype: Any = jnp.float32) -> Array:
        """Features behind the leading axes."""
        lead, matrix = obs.shape[:axes], weights["matrix"]
        seen = obs.reshape(*lead, -1) if self.is_small else self.patches(obs)
        out = rectified(dtype, lstm.plus(lstm.dot(seen.astype(matrix.dtype), matrix), weights["bias"]))
        return out.reshape(*lead, -1)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def whole_matrix(form: Convolution, kernel: Array) -> Array:
    """The convolution written out as a matrix from all inputs to all outputs: one product, not nine.

    Each entry is one of the kernel's or 0, so it is looked up; as sums of products these were a third of all
    products for which XLA tries out how to compute them.
    """
    down, aside = (
        np.arange(n)[:, None] - np.arange(m) for n, m in zip(form.view[:2], form.places, strict=True)
    )
    down, aside = down[:, None, :, None], aside[None, :, None, :]
    inside = (down >= 0) & (down < KERNEL) & (aside >= 0) & (aside < KERNEL)
    which = np.where(inside, down * KERNEL + aside, KERNEL**2)  # [rows, columns, places]
    entries = kernel.reshape(KERNEL**2, *kernel.shape[2:])
    found = jnp.take(entries, which, axis=0, mode="fill", fill_value=0.0)
    return jnp.moveaxis(found, 4, 2).reshape(form.inputs, form.outputs)


def as_products(form: Convolution, kernel: Array) -> Array:
    """`whole_matrix` as a sum of nine products, of which the gradient is made."""
    inputs = jnp.eye(form.inputs).reshape(-1, *form.view)
    out = jnp.zeros((form.inputs, *form.places, form.filters))
    for y in range(KERNEL):
        for x in range(KERNEL):
            patch = inputs[:, y : y + out.shape[1], x : x + out.shape[2]]
            out += jnp.einsum("nyxc,cf->nyxf", patch, kernel[y, x], precision="highest")
    return out.reshape(form.inputs, -1)


def gradient(form: Convolution, kernel: Array, of_matrix: Array) -> tuple[Array]:
    """What `as_products` is transposed: bit for bit what it was before entries were looked up."""
    return jax.linear_transpose(partial(as_products, form), kernel)(of_matrix)


whole_matrix.defvjp(lambda form, kernel: (whole_matrix(form, kernel), kernel), gradient)


class OnGrid:
    """What networks for small grids have in common: a convolution over the whole view."""

    view: Any  # rows, columns, channels
    filters: Any

    def fitted(self, observation: Any, action: Discrete | Box) -> Any:
        """For views of rows x columns x channels; what is none is refused."""
        shape: tuple[int, ...] = getattr(observation, "shape", ())
        if len(shape) != 3 or min(shape[:2]) < KERNEL or shape[2] < 1:
            least = f"[rows, columns, channels] of at least {KERNEL} x {KERNEL}"
            raise ValueError(f"a convolution needs views {least}, not {observation}; mlp and lstm take any")
        return replace(self, action=action, view=shape)  # type: ignore[type-var]

    @property
    def encoder(self) -> Convolution:
        return Convolution(self.view, self.filters)
