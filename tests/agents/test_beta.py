"""The Beta distribution over actions beside SciPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from maestro.agents import distributions
from maestro.agents.distributions import CANDIDATES, EDGE, MOST, Beta, Distribution, gamma
from maestro.envs.base import Box

BOX = Box(3, -1.0, 5.0)  # of width 6
BETA = Beta(BOX)
OUTPUTS = np.random.default_rng(0).normal(1, 3, (7, 6)).astype(np.float32)
# Nearly uniform, skewed, wide, narrow, the narrowest, and one that leans on an end.
SHAPES = [(1.0, 1.0), (1.05, 6.0), (2.0, 3.0), (40.0, 2.5), (150.0, 400.0), (1001.0, 1001.0), (900.0, 1.2)]


def parameters(outputs):
    """Alphas and betas that an output stands for, in NumPy."""
    return np.split(1 + np.logaddexp(0, np.asarray(outputs, np.float64)), 2, axis=-1)


def output_of(*shapes):
    """The output that stands for alphas and betas; -30 stands for 1."""
    beyond = np.asarray(shapes, np.float64).T.ravel() - 1
    inverse = beyond + np.log(-np.expm1(-np.maximum(beyond, 1e-13)))
    return jnp.asarray(inverse, jnp.float32)


def test_alpha_and_beta_are_one_and_softplus_of_the_output():
    alpha, beta = BETA.parameters(jnp.asarray(OUTPUTS))
    for found, expected in zip((alpha, beta), parameters(OUTPUTS), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert BETA.outputs == 6 and isinstance(BETA, Distribution)


def test_the_density_of_the_beta_is_that_of_scipy_per_width_of_the_box():
    action = np.random.default_rng(1).uniform(-1, 5, (7, 3)).astype(np.float32)
    alpha, beta = parameters(OUTPUTS)
    expected = stats.beta(alpha, beta, loc=-1, scale=6).logpdf(action.astype(np.float64)) + np.log(6)
    found = BETA.log_prob(jnp.asarray(OUTPUTS), jnp.asarray(action))
    np.testing.assert_allclose(found, expected.sum(axis=1), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_density_and_entropy_are_those_of_scipy_from_flat_to_narrow(shape):
    unit, output, real = Beta(Box(1, 0.0, 1.0)), output_of(shape), stats.beta(*shape)
    x = np.concatenate([real.ppf([0.001, 0.2, 0.5, 0.9]), [EDGE, 0.5, 1 - EDGE]]).astype(np.float32)
    found = unit.log_prob(jnp.broadcast_to(output, (7, 2)), jnp.asarray(x)[:, None])
    x = np.clip(x.astype(np.float64), np.float32(EDGE), np.float64(np.float32(1 - EDGE)))
    np.testing.assert_allclose(found, real.logpdf(x), rtol=2e-5, atol=2e-3)
    np.testing.assert_allclose(unit.entropy(output), real.entropy(), atol=1e-3)


def test_the_entropy_of_the_beta_is_that_of_scipy_summed_over_the_entries():
    alpha, beta = parameters(OUTPUTS)
    expected = stats.beta(alpha, beta).entropy().sum(axis=1)
    np.testing.assert_allclose(BETA.entropy(jnp.asarray(OUTPUTS)), expected, rtol=1e-4, atol=1e-5)


DRAWS = 40_000


@pytest.fixture(scope="module")
def drawn():
    """Draws in a box of width 6 for all shapes side by side, [draws, shapes]."""
    wide = Beta(Box(len(SHAPES), -1.0, 5.0))
    keys = jax.random.split(jax.random.key(5), DRAWS)
    return np.asarray(jax.jit(jax.vmap(wide.sample, (0, None)))(keys, output_of(*SHAPES)), np.float64)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_actions_of_the_beta_are_drawn_as_scipy_would(drawn, number):
    """By Kolmogorov and Smirnov, and by the first two moments."""
    real, actions = stats.beta(*SHAPES[number], loc=-1, scale=6), drawn[:, number]
    assert stats.kstest(actions, real.cdf).pvalue > 1e-3
    assert abs(actions.mean() - real.mean()) < 4 * real.std() / DRAWS**0.5
    spread = (actions - real.mean()) ** 2
    assert abs(spread.mean() - real.var()) < 5 * spread.std() / DRAWS**0.5


def test_the_entries_of_an_action_are_independent(drawn):
    correlation = np.corrcoef(drawn.T) - np.eye(len(SHAPES))
    assert np.abs(correlation).max() < 5 / DRAWS**0.5


def test_actions_stay_inside_and_one_key_is_one_action():
    sample, key = jax.jit(BETA.sample), jax.random.key(3)
    for far in ([40.0, -40, 1e30, -40, 40, -1e30], [-1e30] * 6, [1e30] * 6):
        action = np.asarray(sample(key, jnp.asarray(far)))
        assert (action > -1).all() and (action < 5).all()
        np.testing.assert_array_equal(action, sample(key, jnp.asarray(far)))
    one, other = (np.asarray(sample(jax.random.key(i), jnp.zeros(6))) for i in range(2))
    assert (one != other).all()


def test_nearly_every_gamma_variate_has_an_accepted_candidate(monkeypatch):
    """Most are rejected at shape 1: of one candidate 5 %, all five once in 3 million draws."""
    monkeypatch.setattr(distributions, "CANDIDATES", 1)
    found = jax.jit(gamma)(jax.random.key(0), jnp.ones(DRAWS))
    share = np.mean(np.asarray(found) == np.float32(1) - np.float32(1 / 3))
    assert 0.045 < share < 0.055 and share**CANDIDATES < 1 / 2.5e6


def test_an_output_of_0_is_symmetric_and_reaches_the_whole_box():
    alpha, beta = BETA.parameters(jnp.zeros(6))
    np.testing.assert_allclose(alpha, 1 + np.log(2), rtol=1e-6)
    np.testing.assert_array_equal(alpha, beta)


def test_gradients_are_finite_however_large_the_output_is_and_at_the_ends_of_the_box():
    sizes = [sign * size for size in (0.0, 1.0, 30.0, MOST, 1e6, 1e30) for sign in (-1, 1)]
    one = Beta(Box(1, -1.0, 5.0))
    tried = [(a, b, x) for a in sizes for b in sizes for x in (-1, -0.9999999, 2, 4.999999, 5)]
    output, action = jnp.split(jnp.asarray(tried, jnp.float32), [2], axis=1)
    for function, arguments in ((one.log_prob, (output, action)), (one.entropy, (output,))):
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(function)))(*arguments)
        assert np.isfinite(values).all() and np.isfinite(slopes).all()
    assert np.isfinite(jax.jit(jax.vmap(jax.grad(one.log_prob, 1)))(output, action)).all()


def surprise(outputs, action):
    """SciPy's log-density, in double precision."""
    return stats.beta(*parameters(outputs), loc=-1, scale=6).logpdf(action).sum(axis=-1)


