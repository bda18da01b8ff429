"""The normalization of rewards beside its slow twin, and its place in a cycle."""

import json
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ledger
from ledger import BAD, LENGTH, STEPS, VALUE, WORKERS, certain, crafted, noting
from maestro import cohort, curriculum, normalizer, ppo, train
from maestro.evaluation.landscape import measure, summary
from maestro.normalizer import Normalizer
from maestro.runs import agent_file, checkpoint, crowd
from maestro.runs.agent_file import AgentError
from maestro.train import EXPLORE, training_plan
from maestro.trajectory import Trajectory
from oracles.normalizer import Running
from oracles.normalizer import returns as twin_returns
from oracles.regret import gae
from probes import QUICK, SMALL, Level, Race, experiment, record, start, with_changes

GAMMA, LAMBDA = 0.99, 0.9
RETURNS = jax.jit(normalizer.returns_so_far, static_argnums=2)
MERGED = jax.jit(normalizer.merged)
OBSERVE = jax.jit(normalizer.observe, static_argnums=2)


def rollouts(seed, count, size=1.0):
    """Rewards and ends of several rollouts, whose size changes from one to the next."""
    random = np.random.default_rng(seed)
    for number in range(count):
        rewards = size * (1 + number) * random.normal(0.3, 1, (12, 5))
        yield rewards.astype(np.float32), random.random((12, 5)) < 0.2


def moments(known: Normalizer) -> list[float]:
    return [float(known.mean), float(known.variance), float(known.count)]


def played(rewards: Any, dones: Any) -> Trajectory:
    """A trajectory of which little is known."""
    zero = jnp.zeros(rewards.shape)
    never = jnp.zeros(rewards.shape, bool)
    return Trajectory(
        *(zero, zero, zero, 2 * jnp.ones_like(zero), zero, jnp.asarray(rewards), zero),
        *(jnp.asarray(dones), never, zero, zero),
    )


@pytest.mark.parametrize("gamma", [0.0, GAMMA, 1.0])
def test_returns_are_discounted_and_begin_anew_with_each_episode_and_rollout(gamma):
    for rewards, dones in rollouts(0, 3):
        found = RETURNS(jnp.asarray(rewards), jnp.asarray(dones), gamma)
        np.testing.assert_allclose(found, twin_returns(rewards, dones, gamma), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1e-3, 1.0, 300.0])
def test_rewards_are_normalized_rollout_by_rollout_as_the_twin_does(size):
    known, twin = normalizer.init(), Running()
    for rewards, dones in rollouts(1, 8, size):
        trajectory = played(rewards, dones)
        known = OBSERVE(known, trajectory, GAMMA)
        expected = twin.normalize(rewards, dones, GAMMA)
        found = normalizer.normalized(trajectory, normalizer.scale(known))
        np.testing.assert_allclose(found.reward, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(moments(known), [twin.mean, twin.variance, twin.count], rtol=1e-4)


def test_merged_moments_are_those_of_all_values_at_once():
    random, known, values = np.random.default_rng(2), normalizer.init(), []
    for number in range(20):
        values.append(random.normal(5 - number, 1 + number, (random.integers(1, 9), 3)).astype(np.float32))
        known = normalizer.merged(known, jnp.asarray(values[-1]))
    everything = np.concatenate(values)
    expected = [everything.mean(), everything.var(), everything.size]
    np.testing.assert_allclose(moments(known), expected, rtol=1e-3)  # but for the first, pretended ones


def test_after_many_rollouts_new_ones_still_count():
    """Single precision must not swallow what one of 100,000 rollouts adds."""
    known, twin = Normalizer(*map(jnp.float32, (2.0, 9.0, 4e8))), Running(2.0, 9.0, 4e8)
    values = np.random.default_rng(3).normal(50, 200, (125, 32)).astype(np.float32)
    for _ in range(100):
        known = MERGED(known, jnp.asarray(values))
        twin.see(values)
    assert twin.variance > 9.1
    np.testing.assert_allclose(moments(known), [twin.mean, twin.variance, twin.count], rtol=1e-4)


def test_the_size_of_rewards_does_not_matter_from_the_first_rollout_on():
    found = []
    for size in (1e-2, 1.0, 1e4):
        trajectory = played(*next(rollouts(4, 1, size)))
        scale = normalizer.scale(OBSERVE(normalizer.init(), trajectory, GAMMA))
        found.append(np.asarray(normalizer.normalized(trajectory, scale).reward))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)
    np.testing.assert_allclose(found[1], found[2], rtol=1e-4)


