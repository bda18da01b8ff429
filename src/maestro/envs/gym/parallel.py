"""A game as PettingZoo sees it: all agents act at once."""

from typing import Any

import numpy as np
from gymnasium import Space
from pettingzoo import ParallelEnv

from maestro.envs.base import Environment
from maestro.envs.gym.session import Session, told_to
from maestro.envs.gym.spaces import check_actions
from maestro.envs.gym.stage import Stage, as_stage


class Parallel(ParallelEnv):
    """All agents act at once; `reset(options={"level": level})` chooses the level of one game."""

    metadata = {"name": "maestro", "render_modes": []}

    def __init__(self, game: Environment | Stage, level: Any = None):
        stage = as_stage(game)
        self.session = Session(stage, level)
        self.metadata, self.render_mode = stage.metadata, stage.render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(stage.env.num_agents)]
        self.agents: list[str] = []
        self.observation_spaces = {name: stage.observation_space() for name in self.possible_agents}
        self.action_spaces = {name: stage.action_space() for name in self.possible_agents}

    def observation_space(self, agent: str) -> Space:
        """The same object for every call, as PettingZoo asks."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """The same object for every call, as PettingZoo asks."""
        return self.action_spaces[agent]

    def views(self) -> dict[str, Any]:
        """Each agent's observation."""
        return {name: self.session.view(seat) for seat, name in enumerate(self.possible_agents)}

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """(observations, infos)."""
        self.session.reset(seed, options)
        self.agents = list(self.possible_agents)
        return self.views(), {name: {} for name in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """(observations, rewards, terminated, truncated, infos) by agent; at the end no agent is left."""
        self.session.going("step", over=False)
        if set(actions) != set(self.agents):
            raise ValueError(f"actions for {sorted(actions)}, but the agents that act are {self.agents}")
        env, names = self.session.stage.env, self.possible_agents
        taken = [check_actions(env, actions[name], f"actions[{name!r}]") for name in names]
        reward, info, terminated, truncated = self.session.step(np.stack(taken))
        if self.session.over:
            self.agents = []
        return (
            self.views(),
            {name: float(reward[seat]) for seat, name in enumerate(names)},
            dict.fromkeys(names, terminated),
            dict.fromkeys(names, truncated),
            {name: told_to(seat, info) for seat, name in enumerate(names)},
        )

    def render(self) -> Any:
        """The state in the mode that was asked for."""
        return self.session.render()

    def close(self) -> None:
        """Nothing is open."""
