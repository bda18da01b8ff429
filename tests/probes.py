"""Tiny two-player games whose values, best actions or episode ends are known, and small agents for them."""

import sys
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode

from maestro import cohort, config, methods, train
from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import CurriculumConfig, Given, PPOConfig, RunConfig, ScheduleConfig
from maestro.curriculum import Teacher
from maestro.envs.base import Discrete
from maestro.games import Game
from quick import QUICK as QUICK

VIEW = (3, 3, 1)
LEVELS = 48
THREE = Discrete(3)


compiled = jax.jit


def quick_jit(function, **options):
    """In place of `jax.jit`: compiles quickly what is not the package's own, which others may inline."""
    ours = str(sys._getframe(1).f_globals.get("__name__")).startswith("maestro.")
    return compiled(function, **options, **({} if ours else {"compiler_options": QUICK}))


class Level(PyTreeNode):
    number: Any
    time_limit: Any


class State(PyTreeNode):
    cue: Any  # 0 or 1, drawn at the start of an episode
    time: Any


def image(*numbers):
    """A 3 x 3 view for each of two agents whose first cells hold some numbers."""
    cells = jnp.stack([jnp.asarray(n, jnp.float32) for n in numbers])
    return jnp.broadcast_to(jnp.zeros(9).at[: cells.size].set(cells).reshape(VIEW), (2, *VIEW))


@dataclass(frozen=True)
class Probe:
    """Both agents see the cue and get 1 for acting at all; the game is over after `length` steps."""

    length: int = 1
    num_agents = 2
    zero_sum = False
    action = Discrete(2)

    def sample_level(self, key):
        return Level(jax.random.randint(key, (), 0, LEVELS), jnp.int32(1000))

    def reset(self, key, level):
        state = State(cue=jax.random.bernoulli(key).astype(jnp.int32), time=jnp.int32(0))
        return state, self.observe(level, state)

    def observe(self, level, state):
        return image(1)

    def reward(self, level, state, actions):
        return jnp.ones(2)

    def over(self, level, state, reward):
        return state.time >= self.length

    def step(self, key, level, state, actions):
        reward = self.reward(level, state, actions).astype(jnp.float32)
        state = state.replace(time=state.time + 1)
        terminated = self.over(level, state, reward)
        truncated = (state.time >= level.time_limit) & ~terminated
        return state, self.observe(level, state), reward, terminated, truncated, {"score": reward}

    def statistics(self, level):
        return {"number": level.number.astype(jnp.float32)}


class ObservedReward(Probe):
    """The reward is 1 or -1 as the observation says."""

    def observe(self, level, state):
        return image(2 * state.cue - 1)

    def reward(self, level, state, actions):
        return jnp.full(2, 2 * state.cue - 1)


class LateReward(Probe):
    """The observation is the time; the reward of 1 comes with the last step."""

    def observe(self, level, state):
        return image(1, state.time)

    def reward(self, level, state, actions):
        return jnp.full(2, state.time == self.length - 1)


class TimeLimit(Probe):
    """A reward of 1 in every step, and episodes that only a time limit cuts."""

    def sample_level(self, key):
        return Level(jnp.int32(0), jnp.int32(2))

    def over(self, level, state, reward):
        return jnp.bool_(False)


class FollowCue(ObservedReward):
    """1 for the action that the observation names, else -1."""

    def reward(self, level, state, actions):
        return jnp.where(actions == state.cue, 1, -1)


class RecallCue(FollowCue):
    """The cue shows in the first step only, and only the last step's action is paid."""

    def observe(self, level, state):
        return image(jnp.where(state.time == 0, 2 * state.cue - 1, 0), state.time == self.length - 1)

    def reward(self, level, state, actions):
        return jnp.where(state.time == self.length - 1, super().reward(level, state, actions), 0)


class RockPaperScissors(Probe):
    """Action a beats action a - 1, modulo 3."""

    zero_sum = True
    action = Discrete(3)

    def reward(self, level, state, actions):
        lead = (actions[0] - actions[1]) % 3
        won = jnp.where(lead == 2, -1, lead)
        return jnp.stack([won, -won])