def test_large_rewards_are_clipped_and_nothing_but_rewards_is_changed():
    rewards = jnp.array([[30.0, -30.0, 5.0]])
    trajectory = played(rewards, rewards > 10)
    found = normalizer.normalized(trajectory, jnp.float32(2.0))
    np.testing.assert_array_equal(found.reward, [[10, -10, 2.5]])
    jax.tree.map(np.testing.assert_array_equal, found.replace(reward=trajectory.reward), trajectory)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_counted(bad):
    known = Normalizer(*map(jnp.float32, (1.0, 4.0, 100.0)))
    after = MERGED(known, jnp.ones((3, 2)).at[1, 1].set(bad))
    assert moments(after) == moments(known)


def test_scores_can_be_in_the_units_of_the_game_or_of_the_critic():
    trajectory = played(jnp.full((2, 3), 8.0), jnp.zeros((2, 3), bool))
    advantage, scale = jnp.ones((2, 3)), jnp.float32(4.0)
    ours, same = normalizer.in_units("normalized", trajectory, advantage, scale)
    assert (ours.reward == 2).all() and (ours.value == 2).all() and (same == 1).all()
    raw, larger = normalizer.in_units("raw", trajectory, advantage, scale)
    assert (raw.reward == 8).all() and (raw.value == 8).all() and (larger == 4).all()
    for units in ("normalized", "raw"):
        assert normalizer.in_units(units, trajectory, advantage, None) == (trajectory, advantage)
    assert normalizer.scale(None) is None and normalizer.observe(None, trajectory, GAMMA) is None


SETTINGS = {"ppo": (("normalize_returns", True), ("gamma", GAMMA), ("gae_lambda", LAMBDA))}


def cycles(units="normalized", plans=(True, False), numbers=None, **settings) -> list[Any]:
    """What passes through cycles of training, one after another: explored ones, and those that learn."""
    curriculum_settings = (("score_units", units),)
    exp = ledger.experiment(curriculum=curriculum_settings, **SETTINGS, **settings)

    def traced():
        found, state = [], crafted(exp, numbers)
        for number, explores in enumerate(plans):
            seen: dict[str, Any] = {}
            plan = EXPLORE if explores else training_plan(exp)
            with pytest.MonkeyPatch.context() as patch:
                for module, name in ((curriculum, "ask"), (train, "rollout"), (ppo, "batch_of")):
                    patch.setattr(module, name, noting(seen, name, getattr(module, name)))
                key = jax.random.key(number)
                state, measured = train.cycle(key, exp, plan, state, jnp.int32(1), jnp.int32(number))
            found.append((seen["rollout"], seen.get("batch_of"), state, measured, seen["ask"]))
        return found

    names = ("trajectory", "batch", "state", "metrics", "task")
    run = jax.jit(traced, compiler_options=QUICK)
    return [SimpleNamespace(**dict(zip(names, cycle, strict=True))) for cycle in jax.device_get(run())]


@pytest.fixture(scope="module")
def two() -> list[Any]:
    """A cycle that only tries new levels, and one that learns."""
    return cycles()


def twins_of(found: list[Any]) -> list[tuple[Running, np.ndarray]]:
    """(moments after a cycle, its normalized rewards) by the twin."""
    twin, each = Running(), []
    for cycle in found:
        rewards = twin.normalize(
            cycle.trajectory.reward, cycle.trajectory.terminated | cycle.trajectory.truncated, GAMMA
        )
        each.append((Running(twin.mean, twin.variance, twin.count), rewards))
    return each


def test_every_cycle_is_counted_whether_it_learns_or_not_and_none_is_forgotten(two):
    for cycle, (twin, _) in zip(two, twins_of(two), strict=True):
        found = moments(cycle.state.normalizer)
        np.testing.assert_allclose(found, [twin.mean, twin.variance, twin.count], rtol=1e-4)
    assert two[0].batch is None and two[1].batch is not None
    assert twins_of(two[1:])[0][0].variance != pytest.approx(twins_of(two)[1][0].variance, rel=0.01)