def spread(outputs, action):
    """SciPy's entropy."""
    return stats.beta(*parameters(outputs)).entropy().sum(axis=-1)


@pytest.mark.parametrize("name, real", [("log_prob", surprise), ("entropy", spread)])
def test_gradients_of_the_beta_are_those_of_finite_differences(name, real):
    action = np.random.default_rng(2).uniform(-0.5, 4.5, (7, 3)).astype(np.float32)
    arguments = (jnp.asarray(action),) if name == "log_prob" else ()
    found = jax.jit(jax.vmap(jax.grad(getattr(BETA, name))))(jnp.asarray(OUTPUTS), *arguments)
    step, expected = 1e-4, np.zeros((7, 6))
    for i, nudge in enumerate(np.eye(6) * step):
        more, less = (real(OUTPUTS.astype(np.float64) + s * nudge, action) for s in (1, -1))
        expected[:, i] = (more - less) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_a_box_in_other_units_has_the_same_beta():
    small, large = Beta(Box(2, 0.0, 1.0)), Beta(Box(2, -500.0, 500.0))
    outputs, key = jnp.asarray([0.3, -0.4, 0.1, 0.2]), jax.random.key(3)
    action, other = (jax.jit(beta.sample)(key, outputs) for beta in (small, large))
    np.testing.assert_allclose(1000 * action - 500, other, rtol=1e-4)
    np.testing.assert_allclose(small.log_prob(outputs, action), large.log_prob(outputs, other), rtol=1e-3)
    assert small.entropy(outputs) == large.entropy(outputs)
