"""A game whose books can be checked, players without doubt, and one cycle of training looked into.

Every level pays its own number, so a return shows on which level it was earned; who wins is decided by
rock, paper, scissors alone, so a result shows who has met whom.
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import register_static

from maestro import cohort, curriculum, level_buffer, ppo, train
from maestro.agents.mlp import MLP
from maestro.envs.base import Discrete
from maestro.train import EXPLORE, training_plan
from probes import QUICK, Level, Probe, RockPaperScissors, image, with_changes
from probes import experiment as probe_experiment

BAD = 1000  # levels from this number on pay what is no number
VALUE = 0.25  # that the student gives every state; co-players give another
MEMBERS, SLOTS, WORKERS, PLAYLIST = 2, 8, 8, 4
STEPS, LENGTH = 10, 4  # of a rollout, and of an episode
NOW = 7  # cycles so far
EACH = np.array([1, 2, 0, 1, 1, 2, 0, 2])  # a co-player for each worker
OUTCOMES = {0: 0.5, 1: 1.0, 2: 0.0}  # of the student, by the co-player's slot
AGENT = MLP(layers=(4,), action=Discrete(3), inputs=9)


class Ledger(Probe):
    """The last step pays the first seat the level's number, the second twice its negative."""

    action = Discrete(3)

    def sample_level(self, key):
        return Level(jax.random.randint(key, (), 0, 48), jnp.int32(LENGTH))

    def observe(self, level, state):
        return image(level.number)

    def over(self, level, state, reward):
        return jnp.bool_(False)

    def reward(self, level, state, actions):
        paid = jnp.where(state.time == level.time_limit - 1, level.number, 0)
        return jnp.where(level.number >= BAD, jnp.nan, jnp.stack([paid, -2 * paid]))

    def step(self, key, level, state, actions):
        *result, _ = super().step(key, level, state, actions)
        lead = jnp.array([0, 1, -1])[(actions[0] - actions[1]) % 3]
        return *result, {"score": jnp.stack([lead, -lead]).astype(jnp.float32)}


@register_static
@dataclass(frozen=True)
class Always:
    """A scripted player that takes one action."""

    action: int
    name: str = "always"

    def start(self):
        return ()

    def act(self, key, memory, obs, sight):
        return memory, jnp.int32(self.action)


def certain(action, value=7.0, seed=0):
    """Parameters of one who always takes an action and gives every state a value."""
    params = AGENT.init(jax.random.key(seed))
    for head, bias in (("actor", 50.0 * jax.nn.one_hot(action, 3)), ("critic", jnp.array([value]))):
        last = params[head]["Dense_1"]
        params[head]["Dense_1"] = {"kernel": jnp.zeros_like(last["kernel"]), "bias": bias}
    return params


def students(actions, firsts):
    """A cohort: each seed's student takes one action and its first member another; later members take 0."""

    def made():
        state = cohort.init(probe_experiment(env=RockPaperScissors(), agent=AGENT), 0, len(actions))
        teacher, learner = state.seeds.curriculum, state.seeds.learner
        later = [0] * (teacher.chosen_at.shape[1] - 2)
        rows = [[mine, first, *later] for mine, first in zip(actions, firsts, strict=True)]
        params = jax.vmap(jax.vmap(certain))(jnp.array(rows))
        teacher = teacher.replace(population=teacher.population.replace(params=params))
        learner = learner.replace(params=jax.tree.map(lambda x: x[:, 0], params))
        return state.replace(seeds=state.seeds.replace(learner=learner, curriculum=teacher))

    return jax.jit(made, compiler_options=QUICK)()


