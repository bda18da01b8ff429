"""One game being played, as pure functions: the views jit them, and the vector view maps them over many."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jax.tree_util import register_static

from maestro.envs.base import Environment, Level
from maestro.envs.players import Sight
from maestro.trees import Leaf, Tree

BLOCKS = 64  # into which many games are divided, so that few begin anew at once


class Match(PyTreeNode):
    """Where a game stands."""

    key: Leaf  # never used before
    level: Tree
    state: Tree
    obs: Tree  # of all agents
    memories: Tree  # of the co-player, one for each seat that it plays


class Outcome(PyTreeNode):
    """What a step brought."""

    reward: Leaf  # [n]
    info: Tree  # dict, always with `score`; of each agent [n], or of the game []
    terminated: Leaf
    truncated: Leaf


@register_static
@dataclass(frozen=True)
class Fixed:
    """A player that is no tree of arrays, as a constant of the program."""

    player: Any

    def start(self) -> Any:
        """The player's own memory."""
        return self.player.start()

    def act(self, key: Any, memory: Any, obs: Any, sight: Sight) -> tuple[Any, Any]:
        """The player's own action."""
        return self.player.act(key, memory, obs, sight)


@dataclass(frozen=True)
class Table:
    """Who sits where: the game, and the seats that a co-player has inside the compiled program."""

    env: Environment
    seats: tuple[int, ...] = ()


def begin(key: Any, table: Table, coplayer: Any, level: Level | None) -> Match:
    """The start of a game on a level, or on one that is sampled."""
    key, level_key, reset_key = jax.random.split(key, 3)
    level = table.env.sample_level(level_key) if level is None else level
    state, obs = table.env.reset(reset_key, level)
    return Match(key, level, state, obs, tuple(coplayer.start() for _ in table.seats))


def turn(table: Table, coplayer: Any, match: Match, actions: Any) -> tuple[Match, Outcome]:
    """One step; the co-player acts in its seats, whatever `actions` [n] holds there."""
    keys = jax.random.split(match.key, 2 + len(table.seats))
    memories = []
    for seat, key, memory in zip(table.seats, keys[2:], match.memories, strict=True):
        view = jax.tree.map(lambda x, seat=seat: x[seat], match.obs)
        memory, action = coplayer.act(key, memory, view, Sight(match.level, match.state, jnp.int32(seat)))
        memories.append(memory)
        actions = actions.at[seat].set(action.astype(actions.dtype))
    result = table.env.step(keys[1], match.level, match.state, actions)
    state, obs, reward, terminated, truncated, info = result
    after = match.replace(key=keys[0], state=state, obs=obs, memories=tuple(memories))
    return after, Outcome(reward, info, terminated, truncated)


def restart(table: Table, coplayer: Any, matches: Match, due: Any, levels: Any) -> Match:
    """Begin the games [E] that are due anew, a block at a time: a new level costs more than a step."""
    num = due.shape[0]
    block = -(-num // BLOCKS)
    order = jnp.nonzero(due, size=-(-num // block) * block, fill_value=num)[0]

    def begin_block(carry: tuple[Any, Match]) -> tuple[Any, Match]:
        done, matches = carry
        some = jax.lax.dynamic_slice(order, (done,), (block,))
        keys, level = jax.tree.map(lambda x: x[some], (matches.key, levels))
        fresh = jax.vmap(partial(begin, table=table, coplayer=coplayer))(keys, level=level)
        return done + block, jax.tree.map(lambda x, y: x.at[some].set(y, mode="drop"), matches, fresh)

    return jax.lax.while_loop(lambda carry: carry[0] < jnp.sum(due), begin_block, (0, matches))[1]
