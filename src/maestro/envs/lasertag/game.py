"""LaserTag as the paper's authors ran it: a bolt is a projectile, not a ray (paper, appendix C.1)."""

from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from maestro.config import Range
from maestro.envs.base import Discrete, Info
from maestro.envs.lasertag import bolts, edits, levels
from maestro.envs.lasertag.levels import DELTA, SIDE, Level
from maestro.envs.lasertag.state import State
from maestro.envs.lasertag.views import Views, observe
from maestro.settings import shown

NOOP, TURN_LEFT, FORWARD, TURN_RIGHT, SHOOT = range(5)


def ahead(position: Int[Array, "2"], facing: Int[Array, ""]) -> Int[Array, "2"]:
    """The cell in front."""
    return position + jnp.array(DELTA, jnp.int32)[facing]


def number(cells: Int[Array, "2 2"]) -> Int[Array, "2"]:
    """The numbers of two cells, counted row by row."""
    return cells[:, 0] * SIDE + cells[:, 1]


def may_enter(level: Level, state: State, target: Any, actions: Any, first: Any) -> Bool[Array, "2"]:
    """Whether the cell ahead of each player is free when it acts, the second after the first."""
    here, there = number(state.position), number(target)
    wall = (level.walls[target[:, 0]] >> target[:, 1].astype(jnp.uint32)) & 1 == 1
    vacant = ~wall & (state.bolts[target[:, 0], target[:, 1]] == 0)
    free = vacant & (there != here[::-1])  # for the first
    position = jnp.where((actions == FORWARD) & free, there, here)[::-1]  # of the other, had it been first
    shot = jnp.where((actions == SHOOT) & free, there, -1)[::-1]
    return jnp.where(jnp.arange(2) == first, free, vacant & (there != position) & (there != shot))


def act(level: Level, state: State, actions: Any, first: Any) -> tuple[State, Int[Array, "2"]]:
    """Both players' actions; (state, the number of the cell each shot into or -1).

    Turning always works; moving and shooting need a free cell ahead.
    """
    target = jax.vmap(ahead)(state.position, state.facing)
    free = may_enter(level, state, target, actions, first)
    moves, shoots = (actions == FORWARD) & free, (actions == SHOOT) & free
    turn = jnp.where(actions == TURN_RIGHT, 1, jnp.where(actions == TURN_LEFT, 3, 0))
    position = jnp.where(moves[:, None], target, state.position)
    state = state.replace(position=position, facing=(state.facing + turn) % 4)
    return state, jnp.where(shoots, number(target), -1)


def advance(
    level: Level, state: State, actions: Int[Array, "2"], first: Int[Array, ""]
) -> tuple[State, Float[Array, "2"]]:
    """One step with everything decided: `first` is the player who acts first."""
    state, shots = act(level, state, actions, first)
    codes = bolts.fired(state.facing, first)
    flown, hits = bolts.fly(level, state.bolts, number(state.position), shots, codes)
    tagged = hits != bolts.NO_BOLT
    owner = (hits >> 2) & 1
    gains = tagged[None, :] & (owner[None, :] == jnp.arange(2)[:, None])
    reward = gains[:, 0].astype(jnp.float32) + gains[:, 1] - tagged
    return state.replace(bolts=flown, alive=state.alive & ~tagged, time=state.time + 1), reward


@dataclass(frozen=True)
class LaserTag:
    """Two players, tag the other one first: +1 for the tagger, -1 for the tagged."""

    min_size: Annotated[int, Range(2, levels.MAX_SIZE)] = levels.MIN_SIZE
    """Smallest side of a generated level."""
    max_size: Annotated[int, Range(2, levels.MAX_SIZE)] = levels.MAX_SIZE
    """Largest side of a generated level."""

    num_agents = 2
    zero_sum = True
    action = Discrete(5)
    observation_bounds = (0, 1)

    def problems(self) -> list[str]:
        """Settings that do not go together."""
        if self.min_size <= self.max_size:
            return []
        return [f"min_size: {shown(self.min_size)} is above max_size, {shown(self.max_size)}"]

    def sample_level(self, key: PRNGKeyArray) -> Level:
        """A random level of the generator."""
        return levels.sample_level(key, self.min_size, self.max_size)

    def edit(self, key: PRNGKeyArray, level: Level, changes: int = edits.CHANGES) -> Level:
        """A level that differs a little."""
        return edits.edit(key, level, changes)

    def reset(self, key: PRNGKeyArray, level: Level) -> tuple[State, Views]:
        """The start of an episode; nothing in it is random."""
        del key
        state = State(
            position=level.position,
            facing=level.facing,
            alive=jnp.ones(2, bool),
            bolts=jnp.zeros((SIDE, SIDE), jnp.uint8),
            time=jnp.int32(0),
        )
        return state, observe(level, state)

    def step(
        self, key: PRNGKeyArray, level: Level, state: State, actions: Int[Array, "2"]
    ) -> tuple[State, Views, Float[Array, "2"], Bool[Array, ""], Bool[Array, ""], Info]:
        """One step; who acts first is drawn from the key."""
        first = jax.random.bits(key, (), jnp.uint32) >> 31
        state, reward = advance(level, state, actions, first.astype(jnp.int32))
        terminated = ~(state.alive[0] & state.alive[1])
        truncated = (state.time >= level.time_limit) & ~terminated
        return state, observe(level, state), reward, terminated, truncated, {"score": reward}

    def statistics(self, level: Level) -> dict[str, Float[Array, ""]]:
        """Wall share, size, whether the agents are connected, and the shortest path."""
        return levels.statistics(level)
