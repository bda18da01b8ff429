"""Distributions over actions beside those of SciPy."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from maestro.agents import distributions
from maestro.agents.distributions import Categorical, Distribution, Gaussian
from maestro.envs.base import Box, Discrete

BOX = Box(3, -1.0, 5.0)  # of center 2 and half width 3
GAUSSIAN = Gaussian(BOX)
OUTPUTS = np.random.default_rng(0).normal(0, 1.5, (7, 6)).astype(np.float32)


def moments(outputs):
    """Means and standard deviations that an output stands for, in the units of the box, in NumPy."""
    mean, spread = np.split(np.asarray(outputs, np.float64), 2, axis=-1)
    std = 0.01 + np.log1p(np.exp(spread + np.log(np.expm1(0.49))))
    return 2 + 3 * mean, 3 * std


def test_the_categorical_is_the_softmax_of_its_logits():
    logits = np.random.default_rng(0).normal(0, 2, (6, 5)).astype(np.float32)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    action = np.array([0, 1, 2, 3, 4, 0])
    log_prob = Categorical(5).log_prob(jnp.asarray(logits), jnp.asarray(action))
    np.testing.assert_allclose(log_prob, np.log(p[np.arange(6), action]), rtol=1e-5)
    entropy = Categorical(5).entropy(jnp.asarray(logits))
    np.testing.assert_allclose(entropy, -(p * np.log(p)).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(Categorical(5).entropy(jnp.zeros(5)), np.log(5), rtol=1e-6)


def test_actions_are_drawn_as_often_as_the_softmax_says():
    draws, logits = 40_000, jnp.array([0.0, 1.0, -1.0, 2.0, -20.0])
    keys = jax.random.split(jax.random.key(0), draws)
    counts = np.bincount(jax.vmap(Categorical(5).sample, (0, None))(keys, logits), minlength=5)
    p = np.asarray(jax.nn.softmax(logits), np.float64)
    assert (np.abs(counts - draws * p) <= 5 * np.sqrt(draws * p * (1 - p)) + 1e-2).all()


@pytest.mark.parametrize("distribution", [Categorical(6), GAUSSIAN], ids=["in two parts", "in one"])
def test_noise_that_is_drawn_ahead_gives_the_actions_that_sampling_gives(distribution):
    noise, pick = distributions.in_two(distribution)
    keys = jax.random.split(jax.random.key(1), len(OUTPUTS))
    ahead = jax.vmap(pick)(jax.vmap(noise)(keys), OUTPUTS)
    np.testing.assert_array_equal(ahead, jax.vmap(distribution.sample)(keys, OUTPUTS))
    assert np.unique(ahead).size > 2


def test_the_usual_distribution_fits_the_actions():
    assert distributions.over(Discrete(4)) == Categorical(4) and Categorical(4).outputs == 4
    assert distributions.over(BOX) == GAUSSIAN and GAUSSIAN.outputs == 6
    assert isinstance(GAUSSIAN, Distribution) and isinstance(Categorical(4), Distribution)


def test_the_gaussian_has_the_density_of_the_normal_inside_the_box_and_its_tails_at_the_bounds():
    """Densities are per half width of the box, 3."""
    action = np.random.default_rng(1).uniform(-1, 5, (7, 3)).astype(np.float32)
    action[0], action[1, 0], action[2, 1:] = [-1, 5, -1], 5, [-1, 5]
    mean, std = moments(OUTPUTS)
    inside = stats.norm.logpdf(action, mean, std) + np.log(3)
    below, above = stats.norm.logcdf(-1, mean, std), stats.norm.logsf(5, mean, std)
    expected = np.where(action == -1, below, np.where(action == 5, above, inside)).sum(axis=1)
    found = GAUSSIAN.log_prob(jnp.asarray(OUTPUTS), jnp.asarray(action))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_entropy_of_the_gaussian_is_that_of_the_clipped_numbers():
    expected = []
    for outputs in OUTPUTS:
        total = 0.0
        for mean, std in zip(*moments(outputs), strict=True):
            normal = stats.norm((mean - 2) / 3, std / 3)
            points = np.clip(normal.mean() + normal.std() * np.arange(-9, 10), -1, 1)
            for start, end in pairwise(points):
                surprise = lambda x, normal=normal: -normal.pdf(x) * normal.logpdf(x)  # noqa: E731
                total += integrate.quad(surprise, start, end)[0]
            total -= normal.cdf(-1) * normal.logcdf(-1) + normal.sf(1) * normal.logsf(1)
        expected.append(total)
    np.testing.assert_allclose(GAUSSIAN.entropy(jnp.asarray(OUTPUTS)), expected, rtol=1e-4, atol=1e-4)


def test_the_entropy_is_the_mean_surprise_of_what_is_drawn():
    draws = 20_000
    outputs = jnp.broadcast_to(jnp.asarray(OUTPUTS[0]), (draws, 6))
    actions = jax.vmap(GAUSSIAN.sample)(jax.random.split(jax.random.key(0), draws), outputs)
    surprise = -np.asarray(jax.jit(GAUSSIAN.log_prob)(outputs, actions))
    assert abs(surprise.mean() - GAUSSIAN.entropy(outputs[0])) < 5 * surprise.std() / draws**0.5


def test_actions_of_the_gaussian_are_drawn_as_the_clipped_normal_says():
    draws, outputs = 20_000, jnp.asarray(OUTPUTS[0])
    keys = jax.random.split(jax.random.key(1), draws)
    actions = np.asarray(jax.vmap(GAUSSIAN.sample, (0, None))(keys, outputs), np.float64)
    assert actions.shape == (draws, 3) and actions.min() >= -1 and actions.max() <= 5
    for drawn, mean, std in zip(actions.T, *moments(outputs), strict=True):
        for x in (-1, -0.5, 0, 2, 4.9):
            share = stats.norm.cdf(x, mean, std)
            assert abs((drawn <= x).mean() - share) < 5 * (share * (1 - share) / draws) ** 0.5 + 1e-4
        ends = stats.norm.sf(5, mean, std)
        assert abs((drawn == 5).mean() - ends) < 5 * (ends * (1 - ends) / draws) ** 0.5 + 1e-4


def test_a_gaussian_of_output_0_starts_in_the_middle_and_reaches_the_whole_box():
    mean, std = GAUSSIAN.moments(jnp.zeros(6))
    np.testing.assert_allclose(mean, 0)
    np.testing.assert_allclose(std, 0.5, rtol=1e-5)


def test_gradients_are_finite_however_large_the_output_is():
    """And at any action, since an old one may have become impossible."""
    sizes = [sign * size for size in (0.0, 1.0, 30.0, 1e3, 1e6, 1e30) for sign in (-1, 1)]
    wide = Gaussian(Box(1, -1.0, 5.0))
    tried = [(mean, spread, x) for mean in sizes for spread in sizes for x in (-1, 2, 4.99, 5)]
    output, action = jnp.split(jnp.asarray(tried, jnp.float32), [2], axis=1)
    for function, arguments in ((wide.log_prob, (output, action)), (wide.entropy, (output,))):
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(function)))(*arguments)
        assert np.isfinite(values).all() and np.isfinite(slopes).all()


def test_a_box_in_other_units_is_the_same_game():
    small, large = Gaussian(Box(2, -1.0, 1.0)), Gaussian(Box(2, 0.0, 1000.0))
    outputs, key = jnp.asarray([0.3, -0.4, 0.1, 0.2]), jax.random.key(3)
    action, other = small.sample(key, outputs), large.sample(key, outputs)
    np.testing.assert_allclose(500 + 500 * action, other, rtol=1e-5)
    np.testing.assert_allclose(small.log_prob(outputs, action), large.log_prob(outputs, other), rtol=1e-3)
    assert small.entropy(outputs) == large.entropy(outputs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Box(0, -1.0, 1.0),
        lambda: Box(2, 1.0, 1.0),
        lambda: Box(2, -float("inf"), 1.0),
        lambda: Box(2, 0.0, float("nan")),
        lambda: Discrete(0),
    ],
)
def test_actions_that_nobody_could_draw_are_refused(wrong):
    with pytest.raises(ValueError, match=r"(Box|Discrete)\(.*\): needs "):
        wrong()
