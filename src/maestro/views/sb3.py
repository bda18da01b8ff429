"""The vector view as Stable-Baselines3 asks for it: `PPO("MlpPolicy", StableVecEnv(views.vector(...)))`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from maestro.envs.gym import Vector

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError(
        f"maestro.views.sb3 needs stable-baselines3 ({error}): pip install maestro-ued[sb3]"
    ) from error


class StableVecEnv(VecEnv):
    """Many games in one compiled program as Stable-Baselines3's `VecEnv`."""

    def __init__(self, vector: Vector):
        if vector.mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f"autoreset_mode: {vector.mode.value!r}; Stable-Baselines3 needs 'SameStep'")
        self.vector = vector
        self.actions: Any = None
        super().__init__(vector.num_envs, vector.single_observation_space, vector.single_action_space)

    def reset(self) -> Any:
        """The first observations, with the seeds that were set before."""
        seeds = None if None in self._seeds else self._seeds
        obs, _ = self.vector.reset(seed=seeds, options=self._options[0] or None)
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict]]:
        """(observations, rewards, done, infos) after the actions that were kept."""
        obs, reward, terminated, truncated, told = self.vector.step(self.actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(terminated | truncated):
            infos[i] = {
                "terminal_observation": told["final_obs"][i],
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                **{name: float(x[i]) for name, x in told["final_info"].items() if name[0] != "_"},
            }
        return obs, reward.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each game."""
        return list(self.vector.render())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """What all games share."""
        return [getattr(self.vector, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: no game has settings of its own."""
        raise AttributeError(f"{attr_name}: the games of a vector view share all that is fixed")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refused: no game has methods of its own."""
        raise AttributeError(f"{method_name}: the games of a vector view have no methods of their own")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No game is."""
        return [False] * len(list(self._get_indices(indices)))
