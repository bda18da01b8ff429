"""One seat of a game as Gymnasium sees it, the other seats played by one co-player."""

from typing import Any

import gymnasium
import numpy as np

from maestro.envs.base import Environment
from maestro.envs.gym.coplayers import as_coplayer, is_function, other_seats
from maestro.envs.gym.session import Session, told_to
from maestro.envs.gym.spaces import check_actions
from maestro.envs.gym.stage import Stage, as_stage


class Single(gymnasium.Env):
    """One seat beside a co-player: a player, scripted or trained, or any function of an observation."""

    metadata = {"render_modes": []}

    def __init__(self, game: Environment | Stage, coplayer: Any, seat: int = 0, level: Any = None):
        stage = as_stage(game)
        self.seat, self.others = seat, other_seats(stage.env, seat)
        player = as_coplayer(coplayer)
        self.function: Any = player if is_function(player) else None  # called outside of the compiled program
        inside = () if self.function else self.others
        self.session = Session(stage, level, None if self.function else player, inside)
        self.metadata, self.render_mode = stage.metadata, stage.render_mode
        self.observation_space, self.action_space = stage.observation_space(), stage.action_space()

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        """(observation, info)."""
        super().reset(seed=seed)
        self.session.reset(seed, options)
        return self.session.view(self.seat), {}

    def all_actions(self, action: Any) -> np.ndarray:
        """The actions of all agents; where the co-player is inside the program, zeros stand for its own."""
        env = self.session.stage.env
        own = check_actions(env, action, "action")
        actions = np.zeros((env.num_agents, *own.shape), own.dtype)
        actions[self.seat] = own
        for other in self.others if self.function else ():
            given = self.function(self.np_random, self.session.view(other))
            actions[other] = check_actions(env, given, f"the co-player's action in seat {other}")
        return actions

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """(observation, reward, terminated, truncated, info)."""
        self.session.going("step", over=False)
        reward, info, terminated, truncated = self.session.step(self.all_actions(action))
        view, told = self.session.view(self.seat), told_to(self.seat, info)
        return view, float(reward[self.seat]), terminated, truncated, told

    def render(self) -> Any:
        """The state in the mode that was asked for."""
        return self.session.render()
