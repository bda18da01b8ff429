"""LaserTag as the paper's authors ran it: a bolt is a projectile, not a ray (paper, appendix C.1)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

from maestro.envs.base import Discrete, Info
from maestro.envs.lasertag import levels
from maestro.envs.lasertag.levels import DELTA, SIDE, Level

NOOP, TURN_LEFT, FORWARD, TURN_RIGHT, SHOOT = range(5)
VIEW = 5  # an agent sees 5 columns and 5 rows: its own and the four ahead
NO_BOLT = 255  # larger than the code of every bolt
AGE = 16  # what one step adds to the code of a bolt: two places in the processing order
# By facing: from an agent to the top left cell of what it sees; in those 25 cells, row by row, the
# one that is its top left when it looks up, and the steps from there to the next row and column.
CORNER = ((-4, -2), (-2, 0), (0, -2), (-2, -4))
TURN = ((0, 5, 1), (4, -1, 5), (24, -5, -1), (20, 1, -5))


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


def number(cells: Int[Array, "2 2"]) -> Int[Array, "2"]:
    """The numbers of two cells, counted along the rows."""
    return cells[:, 0] * SIDE + cells[:, 1]


def act(level: Level, state: State, actions: Any, first: Any) -> tuple[State, Int[Array, "2"]]:
    """Both players' actions, the second seeing what the first did; (state, the cell each shot into or -1).

    Turning always works; moving and shooting need a free cell ahead.
    """
    moves, shoots = actions == FORWARD, actions == SHOOT
    target = jax.vmap(ahead)(state.position, state.facing)
    here, there = number(state.position), number(target)
    wall = (level.walls[target[:, 0]] >> target[:, 1].astype(jnp.uint32)) & 1 == 1
    open_ = ~wall & (state.bolts[target[:, 0], target[:, 1]] == 0)
    free = open_ & (there != here[::-1])  # for the first player
    occupied = jnp.where(moves & free, there, here)[::-1]  # by the other, if that one was first
    shot = jnp.where(shoots & free, there, -1)[::-1]
    free = jnp.where(jnp.arange(2) == first, free, open_ & (there != occupied) & (there != shot))
    turn = jnp.where(actions == TURN_RIGHT, 1, jnp.where(actions == TURN_LEFT, 3, 0))
    state = state.replace(
        position=jnp.where((moves & free)[:, None], target, state.position),
        facing=(state.facing + turn) & 3,
    )
    return state, jnp.where(shoots & free, there, -1)


def arriving(bolts: UInt8[Array, "289"], standing: UInt8[Array, "289"]) -> list[UInt8[Array, "289"]]:
    """For each direction, the code of the bolt that gets into each cell, 255 for none.

    A bolt dies where something with a larger code stands.
    """
    padded = jnp.pad(bolts, SIDE)  # a bolt is never on the rim, so rows may run into each other
    codes = []
    for direction, (y, x) in enumerate(DELTA):
        start = SIDE - y * SIDE - x
        code = padded[start : start + SIDE * SIDE]
        code = jnp.where((code > 0) & (code & 3 == direction), code, NO_BOLT).astype(jnp.uint8)
        codes.append(jnp.where(standing > code, NO_BOLT, code).astype(jnp.uint8))
    return codes


def move_bolts(level: Level, state: State, shots: Int[Array, "2"], first: Any) -> tuple[Any, Any]:
    """Every older bolt is processed once, in order; (bolts, the bolt that hit each agent or 255).

    A bolt dies at a wall and at a bolt that has not moved yet or was fired in this step. Of
    those entering one cell the first gets it; if an agent stands there, the first hits it,
    and the second enters the emptied cell.
    """
    bolts = jnp.where(state.bolts > 0, state.bolts + jnp.uint8(AGE), 0).astype(jnp.uint8).ravel()
    cells = jnp.arange(SIDE * SIDE)
    agents = number(state.position)
    fresh = [cells == shots[p] for p in range(2)]
    closed = levels.wall_grid(level).ravel() | fresh[0] | fresh[1]
    a, b, c, d = arriving(bolts, jnp.where(closed, NO_BOLT, bolts).astype(jnp.uint8))
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    low2, high2 = jnp.minimum(c, d), jnp.maximum(c, d)
    earliest = jnp.minimum(low, low2)
    second = jnp.minimum(jnp.maximum(low, low2), jnp.minimum(high, high2))
    entering = jnp.where((cells == agents[0]) | (cells == agents[1]), second, earliest)
    bolts = jnp.where(entering == NO_BOLT, 0, entering).astype(jnp.uint8)
    for p in range(2):
        code = (1 + (first != p)) << 3 | p << 2 | state.facing[p]
        bolts = jnp.where(fresh[p], code.astype(jnp.uint8), bolts)
    return bolts.reshape(SIDE, SIDE), earliest[agents].astype(jnp.int32)


def advance(
    level: Level, state: State, actions: Int[Array, "2"], first: Int[Array, ""]
) -> tuple[State, Float[Array, "2"]]:
    """One step with everything decided: `first` is the player who acts first."""
    state, shots = act(level, state, actions, first)
    bolts, hits = move_bolts(level, state, shots, first)
    tagged = hits != NO_BOLT
    owner = (hits >> 2) & 1
    gains = tagged[None, :] & (owner[None, :] == jnp.arange(2)[:, None])
    reward = jnp.sum(gains, axis=1).astype(jnp.float32) - tagged
    return state.replace(bolts=bolts, alive=state.alive & ~tagged, time=state.time + 1), reward


def window(rows: UInt32[Array, "17"], corner: Int[Array, "2"]) -> UInt32[Array, ""]:
    """25 bits: the 5 x 5 cells of a map of bits from `corner` on, row by row, empty beyond the map."""
    padded = jnp.pad(rows << (VIEW - 1), VIEW - 1)
    column = (corner[1] + VIEW - 1).astype(jnp.uint32)
    bits = jnp.uint32(0)
    for y in range(VIEW):
        row = padded[corner[0] + VIEW - 1 + y] >> column
        bits |= (row & (1 << VIEW) - 1) << VIEW * y
    return bits


def view(level: Level, state: State, bolts: UInt32[Array, "17"], player: int) -> UInt8[Array, "5 5 3"]:
    """What a player sees, turned so that it looks up: (row, column, agent | bolt | wall).

    Its own cell is [4, 2]. Walls hide nothing; beyond the outer wall all channels are 0, and
    so is everything for a tagged player.
    """
    facing = state.facing[player]
    corner = state.position[player] + jnp.array(CORNER, jnp.int32)[facing]
    offset = state.position - corner[None]
    near = jnp.all((offset >= 0) & (offset < VIEW), axis=1) & state.alive
    agents = jnp.where(near, jnp.uint32(1) << (offset[:, 0] * VIEW + offset[:, 1]).astype(jnp.uint32), 0)
    seen = [agents[0] | agents[1], window(bolts, corner), window(level.walls, corner)]
    seen = jnp.where(state.alive[player], jnp.stack(seen), 0)
    start, down, right = jnp.array(TURN, jnp.int32)[facing]
    bit = start + down * jnp.arange(VIEW)[:, None] + right * jnp.arange(VIEW)[None]
    return (seen[None, None] >> bit[..., None].astype(jnp.uint32) & 1).astype(jnp.uint8)


def observe(level: Level, state: State) -> UInt8[Array, "2 5 5 3"]:
    """Both players' views."""
    bolts = levels.pack(state.bolts > 0)
    return jnp.stack([view(level, state, bolts, 0), view(level, state, bolts, 1)])


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

    def step(
        self, key: PRNGKeyArray, level: Level, state: State, actions: Int[Array, "2"]
    ) -> tuple[State, UInt8[Array, "2 5 5 3"], Float[Array, "2"], Bool[Array, ""], Bool[Array, ""], Info]:
        """One step; who acts first is drawn from the key."""
        first = jax.random.bits(key, (), jnp.uint32) >> 31
        state, reward = advance(level, state, actions, first.astype(jnp.int32))
        terminated = ~jnp.all(state.alive)
        truncated = (state.time >= level.time_limit) & ~terminated
        return state, observe(level, state), reward, terminated, truncated, {"score": reward}

    def statistics(self, level: Level) -> dict[str, Float[Array, ""]]:
        """Wall share, size, whether the agents are connected, and the shortest path."""
        return levels.statistics(level)
