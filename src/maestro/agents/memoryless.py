"""A body without memory: an encoder alone; what it sees of the last view is what actor and critic see."""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from maestro.agents.base import Memory, Params, Weights
from maestro.agents.heads import ActorCritic


class Memoryless(ActorCritic):
    """An agent of which a convolutional encoder is still to be said."""

    @property
    @abstractmethod
    def encoder(self) -> Any:
        """A `Convolution` or `Convolutions`."""

    def init(self, key: PRNGKeyArray) -> Params:
        """Heads orthogonal, their biases 0; the encoder's own."""
        conv, actor, critic = jax.random.split(key, 3)
        return {"conv": self.encoder.init(conv), **self.init_heads(actor, critic, self.encoder.outputs)}

    def start(self, *batch: int) -> Memory:
        """The features of the last view: nothing that a later step looks at."""
        return jnp.zeros((*batch, self.encoder.outputs))

    def prepare(self, params: Params) -> Weights:
        """The encoder as it computes fastest."""
        return self.encoder.prepare(params["conv"])

    def step(self, weights: Weights, memory: Memory, obs: Array) -> tuple[Memory, Array]:
        """The view's features."""
        features = self.encoder.encode(weights, obs, memory.ndim - 1)
        return features, features

    def features(self, memory: Memory) -> Array:
        """Those of the view that was seen last."""
        return memory

    def unroll(self, params: Params, obs: Array, keep: Array) -> Array:
        """All steps' views, each by itself."""
        return self.encoder.encode(self.prepare(params), obs, keep.ndim)
