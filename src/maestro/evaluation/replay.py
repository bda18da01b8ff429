"""A game once more, with the same dice: what each player saw, and what a trained one expected."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, PRNGKeyArray

from maestro.envs.base import Environment, Level
from maestro.envs.players import Player
from maestro.evaluation.opponents import Trained
from maestro.evaluation.play import Moment, begin, turn
from maestro.trees import Leaf, Tree


class Minds(PyTreeNode):
    """What both players had in mind, T being the steps of the episode that was replayed."""

    obs: Tree  # [T + 1, 2, ...]; what they saw, the end included
    values: Leaf  # [T, 2]; what they expected when they acted, NaN for who has no critic


def value_of(player: Player, memory: Any) -> Float[Array, ""]:
    """The value that a trained player gives to what it remembers now; NaN for any other."""
    if not isinstance(player, Trained):
        return jnp.float32(jnp.nan)
    features = player.agent.features(jax.tree.map(lambda x: x[None], memory))
    return player.agent.value(player.params, features)[0].astype(jnp.float32)


@partial(jax.jit, static_argnames=("env", "steps"))
def minds(key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, steps: int) -> Minds:
    """What went on in the players in the very game that `play.episode` plays with these arguments."""
    first = begin(key, env, level, a, b)

    def step(now: Moment, t: Array) -> tuple[Moment, tuple[Any, Array]]:
        after = turn(key, env, level, a, b, now, t)[0]
        values = [value_of(player, memory) for player, memory in zip((a, b), after.memories, strict=True)]
        return after, (after.obs, jnp.stack(values))

    _, (obs, values) = jax.lax.scan(step, first, jnp.arange(1, steps + 1))
    return Minds(jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first.obs, obs), values)
