"""Observations that are trees of arrays work wherever plain ones do: rollout, PPO, evaluation, views."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort, envs
from maestro.agents.mlp import MLP
from maestro.envs.base import observation_shape
from maestro.envs.gym import Parallel
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import both_seats
from probes import QUICK, Race, experiment, start, with_changes

CYCLES = 5


@dataclass(frozen=True)
class TreeRace(Race):
    """A race that is seen in two parts."""

    def observe(self, level, state):
        plain = super().observe(level, state)[..., 0]
        return {"far": plain[:, 1:], "near": {"row": plain[:, :1].astype(jnp.float32)}}


@dataclass(frozen=True)
class PlainRace(TreeRace):
    """The same numbers in the same order, as one array."""

    def observe(self, level, state):
        parts = jax.tree.leaves(super().observe(level, state))
        return jnp.concatenate([part.reshape(2, -1) for part in parts], axis=1)


def trained_on(env, method, schedule):
    """(experiment, cohort, metrics) after some cycles."""
    agent = MLP((8,)).fitted(observation_shape(env), env.action)
    run = with_changes(method=method, schedule={"kind": "parallel"} | schedule)
    exp = experiment(run, env, agent)
    step = jax.jit(lambda s: cohort.train_step(exp, s), compiler_options=QUICK)
    state = start(exp, 0, 2)
    for _ in range(CYCLES):
        state, _ = step(state)
    return exp, state


@pytest.mark.parametrize(
    ("method", "schedule"),
    [("maestro", {}), ("plr-sp", {"sp_train_both": True})],
    ids=["maestro", "both seats"],
)
@pytest.mark.long
def test_training_on_a_tree_equals_training_on_its_numbers(method, schedule):
    (tree, after), (plain, same) = (trained_on(env(), method, schedule) for env in (TreeRace, PlainRace))
    assert tree.agent == plain.agent and after.updates >= 2
    for a, b in zip(jax.tree.leaves(after.seeds.learner), jax.tree.leaves(same.seeds.learner), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_players_on_a_tree_play_as_on_its_numbers():
    agent = MLP((8,)).fitted(observation_shape(TreeRace()), TreeRace.action)
    one, other = (trained(agent, agent.init(jax.random.key(i))) for i in range(2))
    levels = jax.vmap(Race().sample_level)(jax.random.split(jax.random.key(2), 64))
    results = [both_seats(jax.random.key(3), env(), one, other, levels, 8) for env in (TreeRace, PlainRace)]
    np.testing.assert_array_equal(*results)
    assert set(np.unique(results[0])) == {-1, 0, 1}


def test_a_game_whose_observations_are_trees_is_sound_and_has_a_view():
    envs.check(TreeRace())
    view = Parallel(TreeRace())
    observations, _ = view.reset(seed=0)
    assert view.observation_space("player_0").contains(observations["player_0"])


def test_a_coplayer_for_each_worker_sees_trees_too():
    env = TreeRace()
    agent = MLP((8,)).fitted(observation_shape(env), env.action)
    run = with_changes(curriculum={"coplayer_per": "worker"}, method="dr-fsp")
    exp = experiment(run, env, agent)
    state, metrics = jax.jit(lambda s: cohort.train_step(exp, s), compiler_options=QUICK)(start(exp, 0, 1))
    assert int(state.updates) == 1 and np.isfinite(metrics.losses.total).all()
