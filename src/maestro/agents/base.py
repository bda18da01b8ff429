"""What training needs to know of an agent: how to act step by step, and how to look back over a rollout."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray

from maestro.agents.distributions import Distribution
from maestro.envs.base import Box, Discrete, Obs

Params = Any  # a plain tree of arrays
Weights = Any  # the parameters in the form in which acting is fastest
Memory = Any  # a tree of arrays with the batch as leading axes; zero at the start of an episode


@runtime_checkable
class Agent(Protocol):
    """A policy and a value over a recurrent body; a frozen, hashable dataclass.

    Its fields are the network's settings, but for those marked `Given`, which `fitted` fills in.
    """

    @property
    def distribution(self) -> Distribution: ...

    def fitted(self, observation: Any, action: Discrete | Box) -> "Agent":
        """The same network for a game's observations (shapes of one agent's view) and actions."""

    def init(self, key: PRNGKeyArray) -> Params:
        """Fresh parameters."""

    def start(self, *batch: int) -> Memory:
        """The memory at the start of an episode."""

    def prepare(self, params: Params) -> Weights:
        """What `step` needs, made once per rollout."""

    def step(self, weights: Weights, memory: Memory, obs: Obs) -> tuple[Memory, Array]:
        """(memory, features) after one more observation, leaves [B, ...]."""

    def features(self, memory: Memory) -> Array:
        """The features that `step` returned together with this memory."""

    def unroll(self, params: Params, obs: Obs, keep: Array) -> Array:
        """Features of all steps of obs, leaves [T, B, ...]; keep [T, B] is 0 where an episode starts."""

    def policy(self, params: Params, features: Array) -> Array:
        """The distribution's output, of the parameters themselves and any features [..., F]."""

    def value(self, params: Params, features: Array) -> Array:
        """The value, likewise."""

    def outputs(self, params: Params, features: Array) -> tuple[Array, Array]:
        """Both, as an update needs them."""
