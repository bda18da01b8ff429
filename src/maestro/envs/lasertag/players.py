"""Scripted players of LaserTag: opponents that no training ever sees.

All but the hunter know only what an agent sees, its 5 x 5 view; the hunter sees the whole game.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.tree_util import register_static
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt8

from maestro.envs.lasertag import poses
from maestro.envs.lasertag.game import FORWARD, NOOP, SHOOT, TURN_LEFT, TURN_RIGHT, LaserTag, ahead
from maestro.envs.lasertag.views import VIEW
from maestro.envs.players import Memory, Player, Random, Sight

AGENT, BOLT, WALL = range(3)  # channels of a view
HERE, MIDDLE = VIEW - 1, VIEW // 2  # row and column of the player's own cell in its view


def taken(view: UInt8[Array, "5 5 3"], row: int, column: int) -> Bool[Array, ""]:
    """Whether a cell of the view holds anything."""
    return jnp.any(view[row, column] > 0)


def target_ahead(view: UInt8[Array, "5 5 3"]) -> Bool[Array, ""]:
    """Whether the other agent stands straight ahead, 2 to 4 cells away, with no wall between."""
    lane = view[:HERE, MIDDLE]
    nearer = jnp.cumsum(lane[::-1, WALL])[::-1]  # walls from the player up to each cell
    return jnp.any((lane[:-1, AGENT] > 0) & (nearer[:-1] == 0))


@register_static
@dataclass(frozen=True)
class Turret:
    """Never moves: shoots and turns in alternation, and keeps its aim while it sees a target."""

    name: str = "turret"

    def start(self) -> Memory:
        """Whether it is time to turn."""
        return jnp.bool_(False)

    def act(
        self, key: PRNGKeyArray, memory: Memory, obs: UInt8[Array, "5 5 3"], sight: Sight
    ) -> tuple[Memory, Int[Array, ""]]:
        """Shoot, then turn right unless a target is ahead."""
        turns = memory & ~target_ahead(obs)
        return ~memory, jnp.where(turns, TURN_RIGHT, SHOOT)


HESITATION = 0.1  # how often the hunter waits, so that two players do not circle a wall forever
STRAIGHT, FOLLOWING, TURNED = range(3)


@register_static
@dataclass(frozen=True)
class WallFollower:
    """Keeps a wall to its right and shoots at whoever it meets."""

    name: str = "wall-follower"

    def start(self) -> Memory:
        """No wall found yet."""
        return jnp.int32(STRAIGHT)

    def act(
        self, key: PRNGKeyArray, memory: Memory, obs: UInt8[Array, "5 5 3"], sight: Sight
    ) -> tuple[Memory, Int[Array, ""]]:
        """Around an outer corner turn right and step; before an obstacle turn left; else go on."""
        wall = obs[HERE, MIDDLE + 1, WALL] > 0
        corner = (memory == FOLLOWING) & ~wall
        walk = jnp.where(taken(obs, HERE - 1, MIDDLE), TURN_LEFT, FORWARD)
        action = jnp.where(corner, TURN_RIGHT, walk)
        phase = jnp.where(corner, TURNED, jnp.where(wall, FOLLOWING, STRAIGHT))
        shoots = target_ahead(obs) & (memory != TURNED)
        action = jnp.where(shoots, SHOOT, action)
        return jnp.where(shoots, memory, phase), action


among = jax.vmap(poses.holds, in_axes=(None, 0, 0))


def next_poses(position: Any, facing: Any, clear: Any) -> tuple[Int[Array, "5 2"], Int[Array, "5"]]:
    """Cell and facing after each of the actions; `clear`: nothing is in the cell ahead."""
    front = jnp.where(clear, ahead(position, facing), position)
    cells = jnp.tile(position[None], (5, 1)).at[FORWARD].set(front)
    return cells, jnp.tile(facing[None], 5).at[TURN_LEFT].add(3).at[TURN_RIGHT].add(1) % 4


@register_static
@dataclass(frozen=True)
class Hunter:
    """Takes the shortest way to where it can hit the other agent, shoots, and dodges or parries bolts.

    It sees the whole map, both agents and where every bolt flies, which no trained agent does.
    """

    name: str = "hunter"

    def start(self) -> Memory:
        """Nothing: it sees all it needs."""
        return ()

    def act(
        self, key: PRNGKeyArray, memory: Memory, obs: UInt8[Array, "5 5 3"], sight: Sight
    ) -> tuple[Memory, Int[Array, ""]]:
        """First survive, also if the other shoots now; then shoot or get nearer to a shot; else wait."""
        state, seats = sight.state, (sight.seat, 1 - sight.seat)
        (position, facing), (other, their_facing) = [(state.position[i], state.facing[i]) for i in seats]
        floor, bolts = poses.floor(sight.level, other), poses.bolts(state.bolts)
        shot, their_shot = [
            poses.within(poses.only(ahead(cell, way), way), floor & ~poses.union(bolts))
            for cell, way in ((position, facing), (other, their_facing))
        ]
        clear = jnp.any(shot > 0)
        after = next_poses(position, facing, clear)

        def lives(more):
            """Whether each action can be survived if `more` bolts are fired in this step."""
            parry = poses.holds(poses.parrying(floor, bolts), position, facing)
            fires = poses.holds(poses.survivable(floor, bolts, more | shot), position, facing)
            return among(poses.survivable(floor, bolts, more), *after).at[SHOOT].set(parry | fires)

        aiming, target = poses.aiming(floor, other), poses.only(other, their_facing)
        aimed = poses.holds(aiming, position, facing)
        meets = poses.meets(floor | poses.union(target), shot, target)
        nearer = among(poses.nearer(floor, aiming, position, facing), *after) & ~aimed
        noise = jax.random.uniform(key, (6,))
        wanted = nearer.at[SHOOT].set(clear & (aimed | meets)) & (noise[5] > HESITATION)
        safe, safer = jax.vmap(lives)(jnp.stack([jnp.zeros_like(shot), their_shot]))
        score = 8.0 * safe + 4.0 * safer + 2.0 * wanted + 0.1 * noise[:5]
        return memory, jnp.argmax(score.at[NOOP].add(0.3)).astype(jnp.int32)


PLAYERS: dict[str, Player] = {
    player.name: player for player in (Random(LaserTag.action), Turret(), WallFollower(), Hunter())
}
