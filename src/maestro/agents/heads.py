"""The last layers of a network: an actor's output and a critic's value."""

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, PRNGKeyArray

from maestro.agents import distributions
from maestro.agents.base import Params
from maestro.agents.distributions import Distribution
from maestro.agents.lstm import plus
from maestro.envs.base import Discrete

orthogonal = nn.initializers.orthogonal
UNKNOWN = Discrete(2)  # the actions of a network that is not yet fitted to a game


class Head(nn.Module):
    """Hidden layers with ReLU, and a last layer of its own scale."""

    sizes: tuple[int, ...]
    outputs: int
    last_scale: float
    done: int = 0  # layers that x has gone through already

    @nn.compact
    def __call__(self, x: Array) -> Array:
        for number, size in enumerate(self.sizes[self.done :], self.done):
            x = nn.relu(nn.Dense(size, kernel_init=orthogonal(2**0.5), name=layer(number))(x))
        last = layer(len(self.sizes))
        return nn.Dense(self.outputs, kernel_init=orthogonal(self.last_scale), name=last)(x)


def layer(number: int) -> str:
    """What the parameters of a layer are called."""
    return f"Dense_{number}"


class ActorCritic(ABC):
    """What the networks here have in common: a distribution that fits the actions, an actor, a critic."""

    action: Any  # Discrete | Box

    @property
    @abstractmethod
    def heads(self) -> tuple[int, ...]:
        """Hidden layers of the actor, and of the separate critic."""

    @property
    def distribution(self) -> Distribution:
        return distributions.over(self.action)

    @property
    def actor(self) -> Head:
        return Head(self.heads, self.distribution.outputs, 0.01)

    @property
    def critic(self) -> Head:
        return Head(self.heads, 1, 1.0)

    def init_heads(self, actor: PRNGKeyArray, critic: PRNGKeyArray, features: int) -> Params:
        """Both heads for so many features: orthogonal, biases 0."""
        vector = jnp.zeros((1, features))
        return {
            "actor": self.actor.init(actor, vector)["params"],
            "critic": self.critic.init(critic, vector)["params"],
        }

    def policy(self, params: Params, features: Array) -> Array:
        """The distribution's output."""
        return jnp.asarray(self.actor.apply({"params": params["actor"]}, features))

    def value(self, params: Params, features: Array) -> Array:
        """The critic's estimate of the discounted return."""
        return jnp.asarray(self.critic.apply({"params": params["critic"]}, features))[..., 0]

    def outputs(self, params: Params, features: Array) -> tuple[Array, Array]:
        """Both; but for a CPU the first layers are one product, and so is what goes back to the features."""
        if jax.default_backend() == "cpu" or not self.heads:
            return self.policy(params, features), self.value(params, features)
        return self.joined(params, features)

    def joined(self, params: Params, features: Array) -> tuple[Array, Array]:
        """Both, with one first layer."""
        names = ("actor", "critic")
        first = [params[name][layer(0)] for name in names]
        kernel, bias = (jnp.concatenate([x[part] for x in first], axis=-1) for part in ("kernel", "bias"))
        x = nn.relu(plus(jnp.dot(features, kernel), bias))
        begun = zip((self.actor, self.critic), names, jnp.split(x, len(names), axis=-1), strict=True)
        output, value = (head.clone(done=1).apply({"params": params[name]}, x) for head, name, x in begun)
        return jnp.asarray(output), jnp.asarray(value)[..., 0]
