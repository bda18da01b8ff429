"""What plays a game: scripted or trained, it sees one agent's view and remembers what it likes."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
from flax.struct import PyTreeNode
from jax.tree_util import register_static
from jaxtyping import Array, PRNGKeyArray

from maestro.envs.base import Box, Discrete
from maestro.trees import Leaf, Tree

Memory = Any  # a PyTree of arrays of fixed shape


class Sight(PyTreeNode):
    """The whole game, and which of its agents the player is."""

    level: Tree
    state: Tree
    seat: Leaf | int  # index of the agent


@runtime_checkable
class Player(Protocol):
    """Anything that plays: a PyTree whose methods can be jitted and vmapped."""

    @property
    def name(self) -> str: ...

    def start(self) -> Memory:
        """What is remembered at the start of an episode."""

    def act(self, key: PRNGKeyArray, memory: Memory, obs: Any, sight: Sight) -> tuple[Memory, Array]:
        """(memory, action) for one view; a fair player does not look at `sight`."""


@register_static
@dataclass(frozen=True)
class Random:
    """Every action with the same probability, in any game."""

    action: Discrete | Box
    name: str = "random"

    def start(self) -> Memory:
        """Nothing."""
        return ()

    def act(self, key: PRNGKeyArray, memory: Memory, obs: Any, sight: Sight) -> tuple[Memory, Array]:
        """A uniform action."""
        if isinstance(self.action, Discrete):
            return memory, jax.random.randint(key, (), 0, self.action.num)
        shape, low, high = (self.action.size,), self.action.low, self.action.high
        return memory, jax.random.uniform(key, shape, minval=low, maxval=high)
