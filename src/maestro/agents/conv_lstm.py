"""The paper's network for small grids: convolution, LSTM, separate actor and critic (appendix D.1)."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, PRNGKeyArray

from maestro.agents import lstm
from maestro.agents.base import Memory, Params, Weights
from maestro.agents.distributions import Categorical
from maestro.agents.heads import Head, orthogonal
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete

KERNEL = 3


def gate_init(key: PRNGKeyArray, shape: tuple[int, int], dtype: jnp.dtype = jnp.float32) -> Array:
    """An orthogonal matrix per gate; column 4 u + k is gate k of unit u."""
    inputs, hidden = shape[0], shape[1] // 4
    parts = [orthogonal()(k, (inputs, hidden), dtype) for k in jax.random.split(key, 4)]
    return jnp.stack(parts, axis=-1).reshape(shape)


@dataclass(frozen=True)
class ConvLSTM:
    """Takes views of a few rows and columns; gives logits of a few actions, and a value."""

    filters: Annotated[int, Range(1, 4096)] = 16
    """Filters of the 3 x 3 convolution."""
    hidden: Annotated[int, Range(1, 65_536)] = 256
    """Units of the LSTM."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (32, 32)
    """Hidden layers of the actor, and of the separate critic."""
    num_actions: Annotated[int, Given] = 5
    view: Annotated[tuple[int, int, int], Given] = (5, 5, 3)

    distribution = Categorical()

    def fitted(self, observation: Any, action: Discrete | Box) -> "ConvLSTM":
        """For views of rows x columns x channels and finitely many actions."""
        if not isinstance(action, Discrete) or len(getattr(observation, "shape", ())) != 3:
            raise ValueError(f"ConvLSTM needs views [rows, columns, channels] and Discrete actions, "
                             f"not {observation} and {action}")  # fmt: skip
        return replace(self, num_actions=action.num, view=observation.shape)

    @property
    def actor(self) -> Head:
        return Head(self.heads, self.num_actions, 0.01)

    @property
    def critic(self) -> Head:
        return Head(self.heads, 1, 1.0)

    @property
    def encoded(self) -> int:
        """Features of the encoder: one per filter and place of the kernel."""
        return (self.view[0] - KERNEL + 1) * (self.view[1] - KERNEL + 1) * self.filters

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal (convolution: Xavier uniform), biases 0."""
        conv, wx, wh, actor, critic = jax.random.split(key, 5)
        features = jnp.zeros((1, self.hidden))
        kernel = nn.initializers.xavier_uniform()(conv, (KERNEL, KERNEL, self.view[2], self.filters))
        return {
            "conv": {"kernel": kernel, "bias": jnp.zeros(self.filters)},
            "lstm": {
                "wx": gate_init(wx, (self.encoded, 4 * self.hidden)),
                "wh": gate_init(wh, (self.hidden, 4 * self.hidden)),
                "b": jnp.zeros(4 * self.hidden),
            },
            "actor": self.actor.init(actor, features)["params"],
            "critic": self.critic.init(critic, features)["params"],
        }

    def start(self, *batch: int) -> Memory:
        """(h, c), zero."""
        zero = jnp.zeros((*batch, self.hidden))
        return zero, zero

    def prepare(self, params: Params) -> Weights:
        """The encoder as one matrix, and all matrices in the dtype that products use."""
        dtype = lstm.operand_dtype()
        cell = params["lstm"]
        return {
            "encoder": self.encoder_matrix(params).astype(dtype),
            "bias": self.encoder_bias(params),
            "wx": cell["wx"].astype(dtype),
            "wh": cell["wh"].astype(dtype),
            "b": cell["b"],
        }

    def encoder_matrix(self, params: Params) -> Array:
        """The convolution written out as a matrix from all inputs to all outputs: one product, not nine."""
        rows, columns, channels = self.view
        inputs = jnp.eye(rows * columns * channels).reshape(-1, *self.view)
        kernel = params["conv"]["kernel"]
        out = jnp.zeros((inputs.shape[0], rows - KERNEL + 1, columns - KERNEL + 1, self.filters))
        for y in range(KERNEL):
            for x in range(KERNEL):
                patch = inputs[:, y : y + out.shape[1], x : x + out.shape[2]]
                out += jnp.einsum("nyxc,cf->nyxf", patch, kernel[y, x], precision="highest")
        return out.reshape(inputs.shape[0], -1)

    def encoder_bias(self, params: Params) -> Array:
        return jnp.tile(params["conv"]["bias"], self.encoded // self.filters)

    def encode(self, matrix: Array, bias: Array, obs: Array) -> Array:
        """ReLU of the convolution; obs [..., rows, columns, channels]."""
        flat = obs.reshape(*obs.shape[: obs.ndim - 3], -1).astype(matrix.dtype)
        return nn.relu(lstm.plus(lstm.dot(flat, matrix), bias))

    def step(self, weights: Weights, memory: Memory, obs: Array) -> tuple[Memory, Array]:
        """One step of both networks' shared body."""
        x = self.encode(weights["encoder"], weights["bias"], obs)
        h, c = lstm.cell(lstm.project(x, weights["wx"], weights["b"]), memory[0], memory[1], weights["wh"])
        h = h.astype(weights["wh"].dtype).astype(jnp.float32)  # rounded as in `unroll`
        return (h, c), h

    def features(self, memory: Memory) -> Array:
        """The LSTM's output is its memory h."""
        return memory[0]

    def unroll(self, params: Params, obs: Array, keep: Array) -> Array:
        """All steps: encode at once, then the LSTM over time."""
        dtype = lstm.operand_dtype()
        matrix = self.encoder_matrix(params).astype(dtype)
        x = self.encode(matrix, self.encoder_bias(params), obs)
        cell = params["lstm"]
        return lstm.lstm(x, keep, *self.start(obs.shape[1]), cell["wx"], cell["wh"], cell["b"])

    def policy(self, params: Params, features: Array) -> Array:
        """The logits."""
        return jnp.asarray(self.actor.apply({"params": params["actor"]}, features))

    def value(self, params: Params, features: Array) -> Array:
        """The critic's estimate of the discounted return."""
        return jnp.asarray(self.critic.apply({"params": params["critic"]}, features))[..., 0]
