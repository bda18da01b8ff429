"""The contract checker passes sound games and names the clause that an unsound one breaks."""

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax.struct import PyTreeNode

from maestro.envs import ContractError, check
from maestro.envs.base import Box, Discrete
from maestro.envs.contract import CLAUSES
from maestro.envs.lasertag import text
from maestro.envs.lasertag.game import LaserTag


class Level(PyTreeNode):
    goal: Any
    time_limit: Any


class State(PyTreeNode):
    total: Any  # [3]
    time: Any


@dataclass(frozen=True)
class Walk:
    """Three players add to their totals; each is paid its push, and one of them may reach the goal."""

    num_agents = 3
    zero_sum = False
    action = Box(1, -1.0, 1.0)

    def sample_level(self, key):
        return Level(goal=jax.random.uniform(key, (), minval=1.0, maxval=2.0), time_limit=jnp.int32(20))

    def reset(self, key, level):
        state = State(total=jax.random.uniform(key, (3,)) / 10, time=jnp.int32(0))
        return state, self.observe(level, state)

    def observe(self, level, state):
        return {"total": state.total, "left": jnp.full(3, level.time_limit - state.time)}

    def step(self, key, level, state, actions):
        state = State(total=state.total + actions[:, 0], time=(state.time + 1).astype(jnp.int32))
        terminated = jnp.any(state.total > level.goal)
        truncated = (state.time >= level.time_limit) & ~terminated
        reward = actions[:, 0]
        return state, self.observe(level, state), reward, terminated, truncated, {"score": reward}

    def statistics(self, level):
        return {"goal": level.goal}


def to_text(level):
    return f"{float(level.goal)!r} {int(level.time_limit)}"


def from_text(line):
    goal, limit = line.split()
    return Level(goal=jnp.float32(goal), time_limit=jnp.int32(limit))


class NoAction(Walk):
    action = None


class OneReward(Walk):
    def step(self, *args):
        state, obs, reward, *rest = super().step(*args)
        return state, obs, reward[:2], *rest


class NoScore(Walk):
    def step(self, *args):
        return (*super().step(*args)[:5], {"points": jnp.zeros(3)})


class ChangesDtype(Walk):
    def reset(self, key, level):
        state, obs = super().reset(key, level)
        return state.replace(time=jnp.float32(0)), obs


class KnowsItsTracer(Walk):
    def step(self, key, level, state, actions):
        traced = isinstance(state.total, jax.core.Tracer)
        return super().step(key, level, state, actions + 0.5 * traced)


@jax.custom_batching.custom_vmap
def alone(x):
    return x


@alone.def_vmap
def _(size, batched, x):
    return x + 1, batched[0]


class KnowsItsBatch(Walk):
    def step(self, key, level, state, actions):
        return super().step(key, level, state.replace(total=alone(state.total)), actions)


COUNTER = itertools.count()


class RemembersPlay(Walk):
    def step(self, *args):
        next(COUNTER)
        return super().step(*args)

    def reset(self, key, level):
        state, obs = super().reset(key, level)
        return state.replace(total=state.total + next(COUNTER)), obs


class Branches(Walk):
    def step(self, key, level, state, actions):
        if state.time > 1000:
            actions = actions / 2
        return super().step(key, level, state, actions)


class DrawsOutside(Walk):
    def step(self, key, level, state, actions):
        late = jnp.where(state.time > 5, next(COUNTER), 0)  # a jitted program keeps what it drew when traced
        return super().step(key, level, state, actions + late)


class DrawsLevelsOutside(Walk):
    def sample_level(self, key):
        return super().sample_level(jax.random.fold_in(key, next(COUNTER)))


class Divides(Walk):
    def observe(self, level, state):
        return {"total": state.total * 0 / jnp.where(state.time == 7, 0.0, 1.0)}


class DividesOnSomeLevels(Walk):
    """Broken on about one level in ten."""

    def observe(self, level, state):
        obs = super().observe(level, state)
        return obs | {"total": obs["total"] * jnp.where(level.goal > 1.9, jnp.nan, 1.0)}


class NaNAtReset(Walk):
    def reset(self, key, level):
        state, obs = super().reset(key, level)
        return state, obs | {"total": obs["total"] * jnp.nan}


class PaysInfinity(Walk):
    def step(self, *args):
        state, obs, reward, *rest = super().step(*args)
        return state, obs, jnp.where(state.time == 9, jnp.inf, reward), *rest


class StatisticsOnSomeLevels(Walk):
    def statistics(self, level):
        return {"goal": 1 / jnp.maximum(0.0, 1.9 - level.goal)}


class EndsEarly(Walk):
    """Truncated half-way on some levels."""

    def step(self, key, level, state, actions):
        early = jnp.where(level.goal > 1.9, 10, level.time_limit)
        return super().step(key, level.replace(time_limit=early), state, actions)


class BeyondItsBounds(Walk):
    """Nothing is left only when the time is over."""

    observation_bounds = {"left": (1, 20)}


class BeyondItsBoundsAtReset(Walk):
    observation_bounds = {"left": (0, 19)}


class Late(Walk):
    def step(self, key, level, state, actions):
        return super().step(key, level.replace(time_limit=level.time_limit + 1), state, actions)


