"""Any game here as a PettingZoo `ParallelEnv`, or as a Gymnasium `Env` of one agent beside co-players."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.base import Discrete, Environment, Level, observation_shape
from maestro.envs.players import Sight

try:
    import gymnasium
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(
        f"maestro.envs.gym needs gymnasium and pettingzoo ({error}): pip install maestro-ued[interop]"
    ) from error


def observation_space(shape: Any) -> spaces.Space:
    """The space of one agent's observation, an array or a dict of arrays, given its shapes."""
    if isinstance(shape, dict):
        return spaces.Dict({name: observation_space(part) for name, part in shape.items()})
    if not isinstance(shape, jax.ShapeDtypeStruct):
        raise TypeError(f"observation is a {type(shape).__name__}; allowed: an array, or a dict of arrays")
    dtype = np.dtype(shape.dtype)
    if np.issubdtype(dtype, np.bool_):
        return spaces.MultiBinary(shape.shape)
    if np.issubdtype(dtype, np.integer):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return spaces.Box(low, high, shape.shape, dtype.type)
    return spaces.Box(-np.inf, np.inf, shape.shape, dtype.type)


def action_space(env: Environment) -> spaces.Space:
    """The space of one agent's action."""
    if isinstance(env.action, Discrete):
        return spaces.Discrete(env.action.num)
    return spaces.Box(env.action.low, env.action.high, (env.action.size,), np.float32)


@partial(jax.jit, static_argnums=0)
def _sample_level(env: Any, key: Any) -> Any:
    return env.sample_level(key)


@partial(jax.jit, static_argnums=0)
def _reset(env: Any, key: Any, level: Any) -> Any:
    return env.reset(key, level)


@partial(jax.jit, static_argnums=0)
def _step(env: Any, key: Any, level: Any, state: Any, actions: Any) -> Any:
    return env.step(key, level, state, actions)


@partial(jax.jit, static_argnums=0)
def _act(player: Any, key: Any, memory: Any, obs: Any, sight: Any) -> Any:
    return player.act(key, memory, obs, sight)


class Session:
    """One game being played: its key, level, state and the last observation of all agents."""

    def __init__(self, env: Environment):
        self.env = env
        self._key: Any = None
        self.level: Level = None
        self.state: Any = None
        self.obs: Any = None

    def next_key(self) -> Any:
        """A key that was never used."""
        self._key, key = jax.random.split(self._key)
        return key

    def reset(self, seed: int | None, options: dict | None) -> None:
        """Start on `options["level"]`, or on a level sampled from the seed; other options are ignored."""
        if seed is not None or self._key is None:
            self._key = jax.random.key(secrets.randbits(31) if seed is None else seed)
        level_key, reset_key = self.next_key(), self.next_key()
        given = (options or {}).get("level")
        self.level = _sample_level(self.env, level_key) if given is None else given
        self.state, self.obs = _reset(self.env, reset_key, self.level)

    def step(self, actions: Any) -> tuple[np.ndarray, bool, bool, dict[str, np.ndarray]]:
        """(rewards, terminated, truncated, info) in NumPy."""
        dtype = jnp.int32 if isinstance(self.env.action, Discrete) else jnp.float32
        actions = jnp.asarray(np.stack(actions), dtype)
        result = _step(self.env, self.next_key(), self.level, self.state, actions)
        self.state, self.obs, reward, terminated, truncated, info = result
        return np.asarray(reward), bool(terminated), bool(truncated), jax.tree.map(np.asarray, info)

    def view(self, seat: int) -> Any:
        """One agent's observation in NumPy."""
        return jax.tree.map(lambda x: np.asarray(np.asarray(x)[seat]), self.obs)


class Parallel(ParallelEnv):
    """All agents act at once; `reset(options={"level": level})` chooses the level."""

    metadata = {"name": "maestro", "render_modes": []}
    render_mode = None

    def __init__(self, env: Environment):
        self.session = Session(env)
        self.possible_agents = [f"player_{seat}" for seat in range(env.num_agents)]
        self.agents: list[str] = []
        view = observation_shape(env)
        self.observation_spaces = {name: observation_space(view) for name in self.possible_agents}
        self.action_spaces = {name: action_space(env) for name in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space:
        """The same object for every call, as PettingZoo asks."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
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
        if set(actions) != set(self.agents):
            raise ValueError(f"actions for {sorted(actions)}, but the agents that act are {self.agents}")
        if not self.agents:
            raise ValueError("no agent is left to act: reset first")
        names = self.possible_agents
        reward, terminated, truncated, info = self.session.step([actions[name] for name in names])
        if terminated or truncated:
            self.agents = []
        return (
            self.views(),
            {name: float(reward[seat]) for seat, name in enumerate(names)},
            dict.fromkeys(names, terminated),
            dict.fromkeys(names, truncated),
            {name: {"score": float(info["score"][seat])} for seat, name in enumerate(names)},
        )

    def render(self) -> None:
        """Nothing: games are drawn by the functions beside them."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Reaction:
    """A function (key, obs) -> action as a player without memory."""

    function: Callable[[Any, Any], Any]

    def start(self) -> tuple:
        return ()

    def act(self, key: Any, memory: tuple, obs: Any, sight: Sight) -> tuple[tuple, Any]:
        del sight
        return memory, self.function(key, obs)


class Single(gymnasium.Env):
    """One seat of a game, the other seats played by one fixed co-player: a scripted player or a function."""

    metadata = {"render_modes": []}

    def __init__(self, env: Environment, coplayer: Any, seat: int = 0):
        if not 0 <= seat < env.num_agents:
            raise ValueError(f"seat is {seat}; allowed: 0 to {env.num_agents - 1}")
        self.session, self.seat = Session(env), seat
        self.coplayer = coplayer if hasattr(coplayer, "act") else Reaction(coplayer)
        self.observation_space = observation_space(observation_shape(env))
        self.action_space = action_space(env)
        self.memories: dict[int, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        """(observation, info)."""
        super().reset(seed=seed)
        self.session.reset(seed, options)
        others = set(range(self.session.env.num_agents)) - {self.seat}
        self.memories = {other: self.coplayer.start() for other in sorted(others)}
        return self.session.view(self.seat), {}

    def coplayer_action(self, other: int) -> Any:
        """What the co-player does in another seat."""
        session = self.session
        obs = jax.tree.map(lambda x: x[other], session.obs)
        sight = Sight(level=session.level, state=session.state, seat=jnp.int32(other))
        memory, key = self.memories[other], session.next_key()
        self.memories[other], action = _act(self.coplayer, key, memory, obs, sight)
        return np.asarray(action)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """(observation, reward, terminated, truncated, info)."""
        taken = {other: self.coplayer_action(other) for other in self.memories} | {self.seat: action}
        reward, terminated, truncated, info = self.session.step([taken[seat] for seat in sorted(taken)])
        view = self.session.view(self.seat)
        return (
            view,
            float(reward[self.seat]),
            terminated,
            truncated,
            {"score": float(info["score"][self.seat])},
        )
