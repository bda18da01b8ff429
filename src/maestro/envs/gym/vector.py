"""Many games of one seat as Gymnasium sees them, stepped by one call of one compiled program."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from maestro.envs.base import Environment
from maestro.envs.gym.coplayers import as_coplayer, is_function, other_seats
from maestro.envs.gym.match import Match, Outcome, Table, begin, restart, turn
from maestro.envs.gym.spaces import check_actions
from maestro.envs.gym.stage import Stage, as_stage, check_seeds, chosen_level

MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


@partial(jax.jit, static_argnums=1)
def begin_all(keys: Any, table: Table, coplayer: Any, levels: Any) -> Match:
    """A game for each key; `levels` [E], or None to sample them."""
    return jax.vmap(lambda key, level: begin(key, table, coplayer, level))(keys, levels)


@partial(jax.jit, static_argnums=(0, 1))
def turn_all(
    table: Table, same_step: bool, coplayer: Any, matches: Match, actions: Any, over: Any, levels: Any
) -> tuple[Match, Any, Outcome]:
    """(games, observations before new games of the same step, outcomes); those `over` begin in this step."""
    played, outcome = jax.vmap(partial(turn, table, coplayer))(matches, actions)
    if same_step:
        due = outcome.terminated | outcome.truncated
    else:  # what was played after the end never happened
        due, played = over, played.replace(key=jnp.where(over, matches.key, played.key))
        outcome = jax.tree.map(lambda x: (~over.reshape(-1, *[1] * (x.ndim - 1))) * x, outcome)
    return restart(table, coplayer, played, due, levels), played.obs, outcome


def check_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """When a new game begins after the end of one."""
    for known in MODES:
        if mode in (known, known.value):
            return known
    allowed = ", ".join(repr(known.value) for known in MODES)
    raise ValueError(f"autoreset_mode: {mode!r} is unknown; allowed: {allowed}")


def where(there: np.ndarray, own: dict[str, np.ndarray]) -> dict[str, Any]:
    """Numbers of some of the games, and of which, as Gymnasium writes it."""
    named = {name: np.where(there, x, 0) for name, x in own.items()}
    return named | {f"_{name}": there.copy() for name in own}


class Vector(VectorEnv):
    """Many games beside one co-player; with seed s, game i is the single view's game with seed s + i."""

    def __init__(
        self,
        game: Environment | Stage,
        coplayer: Any,
        num_envs: int,
        seat: int = 0,
        level: Any = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ):
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; allowed: 1 and more")
        self.stage, self.num_envs, self.seat = as_stage(game), num_envs, seat
        self.others, player = other_seats(self.stage.env, seat), as_coplayer(coplayer)
        self.function: Any = player if is_function(player) else None  # called outside of the compiled program
        self.coplayer = None if self.function else player
        self.table = Table(self.stage.env, () if self.function else self.others)
        self.mode, self.usual = check_mode(autoreset_mode), self.stage.levels(level, num_envs)
        self.metadata = {**self.stage.metadata, "autoreset_mode": self.mode}
        self.render_mode = self.stage.render_mode
        self.single_observation_space = self.stage.observation_space()
        self.single_action_space = self.stage.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.matches: Match | None = None
        self.over = np.zeros(num_envs, bool)

    def going(self, verb: str) -> Match:
        """The games being played."""
        if self.matches is None:
            raise ResetNeeded(f"{verb}: no game has begun; call reset first")
        return self.matches

    def view(self, obs: Any, seat: int) -> Any:
        """All games' observations of one seat, arrays of their own."""
        return jax.tree.map(lambda x: np.array(np.asarray(x)[:, seat]), obs)

    def reset(self, *, seed: Any = None, options: dict | None = None) -> tuple[Any, dict]:
        """(observations, infos); `options["level"]` is what the first games are played on."""
        if "reset_mask" in (options or {}):
            raise ValueError(
                "options: 'reset_mask' is not allowed; games that are over begin anew by themselves"
            )
        chosen = self.stage.levels(chosen_level(options), self.num_envs)
        seeds = None if seed is None and self.matches else check_seeds(seed, self.num_envs)
        super().reset(seed=None if seeds is None else seeds[0])
        keys = (
            self.going("reset").key if seeds is None else jax.vmap(jax.random.key)(np.array(seeds, np.uint32))
        )
        self.matches = begin_all(keys, self.table, self.coplayer, self.usual if chosen is None else chosen)
        self.over = np.zeros(self.num_envs, bool)
        return self.view(self.matches.obs, self.seat), {}

    def all_actions(self, given: Any) -> np.ndarray:
        """The actions of all agents in all games [E, n]; zeros stand for a co-player's inside the program."""
        env = self.stage.env
        own = check_actions(env, given, "actions", self.num_envs)
        actions = np.zeros((self.num_envs, env.num_agents, *own.shape[1:]), own.dtype)
        actions[:, self.seat] = own
        for other in self.others if self.function else ():
            taken = self.function(self.np_random, self.view(self.going("step").obs, other))
            actions[:, other] = check_actions(
                env, taken, f"the co-player's actions in seat {other}", self.num_envs
            )
        return actions

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        """(observations, rewards, terminated, truncated, infos)."""
        matches, same_step = self.going("step"), self.mode is AutoresetMode.SAME_STEP
        self.matches, last_obs, outcome = turn_all(
            self.table, same_step, self.coplayer, matches, self.all_actions(actions), self.over, self.usual
        )
        outcome = jax.device_get(outcome)
        ended = outcome.terminated | outcome.truncated
        infos = self.infos(self.own(outcome.info), ended, last_obs)
        self.over = np.zeros_like(ended) if same_step else ended
        reward = outcome.reward[:, self.seat].astype(np.float64)
        obs = self.view(self.matches.obs, self.seat)
        return obs, reward, outcome.terminated.copy(), outcome.truncated.copy(), infos

    def own(self, info: dict[str, Any]) -> dict[str, np.ndarray]:
        """What a step tells the seat in each game."""
        return {
            name: np.asarray(x[:, self.seat] if np.ndim(x) > 1 else x, np.float64) for name, x in info.items()
        }

    def infos(self, own: dict[str, np.ndarray], ended: np.ndarray, last_obs: Any) -> dict[str, Any]:
        """What was told and, where new games began in the same step, what belongs to the old ones."""
        if self.mode is AutoresetMode.NEXT_STEP:
            return where(~self.over, own)
        infos = where(~ended, own)
        if ended.any():
            final = self.view(last_obs, self.seat)
            infos["final_obs"], infos["_final_obs"] = np.full(self.num_envs, None), ended.copy()
            for i in np.flatnonzero(ended):
                infos["final_obs"][i] = jax.tree.map(lambda x, i=i: x[i].copy(), final)
            infos["final_info"] = where(ended, own)
            infos["_final_info"] = ended.copy()
        return infos

    def render(self) -> tuple[Any, ...]:
        """Each game in the mode that was asked for."""
        level, state = jax.device_get((self.going("render").level, self.going("render").state))
        both = (jax.tree.map(lambda x, i=i: x[i], (level, state)) for i in range(self.num_envs))
        return tuple(self.stage.render(*one) for one in both)