class BothEnds(Walk):
    def step(self, *args):
        state, obs, reward, terminated, truncated, info = super().step(*args)
        return state, obs, reward, terminated | truncated, truncated, info


class ManyEnds(Walk):
    def step(self, *args):
        state, obs, reward, terminated, truncated, info = super().step(*args)
        return state, obs, reward, terminated.astype(jnp.int32), truncated, info


class ClaimsZeroSum(Walk):
    zero_sum = True


class VectorStatistics(Walk):
    def statistics(self, level):
        return {"goal": jnp.stack([level.goal, level.goal])}


class Editable(Walk):
    def edit(self, key, level, changes=5):
        return level.replace(goal=level.goal + jax.random.uniform(key) * changes / 100)


class EditsIntoAnotherShape(Editable):
    def edit(self, *args):
        return super().edit(*args).replace(time_limit=jnp.float32(20))


class EditsDifferently(Editable):
    def edit(self, *args):
        return super().edit(*args).replace(goal=jnp.float32(next(COUNTER)))


class OneChangeOnly(Editable):
    def edit(self, key, level, changes=1):
        return super().edit(key, level, changes)


class EditsIntoNothing(Editable):
    def edit(self, *args):
        return super().edit(*args).replace(goal=jnp.float32(jnp.nan))


class EditsBeyondItsBounds(Editable):
    observation_bounds = {"left": (0, 100)}

    def edit(self, *args):
        return super().edit(*args).replace(time_limit=jnp.int32(101))


class EditsWhatCannotBeMeasured(Editable):
    def statistics(self, level):
        return {"goal": 1 / (level.goal < 2.2)}

    def edit(self, *args):
        return super().edit(*args).replace(goal=jnp.float32(3))


BROKEN = [
    ("interface", NoAction),
    ("agents lead", OneReward),
    ("score", NoScore),
    ("constant shapes", ChangesDtype),
    ("jit equals eager", KnowsItsTracer),
    ("vmap equals a loop", KnowsItsBatch),
    ("reset forgets", RemembersPlay),
    ("can be scanned", Branches),
    ("same key, same steps", DrawsOutside),
    ("same key, same steps", DrawsLevelsOutside),
    ("finite", Divides),
    ("finite", DividesOnSomeLevels),
    ("finite", NaNAtReset),
    ("finite", PaysInfinity),
    ("observation bounds", BeyondItsBounds),
    ("observation bounds", BeyondItsBoundsAtReset),
    ("time limit", Late),
    ("time limit", EndsEarly),
    ("statistics", StatisticsOnSomeLevels),
    ("one end", BothEnds),
    ("one end", ManyEnds),
    ("zero sum", ClaimsZeroSum),
    ("statistics", VectorStatistics),
    ("edits", EditsIntoAnotherShape),
    ("edits", EditsDifferently),
    ("edits", OneChangeOnly),
    ("edits", EditsIntoNothing),
    ("edits", EditsBeyondItsBounds),
    ("edits", EditsWhatCannotBeMeasured),
]


# Breaking one of the others breaks a second clause with it.
ALONE = {NoScore, KnowsItsTracer, KnowsItsBatch, Divides, Late, BothEnds, ClaimsZeroSum, VectorStatistics}
ALONE |= {DividesOnSomeLevels, NaNAtReset, PaysInfinity, EndsEarly, StatisticsOnSomeLevels}
ALONE |= {BeyondItsBounds, BeyondItsBoundsAtReset}
ALONE |= {game for clause, game in BROKEN if clause == "edits"}


def test_lasertag_keeps_every_clause():
    assert check(LaserTag(), text.to_text, text.parse) == tuple(CLAUSES)


def test_a_game_of_three_with_real_actions_keeps_every_clause():
    assert check(Editable(), to_text, from_text) == tuple(CLAUSES)


@pytest.mark.parametrize(("clause", "game"), BROKEN, ids=[game.__name__ for _, game in BROKEN])
def test_a_broken_clause_is_named(clause, game):
    with pytest.raises(ContractError) as caught:
        check(game())
    assert clause in caught.value.broken
    assert game not in ALONE or len(caught.value.broken) == 1, "a sound clause is blamed too"
    assert f"{clause}: {caught.value.broken[clause]}" in str(caught.value)


def test_a_level_that_does_not_survive_its_file_is_named():
    with pytest.raises(ContractError) as caught:
        check(Walk(), lambda level: f"{float(level.goal):.2f} {int(level.time_limit)}", from_text)
    assert list(caught.value.broken) == ["levels round-trip"]
    assert "goal" in caught.value.broken["levels round-trip"]


def test_without_a_file_format_the_round_trip_is_left_out_and_half_a_format_is_refused():
    assert "levels round-trip" not in check(Walk())
    assert "edits" not in check(Walk())
    with pytest.raises(ValueError, match="to_text and from_text"):
        check(Walk(), to_text)


def test_every_clause_has_a_game_that_breaks_it():
    assert {clause for clause, _ in BROKEN} | {"levels round-trip"} == set(CLAUSES)


def test_a_game_without_its_methods_is_named():
    @dataclass(frozen=True)
    class Nothing:
        action = Discrete(2)

    with pytest.raises(ContractError, match="num_agents, zero_sum, sample_level, reset, step, statistics"):
        check(Nothing())
