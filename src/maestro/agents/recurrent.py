"""A body with memory: an encoder, then an LSTM; what it remembers is what actor and critic see."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from maestro.agents import lstm
from maestro.agents.base import Memory, Params, Weights
from maestro.agents.heads import ActorCritic, orthogonal
from maestro.envs.base import Obs


def gate_init(key: PRNGKeyArray, shape: tuple[int, int], dtype: jnp.dtype = jnp.float32) -> Array:
    """An orthogonal matrix per gate; column 4 u + k is gate k of unit u."""
    inputs, hidden = shape[0], shape[1] // 4
    parts = [orthogonal()(k, (inputs, hidden), dtype) for k in jax.random.split(key, 4)]
    return jnp.stack(parts, axis=-1).reshape(shape)


class Recurrent(ActorCritic):
    """An agent of which an encoder and its place among the parameters are still to be said."""

    part: str  # the name of the encoder's parameters
    hidden: Any  # units of the LSTM

    @property
    @abstractmethod
    def encoder(self) -> Any:
        """A `Convolution` or a `Layer`."""

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal (convolution: Xavier uniform), biases 0."""
        first, wx, wh, actor, critic = jax.random.split(key, 5)
        return {
            self.part: self.encoder.init(first),
            "lstm": {
                "wx": gate_init(wx, (self.encoder.outputs, 4 * self.hidden)),
                "wh": gate_init(wh, (self.hidden, 4 * self.hidden)),
                "b": jnp.zeros(4 * self.hidden),
            },
            **self.init_heads(actor, critic, self.hidden),
        }

    def start(self, *batch: int) -> Memory:
        """(h, c), zero; h in the dtype that products use."""
        zero = jnp.zeros((*batch, self.hidden))
        return zero.astype(lstm.operand_dtype()), zero

    def prepare(self, params: Params) -> Weights:
        """The encoder and the LSTM as they compute fastest."""
        return {"encoder": self.encoder.prepare(params[self.part]), "lstm": lstm.prepare(params["lstm"])}

    def step(self, weights: Weights, memory: Memory, obs: Obs) -> tuple[Memory, Array]:
        """One step of both networks' shared body."""
        x = self.encoder.encode(weights["encoder"], obs, memory[0].ndim - 1, lstm.operand_dtype())
        h, c = lstm.step(weights["lstm"], x, *memory)
        return (h, c), h.astype(jnp.float32)

    def features(self, memory: Memory) -> Array:
        """The LSTM's output is its memory h."""
        return memory[0].astype(jnp.float32)

    def unroll(self, params: Params, obs: Obs, keep: Array) -> Array:
        """All steps: encode at once, then the LSTM over time."""
        weights = self.encoder.prepare(params[self.part])
        x = self.encoder.encode(weights, obs, keep.ndim, lstm.operand_dtype())
        cell = params["lstm"]
        zero = jnp.zeros((keep.shape[1], self.hidden))  # float32, as the kernel reads it
        return lstm.lstm(x, keep, zero, zero, cell["wx"], cell["wh"], cell["b"])
