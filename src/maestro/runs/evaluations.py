"""What a run measures of its students at times: games against fixed opponents, and the regret landscape."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
from jaxtyping import Array, Key, PRNGKeyArray

from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.evaluation import landscape
from maestro.evaluation.opponents import Evaluation, seed_keys
from maestro.games import Game
from maestro.train import Experiment, TrainState

EVALUATION_KEY, LANDSCAPE_KEY = 2**31 - 1, 2**31 - 4  # apart from the key of every seed


@dataclass(frozen=True)
class Evaluations:
    """Both as compiled functions of a state, each made when it is first asked for."""

    config: RunConfig
    experiment: Experiment
    game: Game

    def keys(self, number: int) -> Key[Array, " S"]:
        """A key for each seed, of one purpose."""
        return seed_keys(jax.random.key(number), self.config.seed, self.config.seeds)

    @cached_property
    def games(self) -> Callable[[Cohort], Any]:
        """Games of each student on levels that stay the same."""
        keys, players = self.keys(EVALUATION_KEY), self.game.players
        evaluation = Evaluation(keys, self.config.evaluation, self.experiment, players)
        play = jax.jit(evaluation)
        return lambda state: play(state, evaluation.levels)

    @cached_property
    def landscape(self) -> Callable[[Cohort], Any]:
        """The regret landscape of each student, on levels that are fresh every time."""
        keys, levels = self.keys(LANDSCAPE_KEY), self.config.evaluation.landscape

        def one(key: PRNGKeyArray, updates: Array, state: TrainState) -> dict[str, Array]:
            return landscape.summary(jax.random.fold_in(key, updates), self.experiment, state, levels)

        measure = jax.jit(jax.vmap(one, (0, None, 0)))
        return lambda state: measure(keys, state.updates, state.seeds)
