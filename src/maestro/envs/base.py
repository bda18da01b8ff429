"""The underspecified partially-observable stochastic game (UPOSG) as one interface (paper, section 2)."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

Level = Any  # a PyTree of arrays of fixed shape; it carries its own time limit in `time_limit`
State = Any  # a PyTree of arrays of fixed shape
Obs = Any  # an array (or a PyTree of arrays) whose leading axis is the agent
Info = dict[str, Array]  # a fixed set of arrays, always with `score` [n]


@dataclass(frozen=True)
class Discrete:
    """Actions 0 .. num - 1."""

    num: int

    def __post_init__(self) -> None:
        if self.num < 1:
            raise ValueError(f"{self}: needs at least one action")


@dataclass(frozen=True)
class Box:
    """Real vectors of length `size`, each entry between `low` and `high`."""

    size: int
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.size < 1 or not -math.inf < self.low < self.high < math.inf:
            raise ValueError(f"{self}: needs a size of at least 1 and finite bounds, low below high")


@runtime_checkable
class Environment(Protocol):
    """The game <n, A, O, Theta, S, T, I, R, gamma>; a frozen, hashable dataclass.

    `reset` and `step` take the level explicitly, as in T: S x A x Theta -> S, and never
    reset by themselves: the caller does. All methods can be jitted and vmapped.

    More may be there: `num_levels`, how many levels exist if they are few; `problems()`,
    a line for each two settings that do not go together; `observation_bounds`, (low, high)
    of all numbers in an observation, or a dict of such pairs for an observation that is a
    dict; `judged()`, the game as it is evaluated, without what only helps learning; and
    `edit(key, level, changes=5)`, a level so many small changes away, for methods with edits.
    """

    @property
    def num_agents(self) -> int: ...

    @property
    def zero_sum(self) -> bool:
        """Whether the rewards of every step sum to zero."""

    @property
    def action(self) -> Discrete | Box: ...

    def sample_level(self, key: PRNGKeyArray) -> Level:
        """A random level: one draw of the generator, Theta."""

    def reset(self, key: PRNGKeyArray, level: Level) -> tuple[State, Obs]:
        """The first state on `level` and each agent's view of it."""

    def step(
        self, key: PRNGKeyArray, level: Level, state: State, actions: Array
    ) -> tuple[State, Obs, Float[Array, " n"], Bool[Array, ""], Bool[Array, ""], Info]:
        """(state, obs, reward, terminated, truncated, info).

        `terminated`: the game is over and nothing follows. `truncated`: the level's time
        limit was reached. At most one of them is true. `info["score"]` is the unshaped
        reward that decides who won.
        """

    def statistics(self, level: Level) -> dict[str, Float[Array, ""]]:
        """What the emergent-curriculum plots show of a level."""


def observation_shape(env: Environment) -> Any:
    """One agent's observation as `jax.ShapeDtypeStruct`s, found without running anything."""

    def first_obs() -> Obs:
        key = jax.random.key(0)
        return env.reset(key, env.sample_level(key))[1]

    shapes = jax.eval_shape(first_obs)
    return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s.shape[1:], s.dtype), shapes)


def judged(env: Environment) -> Environment:
    """The game as it is evaluated: itself, unless it says otherwise."""
    return env.judged() if hasattr(env, "judged") else env


def observation_bounds(env: Environment) -> Any:
    """(low, high) of the numbers in an observation as the game declares it; None if it says nothing."""
    return getattr(env, "observation_bounds", None)