def test_the_student_learns_from_rewards_that_were_normalized_once(two):
    """By the moments with this rollout merged in; not from raw ones, nor from twice normalized ones."""
    cycle, (_, rewards) = two[1], twins_of(two)[1]
    ends, values = cycle.trajectory.truncated, np.full(STEPS, VALUE)
    assert ends.any() and np.abs(rewards).max() < 10
    for worker in range(WORKERS):
        end = ends[:, worker]
        _, target = gae(rewards[:, worker], values, VALUE, np.zeros(STEPS), end, values, GAMMA, LAMBDA)
        np.testing.assert_allclose(cycle.batch.target[:, worker], target, rtol=1e-4)
    np.testing.assert_array_equal(cycle.batch.value, cycle.trajectory.value)


def test_returns_that_are_logged_and_who_has_won_are_of_the_game_itself(two):
    for cycle in two:
        done, paid = cycle.trajectory.truncated, cycle.trajectory.reward
        assert paid[done].mean() > 5
        np.testing.assert_allclose(cycle.metrics.student_return, paid[done].mean(), rtol=1e-6)
        assert cycle.metrics.won == 1


@pytest.mark.parametrize("score", ["max_mc", "positive_value_loss", "mean_mc"])
@pytest.mark.parametrize("units", ["normalized", "raw"])
def test_scores_are_in_the_units_that_are_asked_for(units, score):
    """Of a level that pays 7 at the end of each episode, and V is known."""
    exp = ledger.experiment(curriculum=(("score_units", units), ("score", score)), **SETTINGS)

    def one():
        state = crafted(exp, 7)
        return train.cycle(jax.random.key(0), exp, training_plan(exp), state, jnp.int32(1), jnp.int32(0))

    after, metrics = jax.jit(one, compiler_options=QUICK)()
    scale = float(normalizer.scale(after.normalizer))
    reward = [0.0] * (LENGTH - 1) + [7 / scale]
    values, last = [VALUE] * LENGTH, [False] * (LENGTH - 1) + [True]
    advantage, _ = gae(reward, values, VALUE, [False] * LENGTH, last, values, GAMMA, LAMBDA)
    expected = np.maximum(advantage, 0).mean() if score == "positive_value_loss" else 7 / scale - VALUE
    expected *= scale if units == "raw" else 1
    if score == "mean_mc":  # `crafted` has one level in all slots, of which each is known apart
        games = np.asarray(after.curriculum.buffers.memory.episodes[1])
        expected *= np.sum(games**2 / (games + 4)) / games.sum()
    np.testing.assert_allclose(metrics.replayed.regret, expected, rtol=1e-4)
    assert 1.5 < scale < 5
    if score == "max_mc":
        best = np.asarray(after.curriculum.buffers.best_return[1])
        np.testing.assert_allclose(best[best > 0], 7 / (1 if units == "raw" else scale), rtol=1e-5)


def test_a_broken_game_does_not_spoil_the_moments():
    found = cycles(plans=(False,), numbers=BAD + 1)[0]
    assert moments(found.state.normalizer) == moments(normalizer.init())
    assert found.state.learner.skipped == 1


def test_both_seats_of_self_play_are_counted_if_both_teach():
    found = cycles(plans=(False,), method="plr-sp", sp_train_both=True)[0]
    assert found.trajectory.reward.shape == (STEPS, 2 * WORKERS)
    (twin, rewards), *_ = twins_of([found])
    np.testing.assert_allclose(
        moments(found.state.normalizer), [twin.mean, twin.variance, twin.count], rtol=1e-4
    )
    assert (rewards[:, WORKERS:] < 0).any()


NORMALIZED = with_changes(SMALL, ppo={"normalize_returns": True})


@pytest.fixture(scope="module")
def trained() -> cohort.Cohort:
    """Two seeds after a cycle."""
    exp = experiment(NORMALIZED)
    return jax.jit(lambda s: cohort.train_step(exp, s)[0], compiler_options=QUICK)(start(exp, 0, 2))


