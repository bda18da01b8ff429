"""Games without network code, each with a best action that is known; a ready agent by its name plays it."""

from dataclasses import dataclass

import jax.numpy as jnp

from maestro.envs.base import Box, Discrete
from maestro.games import Game
from probes import LEVELS, SMALL, Probe, Race, RecallCue, with_changes

PRESETS = {
    "tiny": with_changes(
        SMALL,
        environment=None,
        agent=None,
        seeds=1,
        method="dr-sp",
        ppo={"workers": 32, "epochs": 4, "gamma": 0.5, "learning_rate": 3e-3},
        schedule={"total_updates": 60, "interval": 60},
    )
}


class Aim(Probe):
    """Who aims closer at the level's target wins; targets lie in the whole box, ends included."""

    zero_sum = True
    action = Box(2, -1.0, 3.0)

    def target(self, level):
        """Where to aim, [2]."""
        first = 4 * (level.number / (LEVELS - 1)) - 1
        return jnp.stack([first, 2 - first])

    def observe(self, level, state):
        return {"target": jnp.broadcast_to(self.target(level), (2, 2))}

    def reward(self, level, state, actions):
        off = jnp.mean((actions - self.target(level)[None]) ** 2, axis=-1)
        return jnp.stack([off[1] - off[0], off[0] - off[1]])


class Spot(Race):
    """The only spot on a grid of 5 x 6 is left, in the middle or right; who alone says so wins."""

    action = Discrete(3)

    def place(self, level):
        """Row and column of the spot."""
        return level.number % 5, level.number // 5 % 6

    def observe(self, level, state):
        row, column = self.place(level)
        grid = jnp.zeros((5, 6, 1)).at[row, column].set(1)
        return jnp.broadcast_to(grid, (2, 5, 6, 1))

    def reward(self, level, state, actions):
        right = (actions == self.place(level)[1] // 2).astype(jnp.int32)
        return jnp.stack([right[0] - right[1], right[1] - right[0]])


@dataclass(frozen=True)
class Recall(RecallCue):
    """The cue shows in the first of three steps, and is asked for in the last."""

    length: int = 3

    def observe(self, level, state):
        return super().observe(level, state)[:, 0, :2, 0]


AIM = Game("aim", Aim, "mlp", {"tiny": with_changes(PRESETS["tiny"], ppo={"learning_rate": 1e-3})})
SPOT = Game("spot", Spot, "conv", PRESETS)
RECALL = Game("recall", Recall, "lstm", PRESETS)
RECALL_MLP = Game("recall-mlp", Recall, "mlp", PRESETS)
