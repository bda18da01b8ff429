"""One game after the other, between NumPy outside and the compiled program inside."""

from functools import partial
from typing import Any

import jax
import numpy as np
from gymnasium.error import ResetNeeded

from maestro.envs.base import Level
from maestro.envs.gym.match import Match, Table, begin, turn
from maestro.envs.gym.stage import Stage, check_seed, chosen_level

begin_one = partial(jax.jit, static_argnums=1)(begin)
turn_one = partial(jax.jit, static_argnums=0)(turn)


def told_to(seat: int, info: dict[str, Any]) -> dict[str, float]:
    """What a step tells one agent: its own numbers, and those of the whole game."""
    return {name: float(x[seat] if np.ndim(x) else x) for name, x in info.items()}


class Session:
    """Games on one stage, beside a co-player who has the table's seats."""

    def __init__(self, stage: Stage, level: Any = None, coplayer: Any = None, seats: tuple[int, ...] = ()):
        self.stage, self.coplayer, self.table = stage, coplayer, Table(stage.env, seats)
        self.usual = stage.level(level)  # None: another one is sampled for every game
        self.match: Match | None = None
        self.over = False

    @property
    def level(self) -> Level:
        """The level that is played."""
        return self.going("level").level

    def going(self, verb: str, over: bool = True) -> Match:
        """The game being played, which must have begun and, for a step, must not be over."""
        if self.match is None:
            raise ResetNeeded(f"{verb}: no game has begun; call reset first")
        if self.over and not over:
            raise ResetNeeded(f"{verb}: the game is over; call reset first")
        return self.match

    def reset(self, seed: int | None, options: dict | None) -> None:
        """Begin on `options["level"]`, on the usual level, or on one sampled from the seed."""
        chosen = self.stage.level(chosen_level(options))
        fresh = seed is not None or self.match is None
        key = jax.random.key(check_seed(seed)) if fresh else self.going("reset").key
        self.match = begin_one(key, self.table, self.coplayer, self.usual if chosen is None else chosen)
        self.over = False
        self.show()

    def step(self, actions: Any) -> tuple[np.ndarray, dict[str, Any], bool, bool]:
        """(rewards, info, terminated, truncated) of all agents' actions."""
        match = self.going("step", over=False)
        self.match, outcome = turn_one(self.table, self.coplayer, match, actions)
        outcome = jax.device_get(outcome)
        terminated, truncated = bool(outcome.terminated), bool(outcome.truncated)
        self.over = terminated or truncated
        self.show()
        return outcome.reward, outcome.info, terminated, truncated

    def view(self, seat: int) -> Any:
        """One agent's observation, an array of its own."""
        return jax.tree.map(lambda x: np.array(np.asarray(x)[seat]), self.going("observation").obs)

    def show(self) -> None:
        """People see every state without asking."""
        if self.stage.render_mode == "human":
            self.render()

    def render(self) -> Any:
        """The state in the mode that was asked for."""
        match = self.going("render")
        return self.stage.render(match.level, match.state)