class Race(Probe):
    """Who alone chooses the action that the level asks for wins; 2 to 5 steps, then a draw.

    The level's number decides the action and the time limit, so there are 48 levels.
    """

    zero_sum = True
    action = Discrete(3)

    def sample_level(self, key):
        number = jax.random.randint(key, (), 0, LEVELS)
        return Level(number, 2 + number % 4)

    def edit(self, key, level, changes=5):
        """The numbers nearby; what a level asks for and its limit follow."""
        number = (level.number + jax.random.randint(key, (), 1, changes + 1)) % LEVELS
        return Level(number, 2 + number % 4)

    def observe(self, level, state):
        return image(*(level.number % 3 == i for i in range(3)), state.time / 4, level.number / LEVELS)

    def reward(self, level, state, actions):
        right = (actions == level.number % 3).astype(jnp.int32)
        return jnp.stack([right[0] - right[1], right[1] - right[0]])

    def over(self, level, state, reward):
        return reward[0] != 0


@dataclass(frozen=True)
class SmallAgent(ConvLSTM):
    """The paper's network, small enough for a probe."""

    filters: int = 4
    hidden: int = 8
    heads: tuple[int, ...] = (8,)
    action: Annotated[Any, Given] = THREE
    view: tuple[int, int, int] = VIEW


@dataclass(frozen=True)
class ForgetfulAgent(SmallAgent):
    """The same network without memory: every step is a first step."""

    def step(self, weights, memory, obs):
        return super().step(weights, jax.tree.map(jnp.zeros_like, memory), obs)

    def unroll(self, params, obs, keep):
        return super().unroll(params, obs, jnp.zeros_like(keep))


@dataclass(frozen=True)
class CountingAgent(SmallAgent):
    """Counts how often a minibatch is learned from, once for each seed, when it really happens."""

    executed: list = field(default_factory=list, compare=False)

    def unroll(self, params, obs, keep):
        jax.debug.callback(lambda _: self.executed.append(obs.shape), params["lstm"]["b"][0])
        return super().unroll(params, obs, keep)


SMALL = RunConfig(
    seeds=2,
    ppo=PPOConfig(rollout_length=16, workers=8, epochs=2, minibatches=2, learning_rate=1e-2),
    curriculum=CurriculumConfig(buffer_size=16, member_buffer_size=8, playlist=2),
    schedule=ScheduleConfig(total_updates=8, interval=2),
)


RACE = Game("race", Race, SmallAgent, {"tiny": SMALL})
SMALL = RACE.presets["tiny"]


def with_changes(run=SMALL, **changes):
    """A configuration with some fields of its parts replaced: `curriculum={"score": ...}`."""
    parts = {k: replace(getattr(run, k), **v) if isinstance(v, dict) else v for k, v in changes.items()}
    return replace(run, **parts)


def experiment(run=SMALL, env=None, agent=None, generate=None, num_levels=None):
    """The experiment that a configuration describes, on a probe game."""
    env = env or Race()
    members = config.population_size(run.schedule)
    method = methods.METHODS[run.method]
    generate = generate or env.sample_level
    edit = getattr(env, "edit", None)
    teacher = Teacher(run.curriculum, method, generate, run.ppo.workers, members, num_levels, edit)
    return train.Experiment(env, agent or SmallAgent(), teacher, run.ppo, run.schedule)


def start(exp, seed, seeds):
    """The state before training."""
    return jax.jit(lambda: cohort.init(exp, seed, seeds), compiler_options=QUICK)()


def record(exp, state, cycles):
    """Single cycles of one compiled program: (states [cycles + 1], metrics [cycles], programs compiled)."""
    step = jax.jit(lambda s: cohort.train_step(exp, s), compiler_options=QUICK)
    states, metrics = [jax.device_get(state)], []
    for _ in range(cycles):
        state, measured = step(state)
        states.append(jax.device_get(state))
        metrics.append(jax.device_get(measured))
    jax.effects_barrier()
    return states, metrics, step._cache_size()