def test_every_seed_has_moments_of_its_own_and_a_checkpoint_keeps_them(trained, tmp_path):
    known = trained.seeds.normalizer
    assert known.count.shape == (2,) and known.variance[0] != known.variance[1]
    path = checkpoint.save(tmp_path, "one", trained, {}, {})
    like = jax.eval_shape(lambda: cohort.init(experiment(NORMALIZED), 0, 2))
    again, _, _ = checkpoint.load(path, like)
    jax.tree.map(np.testing.assert_array_equal, again.seeds.normalizer, known)
    assert "seeds.normalizer.variance" in checkpoint.read_manifest(path)["arrays"]


def test_without_normalization_a_state_is_what_it_was_before_there_was_any():
    state = jax.eval_shape(lambda: cohort.init(experiment(), 0, 2))
    names = [checkpoint.path_name(path) for path, _ in jax.tree_util.tree_flatten_with_path(state)[0]]
    assert state.seeds.normalizer is None and not [name for name in names if "normalizer" in name]


def test_the_card_of_a_student_says_what_its_rewards_were_divided_by(trained, tmp_path):
    paths = agent_file.save_students(NORMALIZED, trained, tmp_path)
    for seed, path in enumerate(paths):
        updates, scale = crowd.told_by(path, NORMALIZED)
        assert updates == int(trained.updates)
        np.testing.assert_allclose(scale, np.sqrt(trained.seeds.normalizer.variance[seed]), rtol=1e-5)
    assert crowd.told_by(paths[0], SMALL)[1] is None
    card = paths[0].with_suffix(".json")
    card.write_text(json.dumps(json.loads(card.read_text()) | {"reward_scale": None}))
    with pytest.raises(AgentError, match="does not say what its rewards were divided by"):
        crowd.told_by(paths[0], NORMALIZED)
    unscaled = replace(trained, seeds=trained.seeds.replace(normalizer=None))
    assert agent_file.units(unscaled, 0) == {}


@pytest.mark.parametrize("units, expected", [("normalized", 6 / 2 - VALUE), ("raw", 6 - 2 * VALUE)])
def test_a_landscape_is_in_the_units_of_training(units, expected):
    exp = ledger.experiment(steps=LENGTH, curriculum=(("score_units", units),), **SETTINGS)
    members = jax.tree.map(lambda x: x[None], certain(0))
    levels = Level(jnp.array([6, 6]), jnp.full(2, LENGTH))
    arguments = exp, certain(2, VALUE), members, levels, 2
    cells = jax.jit(partial(measure, jax.random.key(0), *arguments), compiler_options=QUICK)(
        scale=jnp.float32(2.0)
    )
    np.testing.assert_allclose(cells.scores, [[expected, expected]], rtol=1e-5)


class Paying(ledger.Ledger):
    """Generates one level only, number 6."""

    def sample_level(self, key):
        return Level(jnp.int32(6), jnp.int32(LENGTH))


def test_the_logged_landscape_knows_the_scale_of_the_state():
    """All levels pay 6, so every number of the summary is their score, but for gaps."""
    exp = ledger.experiment(steps=LENGTH, **SETTINGS)
    exp = replace(exp, env=Paying())
    known = normalizer.init().replace(variance=jnp.float32(4.0))
    state = crafted(exp).replace(normalizer=known)
    found = jax.jit(lambda: summary(jax.random.key(0), exp, state, 2, 2), compiler_options=QUICK)()
    np.testing.assert_allclose(found["joint"], 6 / 2 - VALUE, rtol=1e-5)


class WholeRace(Race):
    """A race whose rewards are whole numbers."""

    def step(self, key, level, state, actions):
        state, obs, reward, terminated, truncated, info = super().step(key, level, state, actions)
        whole = reward.astype(jnp.int32)
        return state, obs, whole, terminated, truncated, info | {"score": whole}


def test_rewards_that_are_whole_numbers_are_learned_from_like_others():
    run = with_changes(method="dr-fsp", ppo={"normalize_returns": True})
    games = experiment(run), experiment(run, WholeRace())
    one, other = (record(exp, start(exp, 0, 1), 3)[0][-1] for exp in games)
    assert int(one.updates) == int(other.updates) == 3
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), *params_of(one, other))


def params_of(*cohorts):
    """The students' parameters."""
    return [known.seeds.learner.params for known in cohorts]