def experiment(
    offset: Any = 0, method="maestro", steps=STEPS, curriculum=(), num_levels=None, ppo=(), **schedule
):
    """Small buffers; new levels have numbers from the offset on."""

    def generate(key):
        level = Ledger().sample_level(key)
        return level.replace(number=level.number + offset)

    run = with_changes(
        method=method,
        ppo={"rollout_length": steps, "workers": WORKERS} | dict(ppo),
        curriculum={"buffer_size": SLOTS, "member_buffer_size": SLOTS, "playlist": PLAYLIST}
        | dict(curriculum),
        schedule=schedule,
    )
    return probe_experiment(run, Ledger(), AGENT, generate, num_levels)


def crafted(exp, numbers=None, best=-jnp.inf):
    """The student takes action 2, beats member 1 and loses to member 2; slot i was last chosen in cycle i.

    Slot k of buffer b holds the level 100 b + k + 1, unless other numbers are given.
    """
    state = train.init(jax.random.key(3), exp)
    players = [certain(2, VALUE), certain(1, seed=1), *[certain(0, seed=2)] * (exp.teacher.max_members - 1)]
    population = state.curriculum.population.replace(
        params=jax.tree.map(lambda *x: jnp.stack(x), *players), size=jnp.int32(MEMBERS)
    )
    teacher = state.curriculum.replace(
        population=population,
        buffers=state.curriculum.buffers and full(state.curriculum.buffers, numbers, best),
        chosen_at=jnp.arange(len(players)),
        cycle=jnp.int32(NOW),
    )
    return state.replace(learner=state.learner.replace(params=players[0]), curriculum=teacher)


def full(buffers, numbers, best):
    """Buffers with a level in every slot, without scores; the best returns exceed the numbers by so much."""
    count, slots = buffers.score.shape
    own = 100 * jnp.arange(count)[:, None] + jnp.arange(1, slots + 1)[None, :]
    numbers = own if numbers is None else jnp.full((count, slots), numbers)
    levels = Level(numbers, jnp.full((count, slots), LENGTH))
    digest = jax.vmap(jax.vmap(level_buffer.digest))(levels)
    return buffers.replace(
        levels=levels,
        digest=digest,
        score=jnp.zeros((count, slots)),
        best_return=numbers + jnp.asarray(best, jnp.float32),
        size=jnp.full(count, slots),
    )


class Cycle(NamedTuple):
    """What went in, what came out, and what passed between."""

    before: Any
    after: Any
    metrics: Any
    task: Any
    trajectory: Any
    batch: Any

    @property
    def buffers(self):
        return self.after.curriculum.buffers


@functools.cache
def program(explores, **settings):
    """One cycle of Algorithm 1, by `train.cycle` itself; what passes between its steps is looked at."""

    def traced(offset, numbers, coplayer, updates, best):
        exp = experiment(offset, **settings)
        state, seen = crafted(exp, numbers, best), {}
        plan = EXPLORE if explores else training_plan(exp)
        with pytest.MonkeyPatch.context() as patch:
            for module, name in ((curriculum, "ask"), (train, "rollout"), (ppo, "batch_of")):
                patch.setattr(module, name, noting(seen, name, getattr(module, name)))
            after, metrics = train.cycle(jax.random.key(5), exp, plan, state, coplayer, updates)
        return Cycle(state, after, metrics, seen["ask"], seen["rollout"], seen.get("batch_of"))

    return jax.jit(traced, compiler_options=QUICK)


def noting(seen, name, real):
    """The function itself, whose last result is kept."""

    def call(*arguments, **more):
        seen[name] = real(*arguments, **more)
        return seen[name]

    return call


def cycle(coplayer=1, offset=0, numbers=None, explores=False, updates=0, best=-jnp.inf, **settings):
    """What a cycle does to the crafted state."""
    numbers = None if numbers is None else jnp.int32(numbers)
    run = program(explores, **settings)
    coplayer, updates, best = jnp.asarray(coplayer, jnp.int32), jnp.int32(updates), jnp.float32(best)
    return jax.device_get(run(jnp.int32(offset), numbers, coplayer, updates, best))


def equal(one, other):
    """Whether two trees hold the same numbers."""
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, one, other)))
