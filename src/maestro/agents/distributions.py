"""What an agent's output means: distributions over actions, as functions of the network's output."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


@runtime_checkable
class Distribution(Protocol):
    """A family of distributions; `output` is what the policy head produces."""

    def sample(self, key: PRNGKeyArray, output: Array) -> Array: ...

    def log_prob(self, output: Array, action: Array) -> Array: ...

    def entropy(self, output: Array) -> Array: ...


@dataclass(frozen=True)
class Categorical:
    """One of finitely many actions; the output is their logits."""

    def sample(self, key: PRNGKeyArray, output: Float[Array, " A"]) -> Int[Array, ""]:
        """An action, one for one key."""
        return jnp.argmax(output + jax.random.gumbel(key, output.shape), axis=-1).astype(jnp.int32)

    def log_prob(self, output: Float[Array, "*b A"], action: Int[Array, "*b"]) -> Float[Array, "*b"]:
        """log p(action)."""
        chosen = jax.nn.one_hot(action, output.shape[-1], dtype=bool)
        return jnp.sum(jnp.where(chosen, jax.nn.log_softmax(output), 0.0), axis=-1)

    def entropy(self, output: Float[Array, "*b A"]) -> Float[Array, "*b"]:
        """- sum p log p."""
        log_p = jax.nn.log_softmax(output)
        return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)
