"""PPO's loss beside its slow twin, and what an update may and may not change."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import ppo, regret
from maestro.agents.conv import Conv
from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import PPOConfig
from maestro.envs.base import Discrete
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.lasertag.levels import sample_level
from maestro.ppo import Batch, Learner
from maestro.rollout import rollout
from maestro.trajectory import Trajectory
from oracles import ppo as twin
from probes import QUICK

T, E = 24, 8
AGENT = ConvLSTM(filters=4, hidden=16, heads=(8,))
CONFIG = PPOConfig(epochs=3, minibatches=4, learning_rate=1e-2, entropy_coef=0.01)
UPDATE = jax.jit(ppo.update, static_argnums=(1, 2))
LOSS = jax.jit(ppo.loss, static_argnums=(1, 2))


@jax.jit
def looking_back(params, obs, keep, action) -> tuple:
    """(log-probability and entropy of the policy, value, logits) of all steps."""
    features = AGENT.unroll(params, obs, keep)
    output = AGENT.policy(params, features)
    log_prob, entropy = AGENT.distribution.log_prob(output, action), AGENT.distribution.entropy(output)
    return log_prob, entropy, AGENT.value(params, features), output


@pytest.fixture(scope="module")
def learner() -> Learner:
    """A student whose policy is not uniform."""
    fresh = jax.jit(lambda key: ppo.init(key, CONFIG, AGENT))(jax.random.key(0))
    return fresh.replace(params=jax.tree.map(lambda x: 1.5 * x, fresh.params))


@pytest.fixture(scope="module")
def trajectory(learner: Learner) -> Trajectory:
    """A real rollout of LaserTag with time limits of few steps, so that episodes end and restart."""

    def next_level(key, env, finished):
        return sample_level(key, 5, 5).replace(time_limit=5 + env % 4)

    players = (learner.params, learner.params)
    play = jax.jit(lambda key: rollout(key, LaserTag(), AGENT, players, next_level, E, T))
    return play(jax.random.key(1))


@pytest.fixture(scope="module")
def batch(trajectory: Trajectory) -> Batch:
    """What an update learns from."""
    advantage = jax.jit(lambda t: regret.generalized_advantage(t, CONFIG.gamma, CONFIG.gae_lambda))
    return jax.jit(ppo.batch_of)(trajectory, advantage(trajectory))


def test_the_rollout_has_endings_inside(trajectory):
    done = np.asarray(trajectory.done)
    assert done[:-1].any(axis=0).all()
    assert (np.asarray(trajectory.finished[-1]) >= 2).all()


def test_looking_back_over_a_rollout_finds_the_probabilities_it_was_played_with(learner, trajectory):
    log_prob, _, value, _ = looking_back(learner.params, trajectory.obs, trajectory.keep, trajectory.action)
    np.testing.assert_allclose(log_prob, trajectory.log_prob, atol=1e-5)
    np.testing.assert_allclose(value, trajectory.value, atol=1e-5)


def test_the_first_minibatch_has_a_ratio_of_one(learner, batch):
    _, losses = LOSS(learner.params, CONFIG, AGENT, batch)
    assert float(losses.clipped) == 0
    assert float(losses.policy) == pytest.approx(-float(batch.advantage.mean()), abs=1e-5)


def test_the_value_after_a_step_is_the_next_steps_value_within_an_episode(trajectory):
    goes_on = ~np.asarray(trajectory.done)[:-1]
    after, following = np.asarray(trajectory.next_value)[:-1], np.asarray(trajectory.value)[1:]
    np.testing.assert_allclose(after[goes_on], following[goes_on], atol=1e-5)
    assert (np.abs(after - following)[~goes_on] > 1e-4).any()


def test_advantages_are_normalized_over_the_whole_batch():
    advantage = np.random.default_rng(0).normal(3.0, 2.0, (T, E)).astype(np.float32)
    np.testing.assert_allclose(ppo.normalize(jnp.asarray(advantage)), twin.normalize(advantage), atol=1e-5)
    np.testing.assert_array_equal(ppo.normalize(jnp.ones((T, E))), np.zeros((T, E)))


@pytest.mark.parametrize("clip, clip_value", [(0.2, True), (0.05, False)])
def test_the_loss_and_its_parts_are_the_twins(learner, batch, clip, clip_value):
    random = np.random.default_rng(1)
    config = replace(CONFIG, clip=clip, clip_value=clip_value, value_coef=0.7, entropy_coef=0.3)
    far = {name: random.normal(0, 0.3, (T, E)).astype(np.float32) for name in ("log_prob", "value")}
    other = batch.replace(
        log_prob=batch.log_prob + far["log_prob"],
        value=batch.value + far["value"],
        target=jnp.asarray(random.normal(0, 2.0, (T, E)), jnp.float32),
    )
    log_prob, entropy, value, _ = looking_back(learner.params, batch.obs, batch.keep, batch.action)
    total, losses = LOSS(learner.params, config, AGENT, other)
    expected, parts = twin.loss(
        log_prob,
        other.log_prob,
        other.advantage,
        value,
        other.value,
        other.target,
        entropy,
        clip,
        config.value_coef,
        config.entropy_coef,
        clip_value,
    )
    assert float(total) == pytest.approx(expected, abs=1e-5)
    assert 0 < float(losses.clipped) < 1
    for name, part in parts.items():
        assert float(getattr(losses, name)) == pytest.approx(part, abs=1e-5), name


def test_every_epoch_uses_every_environment_once():
    chosen = np.asarray(ppo.minibatches(jax.random.key(0), CONFIG, E))
    assert chosen.shape == (CONFIG.epochs * CONFIG.minibatches, E // CONFIG.minibatches)
    epochs = chosen.reshape(CONFIG.epochs, E)
    assert (np.sort(epochs, axis=1) == np.arange(E)).all()
    assert len(np.unique(epochs, axis=0)) == CONFIG.epochs  # not the same order each time


def test_single_steps_are_shuffled_over_time_and_environments_if_so_set(trajectory, monkeypatch):
    """As one minibatch they teach what sequences teach."""
    agent = Conv(filters=4, heads=(8,)).fitted(jax.ShapeDtypeStruct((5, 5, 3), jnp.bool_), Discrete(5))
    whole = replace(CONFIG, epochs=1, minibatches=1)
    fresh = jax.jit(lambda key: ppo.init(key, whole, agent), compiler_options=QUICK)(jax.random.key(0))
    seen = jax.jit(lambda t: ppo.batch_of(t, t.reward - t.value))(trajectory)
    update = jax.jit(ppo.update, static_argnums=(1, 2), compiler_options=QUICK)
    by_sequences, by_steps = (
        update(jax.random.key(2), replace(whole, shuffle=kind), agent, fresh, seen)
        for kind in ("sequences", "steps")
    )
    close = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6)
    jax.tree.map(close, by_sequences, by_steps)
    numbered = Batch(*[jnp.arange(T * E).reshape(T, E)] * 7)
    apart = ppo.single_steps(numbered)
    assert apart.value.shape == (1, T * E) and apart.value[0, E] == numbered.value[1, 0]
    counts, real = [], ppo.minibatches
    monkeypatch.setattr(ppo, "minibatches", lambda key, config, n: counts.append(n) or real(key, config, n))
    for kind in ("sequences", "steps"):
        config = replace(CONFIG, shuffle=kind)
        jax.eval_shape(lambda c=config: ppo.update(jax.random.key(0), c, agent, fresh, seen))
    assert counts == [E, T * E]


def same(a, b) -> bool:
    """Bitwise, leaf by leaf."""
    return jax.tree.all(jax.tree.map(lambda x, y: np.asarray(x).tobytes() == np.asarray(y).tobytes(), a, b))


@pytest.mark.parametrize("field, value", [("advantage", np.nan), ("target", np.inf), ("log_prob", -1e9)])
def test_an_update_that_is_not_finite_changes_nothing_but_the_count(learner, batch, field, value):
    bad = batch.replace(**{field: getattr(batch, field).at[3, 2].set(value)})
    after, _ = UPDATE(jax.random.key(0), CONFIG, AGENT, learner, bad)
    again, _ = UPDATE(jax.random.key(1), CONFIG, AGENT, after, bad)
    assert same((learner.params, learner.optimizer), (again.params, again.optimizer))
    assert (int(again.skipped), int(again.skipped_in_a_row)) == (2, 2)
    good, losses = UPDATE(jax.random.key(2), CONFIG, AGENT, again, batch)
    assert (int(good.skipped), int(good.skipped_in_a_row)) == (2, 0)
    assert not same(learner.params, good.params)
    assert np.isfinite(float(losses.total)) and float(losses.grad_norm) > 0


def test_an_update_is_one_adam_step_for_each_minibatch(learner, batch):
    after, _ = UPDATE(jax.random.key(0), CONFIG, AGENT, learner, batch)
    steps = [x for x in jax.tree.leaves(after.optimizer) if jnp.issubdtype(x.dtype, jnp.integer)]
    assert [int(x) for x in steps] == [CONFIG.epochs * CONFIG.minibatches]


def test_gradients_are_scaled_down_to_the_largest_norm():
    optimizer = ppo.optimizer(replace(CONFIG, max_grad_norm=1e-3))
    large = jnp.ones(16)  # of norm 4
    first, _ = jax.jit(optimizer.update)(large, optimizer.init(large), large)
    size = 1e-3 / 4
    expected = -CONFIG.learning_rate * size / (size + CONFIG.adam_eps)  # Adam's first step
    np.testing.assert_allclose(first, np.full(16, expected), rtol=1e-4)


def test_updates_make_good_actions_likelier(learner, batch):
    wants = jnp.where(batch.action == 2, 1.0, -1.0)
    eager = batch.replace(advantage=wants, target=batch.value)
    after = learner
    for seed in range(3):
        after, _ = UPDATE(jax.random.key(seed), CONFIG, AGENT, after, eager)

    def share(params):
        logits = looking_back(params, batch.obs, batch.keep, batch.action)[3]
        return float(jax.nn.softmax(logits)[..., 2].mean())

    assert share(after.params) > share(learner.params) + 0.05


def test_a_batch_of_one_step_has_no_deviation():
    np.testing.assert_array_equal(ppo.normalize(jnp.full((1, 1), 3.0)), [[0.0]])
    np.testing.assert_array_equal(twin.normalize([[3.0]]), [[0.0]])
