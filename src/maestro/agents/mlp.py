"""A network without memory, for observations of any form."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from maestro.agents.base import Memory, Params, Weights
from maestro.agents.distributions import Categorical
from maestro.agents.heads import Head
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete, Obs


@dataclass(frozen=True)
class MLP:
    """Takes any observation, joined into one vector; gives logits of a few actions, and a value."""

    layers: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (64, 64)
    """Hidden layers of the actor, and of the separate critic."""
    num_actions: Annotated[int, Given] = 2
    inputs: Annotated[int, Given] = 1

    distribution = Categorical()

    def fitted(self, observation: Any, action: Discrete | Box) -> "MLP":
        """For observations that are arrays or trees of arrays, and finitely many actions."""
        if not isinstance(action, Discrete):
            raise ValueError(f"MLP needs Discrete actions, not {action}")
        inputs = sum(leaf.size for leaf in jax.tree.leaves(observation))
        return replace(self, num_actions=action.num, inputs=inputs)

    @property
    def actor(self) -> Head:
        return Head(self.layers, self.num_actions, 0.01)

    @property
    def critic(self) -> Head:
        return Head(self.layers, 1, 1.0)

    def init(self, key: PRNGKeyArray) -> Params:
        """Orthogonal, biases 0."""
        actor, critic = jax.random.split(key)
        vector = jnp.zeros((1, self.inputs))
        return {
            "actor": self.actor.init(actor, vector)["params"],
            "critic": self.critic.init(critic, vector)["params"],
        }

    def start(self, *batch: int) -> Memory:
        """The last observation: all that the features are made of."""
        return jnp.zeros((*batch, self.inputs))

    def prepare(self, params: Params) -> Weights:
        """Nothing: a step only looks."""
        return ()

    def joined(self, obs: Obs, axes: int) -> Array:
        """All numbers of an observation as one vector, behind the leading axes."""
        parts = [leaf.reshape(*leaf.shape[:axes], -1) for leaf in jax.tree.leaves(obs)]
        return jnp.concatenate(parts, axis=-1).astype(jnp.float32)

    def step(self, weights: Weights, memory: Memory, obs: Obs) -> tuple[Memory, Array]:
        """The observation as a vector."""
        vector = self.joined(obs, memory.ndim - 1)
        return vector, vector

    def features(self, memory: Memory) -> Array:
        """The observation that was seen last."""
        return memory

    def unroll(self, params: Params, obs: Obs, keep: Array) -> Array:
        """All steps' observations as vectors."""
        return self.joined(obs, keep.ndim)

    def policy(self, params: Params, features: Array) -> Array:
        """The logits."""
        return jnp.asarray(self.actor.apply({"params": params["actor"]}, features))

    def value(self, params: Params, features: Array) -> Array:
        """The critic's estimate of the discounted return."""
        return jnp.asarray(self.critic.apply({"params": params["critic"]}, features))[..., 0]
