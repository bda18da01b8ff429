"""LaserTag as the paper's authors ran it: a bolt is a projectile, not a ray (paper, appendix C.1)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from maestro.envs.base import Discrete, Info
from maestro.envs.lasertag import levels
from maestro.envs.lasertag.levels import DELTA, SIDE, Level

NOOP, TURN_LEFT, FORWARD, TURN_RIGHT, SHOOT = range(5)
VIEW = 5  # an agent sees 5 columns and 5 rows: its own and the four ahead
NO_BOLT = 255  # larger than the code of every bolt
AGE = 16  # what one step adds to the code of a bolt: two places in the processing order


class State(PyTreeNode):
    """Where everything is. A cell holds at most one of wall, agent and bolt.

    The code of a bolt is (1 + place) << 3 | owner << 2 | direction, so a smaller code is
    processed earlier. Shots of this step have places 0 and 1, and every step adds two:
    newest first. A bolt lives for at most 14 steps, so the code fits in a byte.
    """

    position: Any  # [2, 2]; (row, column), the outer wall being row 0 and column 0
    facing: Any  # [2]; 0 up, 1 right, 2 down, 3 left
    alive: Any  # bool [2]
    bolts: Any  # uint8 [17, 17]; code of the bolt in each cell, 0 for none
    time: Any  # steps played


def ahead(position: Int[Array, "2"], facing: Int[Array, ""]) -> Int[Array, "2"]:
    """The cell in front."""
    return position + jnp.array(DELTA, jnp.int32)[facing]


def is_wall(level: Level, cell: Int[Array, "2"]) -> Bool[Array, ""]:
    """Whether a cell within the outer wall, or of it, is wall."""
    return (level.walls[cell[0]] >> cell[1].astype(jnp.uint32)) & 1 == 1


def act(level: Level, state: State, shots: Any, player: Any, action: Any) -> tuple[State, Any]:
    """One player's action, seeing what was done before; `shots` are the cells shot into, [2, 2].

    Turning always works; moving and shooting need a free cell ahead.
    """
    target = ahead(state.position[player], state.facing[player])
    other = state.position[1 - player]
    taken = is_wall(level, target) | (state.bolts[target[0], target[1]] > 0)
    taken |= jnp.all(other == target) | jnp.any(jnp.all(shots == target[None], axis=1))
    moves, shoots = (action == FORWARD) & ~taken, (action == SHOOT) & ~taken
    turn = jnp.where(action == TURN_RIGHT, 1, jnp.where(action == TURN_LEFT, 3, 0))
    me = jnp.arange(2) == player
    state = state.replace(
        position=jnp.where(me[:, None] & moves, target[None], state.position),
        facing=jnp.where(me, (state.facing + turn) % 4, state.facing),
    )
    return state, jnp.where(me[:, None] & shoots, target[None], shots)


def on_grid(cell: Int[Array, "2"]) -> Bool[Array, "17 17"]:
    """The grid with one cell marked; nothing is marked for a cell outside it."""
    return (jnp.arange(SIDE)[:, None] == cell[0]) & (jnp.arange(SIDE)[None, :] == cell[1])


def arriving(bolts: UInt8[Array, "17 17"]) -> list[UInt8[Array, "17 17"]]:
    """For each direction, the code of the bolt about to enter each cell, 255 for none."""
    codes = [jnp.where((bolts > 0) & (bolts & 3 == d), bolts, NO_BOLT).astype(jnp.uint8) for d in range(4)]
    return [jnp.roll(code, DELTA[d], axis=(0, 1)) for d, code in enumerate(codes)]  # none is on the rim


def move_bolts(level: Level, state: State, shots: Any, first: Any) -> tuple[Any, Any]:
    """Every older bolt is processed once, in order; (bolts, the bolt that hit each agent or 255).

    A bolt dies at a wall and at a bolt that has not moved yet or was fired in this step. Of
    those entering one cell the first gets it; if an agent stands there, the first hits it,
    and the second enters the emptied cell.
    """
    bolts = jnp.where(state.bolts > 0, state.bolts + jnp.uint8(AGE), 0).astype(jnp.uint8)
    agents = [on_grid(state.position[p]) for p in range(2)]
    fresh = [on_grid(shots[p]) for p in range(2)]
    closed = levels.wall_grid(level) | fresh[0] | fresh[1]
    a, b, c, d = [
        jnp.where(closed | (bolts > code), NO_BOLT, code).astype(jnp.uint8) for code in arriving(bolts)
    ]
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    low2, high2 = jnp.minimum(c, d), jnp.maximum(c, d)
    earliest = jnp.minimum(low, low2)
    second = jnp.minimum(jnp.maximum(low, low2), jnp.minimum(high, high2))
    entering = jnp.where(agents[0] | agents[1], second, earliest)
    bolts = jnp.where(entering == NO_BOLT, 0, entering)
    for p in range(2):
        code = (1 + (first != p)) << 3 | p << 2 | state.facing[p]
        bolts = jnp.where(fresh[p], code, bolts)
    hits = jnp.stack([earliest[state.position[p, 0], state.position[p, 1]] for p in range(2)])
    return bolts.astype(jnp.uint8), hits.astype(jnp.int32)


def advance(
    level: Level, state: State, actions: Int[Array, "2"], first: Int[Array, ""]
) -> tuple[State, Float[Array, "2"]]:
    """One step with everything decided: `first` is the player who acts first."""
    shots = jnp.full((2, 2), -1, jnp.int32)
    state, shots = act(level, state, shots, first, actions[first])
    state, shots = act(level, state, shots, 1 - first, actions[1 - first])
    bolts, hits = move_bolts(level, state, shots, first)
    tagged = hits != NO_BOLT
    owner = (hits >> 2) & 1
    gains = tagged[None, :] & (owner[None, :] == jnp.arange(2)[:, None])
    reward = jnp.sum(gains, axis=1).astype(jnp.float32) - tagged
    return state.replace(bolts=bolts, alive=state.alive & ~tagged, time=state.time + 1), reward


def view(level: Level, state: State, player: int) -> UInt8[Array, "5 5 3"]:
    """What a player sees, turned so that it looks up: (row, column, agent | bolt | wall).

    Its own cell is [4, 2]. Walls hide nothing; beyond the outer wall all channels are 0, and
    so is everything for a tagged player.
    """
    forward = jnp.array(DELTA, jnp.int32)[state.facing[player]]
    right = jnp.array([forward[1], -forward[0]])
    depth = jnp.arange(VIEW - 1, -1, -1)[:, None, None] * forward[None, None]
    side = (jnp.arange(VIEW) - VIEW // 2)[None, :, None] * right[None, None]
    cells = state.position[player][None, None] + depth + side
    y, x = cells[..., 0], cells[..., 1]
    inside = (y >= 0) & (y < SIDE) & (x >= 0) & (x < SIDE) & state.alive[player]
    y, x = jnp.clip(y, 0, SIDE - 1), jnp.clip(x, 0, SIDE - 1)
    seen = jnp.all(cells[:, :, None] == state.position[None, None], axis=-1) & state.alive[None, None]
    wall = (level.walls[y] >> x.astype(jnp.uint32)) & 1 == 1
    planes = jnp.stack([jnp.any(seen, axis=-1), state.bolts[y, x] > 0, wall], axis=-1)
    return (planes & inside[..., None]).astype(jnp.uint8)


def observe(level: Level, state: State) -> UInt8[Array, "2 5 5 3"]:
    """Both players' views."""
    return jnp.stack([view(level, state, 0), view(level, state, 1)])


