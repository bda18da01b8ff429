"""What training needs to know of an agent: how to act step by step, and how to look back over a rollout."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray

from maestro.agents.distributions import Distribution

Params = Any  # a plain tree of arrays
Weights = Any  # the parameters in the form in which acting is fastest
Memory = Any  # a tree of arrays with the batch as leading axes; zero at the start of an episode


@runtime_checkable
class Agent(Protocol):
    """A policy and a value over a recurrent body; a frozen, hashable dataclass."""

    @property
    def distribution(self) -> Distribution: ...

    def init(self, key: PRNGKeyArray) -> Params:
        """Fresh parameters."""

    def start(self, *batch: int) -> Memory:
        """The memory at the start of an episode."""

    def prepare(self, params: Params) -> Weights:
        """What `step` needs, made once per rollout."""

    def step(self, weights: Weights, memory: Memory, obs: Array) -> tuple[Memory, Array]:
        """(memory, features) after one more observation; obs [B, ...]."""

    def features(self, memory: Memory) -> Array:
        """The features that `step` returned together with this memory."""

    def unroll(self, params: Params, obs: Array, keep: Array) -> Array:
        """Features of all steps of obs [T, B, ...]; keep [T, B] is 0 where an episode starts."""

    def policy(self, params: Params, features: Array) -> Array:
        """The distribution's output."""

    def value(self, params: Params, features: Array) -> Array:
        """The value."""
