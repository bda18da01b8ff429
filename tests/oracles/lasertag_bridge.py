"""Between the package's arrays of LaserTag and the lists of its slow twin."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.lasertag import game, levels
from oracles.lasertag import Bolt, Game

SIDE = levels.SIDE


def level_of(walls: np.ndarray, agents: Any, time_limit: int = 300) -> levels.Level:
    """A level in NumPy from walls with their ring and agents [x, y, dir], in the dtypes of the generator."""
    rows, columns = walls.shape
    grid = np.zeros((SIDE, SIDE), bool)
    grid[:rows, :columns] = walls
    starts = np.array(agents)
    level = levels.Level(
        walls=(grid.astype(np.uint32) << np.arange(SIDE, dtype=np.uint32)).sum(1, dtype=np.uint32),
        height=rows - 2,
        width=columns - 2,
        position=starts[:, 1::-1],
        facing=starts[:, 2],
        time_limit=time_limit,
    )
    template = jax.eval_shape(levels.sample_level, jax.random.key(0))
    return jax.tree.map(lambda x, like: np.asarray(x, like.dtype), level, template)


def stack(trees: list[Any]) -> Any:
    """Many levels or states as one with a leading axis."""
    return jax.tree.map(lambda *xs: np.stack(xs), *trees)


def game_of(level: levels.Level) -> Game:
    """The twin's start on one of the package's levels."""
    rows, columns = int(level.height) + 2, int(level.width) + 2
    bits = np.asarray(level.walls)[:rows, None] >> np.arange(columns, dtype=np.uint32)
    starts = [
        [int(position[1]), int(position[0]), int(facing)]
        for position, facing in zip(np.asarray(level.position), np.asarray(level.facing), strict=True)
    ]
    return Game((bits & 1).astype(bool), list(starts))


def put_bolts(state: game.State, bolts: list[tuple[int, Bolt]]) -> game.State:
    """The state with bolts, each with its place in the processing order, on its empty board."""
    board = np.zeros((SIDE, SIDE), np.uint8)
    for place, bolt in bolts:
        board[bolt.y, bolt.x] = (1 + place) << 3 | bolt.owner << 2 | bolt.dir
    return state.replace(bolts=board)


def agents_of(state: game.State) -> list[list[int] | None]:
    """[x, y, dir] of each agent, None when tagged."""
    poses = [[int(y_x[1]), int(y_x[0])] for y_x in state.position]
    return [[*poses[p], int(state.facing[p])] if state.alive[p] else None for p in range(2)]


def bolts_of(state: game.State) -> list[tuple[int, int, int, int]]:
    """(x, y, dir, owner) of each bolt in processing order."""
    board = np.asarray(state.bolts)
    cells = sorted(zip(*np.nonzero(board), strict=True), key=lambda cell: int(board[cell]))
    return [(int(x), int(y), int(board[y, x]) & 3, int(board[y, x]) >> 2 & 1) for y, x in cells]


class Episodes(NamedTuple):
    """What followed each action: NumPy arrays with leading axes [time, episode]."""

    states: Any
    rewards: np.ndarray  # [T, B, 2]
    obs: np.ndarray  # [T, B, 2, 5, 5, 3]

    def state(self, time: int, episode: int) -> Any:
        """One state."""
        return jax.tree.map(lambda x: x[time, episode], self.states)


@jax.jit
def _play(level: Any, start: Any, actions: Any, first: Any) -> Any:
    def step(state: Any, inputs: Any) -> Any:
        state, reward = jax.vmap(game.advance)(level, state, *inputs)
        return state, (state, reward, jax.vmap(game.observe)(level, state))

    return jax.lax.scan(step, start, (actions, first))[1]


_resets = jax.jit(jax.vmap(game.LaserTag().reset, (None, 0)))


def resets(level: Any) -> tuple[Any, np.ndarray]:
    """The first states and observations on many levels."""
    return jax.tree.map(np.asarray, _resets(jax.random.key(0), level))  # nothing in a reset is random


def play(level: Any, start: Any, actions: np.ndarray, first: np.ndarray) -> Episodes:
    """The package's deterministic core over actions [T, B, 2] and who acts first [T, B], past any tag."""
    out = _play(level, start, jnp.asarray(actions, jnp.int32), jnp.asarray(first, jnp.int32))
    return Episodes(*jax.tree.map(np.asarray, out))
