"""Any game here as a PettingZoo `ParallelEnv`, a Gymnasium `Env` of one seat, or thousands of them at once.

Here games, levels and players are values; `maestro.views` takes them by name or file.
"""

try:
    import gymnasium as _gymnasium  # noqa: F401
    import pettingzoo as _pettingzoo  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"maestro.envs.gym needs gymnasium and pettingzoo ({error}): pip install maestro-ued[interop]"
    ) from error

from maestro.envs.gym.parallel import Parallel
from maestro.envs.gym.single import Single
from maestro.envs.gym.spaces import action_space, observation_space
from maestro.envs.gym.stage import Stage
from maestro.envs.gym.vector import Vector

__all__ = ["Parallel", "Single", "Stage", "Vector", "action_space", "observation_space"]
