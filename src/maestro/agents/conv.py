"""A network without memory for small grids: convolution, separate actor and critic."""

from dataclasses import dataclass
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from maestro.agents.base import Memory, Params, Weights
from maestro.agents.encoders import OnGrid
from maestro.agents.heads import UNKNOWN, ActorCritic
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete


@dataclass(frozen=True)
class Conv(OnGrid, ActorCritic):
    """Takes views of a few rows and columns; a convolution without memory."""

    filters: Annotated[int, Range(1, 4096)] = 16
    """Filters of the 3 x 3 convolution."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (64, 64)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = UNKNOWN
    view: Annotated[tuple[int, int, int], Given] = (3, 3, 1)
    name: Literal["conv"] = "conv"
    """What kind of network it is."""

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal (convolution: Xavier uniform), biases 0."""
        conv, actor, critic = jax.random.split(key, 3)
        return {"conv": self.encoder.init(conv), **self.init_heads(actor, critic, self.encoder.outputs)}

    def start(self, *batch: int) -> Memory:
        """The features of the last view: nothing that a later step looks at."""
        return jnp.zeros((*batch, self.encoder.outputs))

    def prepare(self, params: Params) -> Weights:
        """The convolution as it computes fastest."""
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
