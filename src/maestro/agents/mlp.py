"""A network without memory, for observations of any form."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from maestro.agents.base import Memory, Params, Weights
from maestro.agents.encoders import count, joined
from maestro.agents.heads import UNKNOWN, ActorCritic
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete, Obs


@dataclass(frozen=True)
class MLP(ActorCritic):
    """Takes any observation, joined into one vector; has no memory."""

    layers: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (64, 64)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = UNKNOWN
    inputs: Annotated[int, Given] = 1
    name: Literal["mlp"] = "mlp"
    """What kind of network it is."""

    def fitted(self, observation: Any, action: Discrete | Box) -> "MLP":
        """For observations that are arrays or trees of arrays."""
        return replace(self, action=action, inputs=count(observation))

    @property
    def heads(self) -> tuple[int, ...]:
        return self.layers

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal, biases 0."""
        actor, critic = jax.random.split(key)
        return self.init_heads(actor, critic, self.inputs)

    def start(self, *batch: int) -> Memory:
        """The last observation: all that the features are made of."""
        return jnp.zeros((*batch, self.inputs))

    def prepare(self, params: Params) -> Weights:
        """Nothing: a step only looks."""
        return ()

    def step(self, weights: Weights, memory: Memory, obs: Obs) -> tuple[Memory, Array]:
        """The observation as a vector."""
        vector = joined(obs, memory.ndim - 1)
        return vector, vector

    def features(self, memory: Memory) -> Array:
        """The observation that was seen last."""
        return memory

    def unroll(self, params: Params, obs: Obs, keep: Array) -> Array:
        """All steps' observations as vectors."""
        return joined(obs, keep.ndim)