@dataclass(frozen=True)
class LaserTag:
    """Two players, tag the other one first: +1 for the tagger, -1 for the tagged."""

    min_size: int = levels.MIN_SIZE
    """Smallest side of a generated level."""
    max_size: int = levels.MAX_SIZE
    """Largest side of a generated level."""

    num_agents = 2
    zero_sum = True
    action = Discrete(5)

    def sample_level(self, key: PRNGKeyArray) -> Level:
        """A random level of the generator."""
        return levels.sample_level(key, self.min_size, self.max_size)

    def reset(self, key: PRNGKeyArray, level: Level) -> tuple[State, UInt8[Array, "2 5 5 3"]]:
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

    def step(self, key: PRNGKeyArray, level: Level, state: State, actions: Int[Array, "2"]) -> tuple[
        State, UInt8[Array, "2 5 5 3"], Float[Array, "2"], Bool[Array, ""], Bool[Array, ""], Info
    ]:
        """One step; who acts first is drawn from the key."""
        first = jax.random.bits(key, (), jnp.uint32) >> 31
        state, reward = advance(level, state, actions, first.astype(jnp.int32))
        terminated = ~jnp.all(state.alive)
        truncated = (state.time >= level.time_limit) & ~terminated
        return state, observe(level, state), reward, terminated, truncated, {"score": reward}

    def statistics(self, level: Level) -> dict[str, Float[Array, ""]]:
        """Wall share, size, whether the agents are connected, and the shortest path."""
        return levels.statistics(level)
