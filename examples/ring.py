"""Two players on a ring: who stands still while the other steps onto it is caught."""

from dataclasses import dataclass
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode

from maestro.config import Range
from maestro.envs.base import Discrete
from maestro.games import Drawing, Game

BACK, STAY, AHEAD = range(3)


class Level(PyTreeNode):
    size: Any  # cells of the ring
    start: Any  # [2]; where each player starts
    time_limit: Any  # steps


class State(PyTreeNode):
    position: Any  # [2]
    time: Any  # steps played


def observe(level, state):
    """How many cells ahead of each player the other one is, and how many behind: [2]."""
    ahead = (state.position[::-1] - state.position) % level.size
    return {"ahead": ahead / 8.0, "behind": (level.size - ahead) / 8.0}


@dataclass(frozen=True)
class Ring:
    max_size: Annotated[int, Range(4, 1000)] = 12
    """Cells of the largest ring."""

    num_agents = 2
    zero_sum = True
    action = Discrete(3)

    def sample_level(self, key):
        size_key, first_key, apart_key = jax.random.split(key, 3)
        size = jax.random.randint(size_key, (), 4, self.max_size + 1)
        first = jax.random.randint(first_key, (), 0, size)
        apart = jax.random.randint(apart_key, (), 2, size - 1)
        start = jnp.stack([first, first + apart]) % size
        return Level(size=size, start=start, time_limit=jnp.int32(30))

    def reset(self, key, level):
        state = State(position=level.start, time=jnp.int32(0))
        return state, observe(level, state)

    def step(self, key, level, state, actions):
        position = (state.position + actions - STAY) % level.size
        stood = actions == STAY
        caught = stood & ~stood[::-1] & (position[0] == position[1])
        reward = jnp.where(caught[::-1], 1.0, 0.0) - jnp.where(caught, 1.0, 0.0)
        state = State(position=position, time=state.time + 1)
        obs, over = observe(level, state), jnp.any(caught)
        truncated = (state.time >= level.time_limit) & ~over
        return state, obs, reward, over, truncated, {"score": reward}

    def statistics(self, level):
        return {"size": level.size.astype(jnp.float32)}


def draw(level, state):
    a, b = map(int, state.position)
    signs = {a: "A", b: "B"} if a != b else {a: "X"}
    return " ".join(signs.get(cell, "·") for cell in range(int(level.size)))


GAME = Game("ring", Ring, "mlp", draw=Drawing(draw))
