"""The racing network beside XLA's own convolution, and what a rollout keeps of its pictures."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort, rollout, trajectory
from maestro.agents import lstm
from maestro.agents.base import Agent
from maestro.agents.conv_beta import ConvBeta
from maestro.agents.distributions import Beta
from maestro.agents.images import Convolutions, patches
from maestro.envs.base import Box
from probes import QUICK, Level, Probe, experiment, start, with_changes

AGENT = ConvBeta()
VIEW = jax.ShapeDtypeStruct((84, 84, 12), jnp.uint8)
SMALL = Convolutions((13, 11, 3), (5, 4, 6), (2, 3, 2), (2, 1, 1))


def pictures(*shape, seed=0):
    """Random bytes."""
    return jnp.asarray(np.random.default_rng(seed).integers(0, 256, shape), jnp.uint8)


def weights_of(encoder, seed=0):
    """Kernels and biases that differ everywhere."""
    random = np.random.default_rng(seed)
    shapes = zip(encoder.kernels, encoder.shapes, encoder.channels, strict=False)
    return {
        f"layer_{i}": {
            "kernel": jnp.asarray(random.normal(size=(k, k, before[2], after)), jnp.float32) / k,
            "bias": jnp.asarray(random.normal(size=after), jnp.float32),
        }
        for i, (k, before, after) in enumerate(shapes)
    }


def by_xla(encoder, params, obs):
    """The same layers by XLA's convolution."""
    x, layout = jnp.asarray(obs, jnp.float32) / 128 - 1, ("NHWC", "HWIO", "NHWC")
    for i, stride in enumerate(encoder.strides):
        layer = params[f"layer_{i}"]
        x = jax.lax.conv_general_dilated(
            x, layer["kernel"], (stride, stride), "VALID", dimension_numbers=layout, precision="highest"
        )
        x = jax.nn.relu(x + layer["bias"][None, None, None])
    return x.reshape(x.shape[0], -1)


@pytest.mark.parametrize("encoder", [SMALL, AGENT.encoder], ids=["small", "paper"])
def test_the_encoder_is_a_row_of_convolutions(encoder):
    params, obs = weights_of(encoder), pictures(4, *encoder.view)
    expected = np.asarray(by_xla(encoder, params, obs))
    assert expected.shape == (4, encoder.outputs) and (expected > 0).any()
    encode = jax.jit(lambda w, o: encoder.encode(w, o, o.ndim - 3))
    found = encode(encoder.prepare(params), obs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.max())
    twice = encode(encoder.prepare(params), obs.reshape(2, 2, *encoder.view))
    np.testing.assert_array_equal(twice.reshape(found.shape), found)


def test_gradients_of_the_encoder_are_those_of_convolutions():
    params, obs = weights_of(SMALL), pictures(4, *SMALL.view)
    weight = jnp.sin(jnp.arange(4 * SMALL.outputs, dtype=jnp.float32)).reshape(4, -1)
    encode = lambda p: SMALL.encode(SMALL.prepare(p), obs, 1)  # noqa: E731
    found, expected = (
        jax.jit(jax.grad(lambda p, f=f: jnp.sum(weight * f(p) ** 2)))(params)
        for f in (encode, lambda p: by_xla(SMALL, p, obs))
    )
    close = partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-3)
    jax.tree.map(close, found, expected)


@pytest.mark.parametrize("kernel, stride", [(2, 2), (3, 3), (3, 1), (2, 3), (3, 2), (1, 1)])
def test_a_patch_is_what_the_kernel_sees_row_by_row(kernel, stride):
    x = pictures(2, 7, 8, 3)
    found = np.asarray(patches(x, kernel, stride))
    rows, columns = (7 - kernel) // stride + 1, (8 - kernel) // stride + 1
    assert found.shape == (2, rows, columns, kernel * kernel * 3) and found.dtype == np.uint8
    for i, j in np.ndindex(rows, columns):
        seen = x[:, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
        np.testing.assert_array_equal(found[:, i, j], seen.reshape(2, -1))


def test_the_network_of_the_paper_has_256_features_and_432387_parameters():
    assert isinstance(AGENT, Agent) and AGENT.fitted(VIEW, Box(3, 0.0, 1.0)) == AGENT
    assert AGENT.encoder.outputs == 256 and AGENT.distribution == Beta(Box(3, 0.0, 1.0))
    sides = [shape[0] for shape in AGENT.encoder.shapes]
    assert sides == [84, 42, 21, 10, 5, 3, 1]
    shapes = jax.eval_shape(AGENT.init, jax.random.key(0))
    count = {name: sum(x.size for x in jax.tree.leaves(tree)) for name, tree in shapes.items()}
    assert count == {"conv": 380_280, "actor": 26_306, "critic": 25_801}
    assert replace(AGENT, view=(96, 96, 12)).encoder.outputs == 1024  # what is not cropped
    uncropped = replace(AGENT, view=(96, 96, 12), kernels=(4, 3, 3, 3, 3, 3))
    assert uncropped.encoder.outputs == 256


def test_features_start_at_a_usual_size_and_policies_all_alike():
    params = jax.jit(AGENT.init)(jax.random.key(0))
    obs = pictures(6, 84, 84, 12)
    features = jax.jit(AGENT.unroll)(params, obs[None], jnp.zeros((1, 6)))[0]
    assert 0.02 < np.asarray(features).std() < 2
    alpha, beta = AGENT.distribution.parameters(AGENT.policy(params, features))
    np.testing.assert_allclose(np.stack([alpha, beta]), 1 + np.log(2), atol=0.03)
    for i, (kernel, before) in enumerate(zip(AGENT.kernels, AGENT.encoder.shapes, strict=False)):
        layer = params["conv"][f"layer_{i}"]
        limit = (12 / (kernel**2 * (before[2] + AGENT.channels[i]))) ** 0.5
        assert 0.9 * limit < np.abs(layer["kernel"]).max() <= limit and (layer["bias"] == 0.1).all()


def test_on_a_gpu_every_byte_is_a_different_input_and_sums_are_float32(monkeypatch):
    """Bytes are kept exactly in bfloat16; only weights and features are rounded."""
    monkeypatch.setattr(lstm, "operand_dtype", lambda: jnp.dtype(jnp.bfloat16))
    one = Convolutions((16, 16, 1), (1,), (1,), (1,))
    weights = one.prepare({"layer_0": {"kernel": jnp.ones((1, 1, 1, 1)), "bias": jnp.ones(1)}})
    obs = jnp.arange(256, dtype=jnp.uint8).reshape(1, 16, 16, 1)
    found = one.encode(weights, obs, 1)
    assert found.dtype == jnp.float32 and weights[0]["matrix"].dtype == jnp.bfloat16
    np.testing.assert_allclose(found[0], np.arange(256) / 128, rtol=2**-8)
    seen = (jnp.arange(256, dtype=jnp.uint8).astype(jnp.bfloat16) - 128) / 128
    np.testing.assert_array_equal(seen.astype(jnp.float32), np.arange(256) / 128 - 1)
    params, picture = weights_of(SMALL), pictures(4, *SMALL.view)
    rounded, exact = SMALL.encode(SMALL.prepare(params), picture, 1), by_xla(SMALL, params, picture)
    np.testing.assert_allclose(rounded, exact, rtol=0.1, atol=0.03 * float(exact.max()))


@pytest.mark.parametrize(
    "shape, dtype", [((84, 84, 12), "float32"), ((84, 84), "uint8"), ((3,), "uint8")], ids=str
)
def test_what_is_no_picture_of_bytes_is_refused(shape, dtype):
    with pytest.raises(ValueError, match=r"conv_beta needs pictures \[rows, columns, channels\] of bytes"):
        AGENT.fitted(jax.ShapeDtypeStruct(shape, dtype), Box(3, 0.0, 1.0))


def test_layers_that_do_not_fit_are_refused():
    small = jax.ShapeDtypeStruct((32, 32, 3), jnp.uint8)
    with pytest.raises(ValueError, match=r"do not fit: 32 x 32 -> 16 x 16 -> .* -> 2 x 2 -> 0 x 0"):
        AGENT.fitted(small, Box(3, 0.0, 1.0))
    with pytest.raises(ValueError, match="needs all three: 5 channels, 6 kernels, 6 strides"):
        replace(AGENT, channels=(8, 16, 32, 64, 128)).fitted(VIEW, Box(3, 0.0, 1.0))


@dataclass(frozen=True)
class Film(Probe):
    """A picture of a random number; games last 3 steps, or 2 by the time limit of odd levels."""

    length: int = 3
    side: int = 6
    action = Box(1, 0.0, 1.0)

    def sample_level(self, key):
        number = jax.random.randint(key, (), 0, 48)
        return Level(number, jnp.where(number % 2 == 0, 1000, 2))

    def observe(self, level, state):
        value = level.number + 7 * state.time + 100 * state.cue
        return jnp.broadcast_to(value, (2, self.side, self.side, 1)).astype(jnp.uint8)

    def reward(self, level, state, actions):
        return actions[:, 0]


def played(monkeypatch, large, **options) -> Any:
    """A trajectory of ten steps whose pictures are large, or are not."""
    monkeypatch.setattr(trajectory, "LARGE", 35 if large else 36)  # bytes of a picture: 36
    agent = ConvBeta((4,), (2,), (2,), (8,)).fitted(jax.ShapeDtypeStruct((6, 6, 1), jnp.uint8), Film.action)
    students = [agent.init(jax.random.key(i)) for i in range(2)]

    def run(key):
        def next_level(key, env, finished):
            number = (Film().sample_level(key).number + 5 * env + 11 * finished) % 48
            return Level(number, jnp.where(number % 2 == 0, 1000, 2))

        return rollout.rollout(key, Film(), agent, (students[0], students[1]), next_level, 5, 10, **options)

    return jax.jit(jax.vmap(run), compiler_options=QUICK)(jax.random.split(jax.random.key(7), 2))


@pytest.mark.parametrize("options", [{}, {"both_seats": True}], ids=["one seat", "both seats"])
def test_large_observations_are_looked_at_at_once_which_changes_nothing(monkeypatch, options):
    """Also where an episode ends: what follows is valued before the restart."""
    two = [played(monkeypatch, large, **options) for large in (False, True)]
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), *two)
    one = jax.tree.map(lambda x: x[0], two[0])
    assert np.asarray(one.terminated).any() and np.asarray(one.truncated).any()
    assert np.asarray(one.done).sum(axis=1).max() > 1  # several restart at once
    ended = np.asarray(one.done)[:-1, : one.num_envs]
    differs = np.asarray(one.next_value)[:-1, : one.num_envs] != np.asarray(one.value)[1:, : one.num_envs]
    assert differs[ended].any()


def test_large_observations_are_remembered_once(monkeypatch):
    """Of what follows only features are kept from step to step."""
    kept, real = {}, rollout.assemble

    def noting(agent, student, recorded, *rest):
        kept[large] = recorded.following.shape
        return real(agent, student, recorded, *rest)

    monkeypatch.setattr(rollout, "assemble", noting)
    for large in (False, True):
        played(monkeypatch, large)
    assert kept == {False: (10, 5, 1, 6, 6, 1), True: (10, 5, 1, 36)}


class Shade(Probe):
    """The brightness of a picture says where to aim; who is closer wins, by hundreds."""

    zero_sum = True
    action = Box(1, -1.0, 3.0)

    def target(self, level):
        return 3.6 * level.number / 47 - 0.8

    def observe(self, level, state):
        return jnp.broadcast_to(5 * level.number, (2, 6, 6, 1)).astype(jnp.uint8)

    def reward(self, level, state, actions):
        off = 300 * (actions[:, 0] - self.target(level)) ** 2
        return off[::-1] - off


@pytest.mark.long
def test_where_to_aim_is_learned_from_pictures_with_normalized_rewards_and_shuffled_steps():
    agent = ConvBeta((8, 16), (2, 2), (2, 1), (32,))
    agent = agent.fitted(jax.ShapeDtypeStruct((6, 6, 1), jnp.uint8), Shade.action)
    ppo = {"workers": 32, "epochs": 4, "gamma": 0.5, "learning_rate": 3e-3, "clip_value": False}
    run = with_changes(
        method="dr-sp",
        ppo=ppo | {"normalize_returns": True, "shuffle": "steps"},
        schedule={"total_updates": 40, "interval": 40},
    )
    exp = experiment(run, Shade(), agent)

    def cycles(state):
        return jax.lax.scan(lambda s, _: cohort.train_step(exp, s), state, length=40)

    state, metrics = jax.jit(cycles, compiler_options=QUICK)(start(exp, 0, 1))
    params = jax.tree.map(lambda x: x[0], state.seeds.learner.params)
    levels = Level(jnp.arange(48), jnp.full(48, 9))
    views = jax.vmap(lambda level: Shade().observe(level, None)[0])(levels)
    features = agent.unroll(params, views[None], jnp.zeros((1, 48)))[0]
    alpha, beta = agent.distribution.parameters(agent.policy(params, features))
    off = np.abs(4 * np.asarray(alpha / (alpha + beta))[:, 0] - 1 - Shade().target(levels))
    assert off.mean() < 0.15 and not state.seeds.learner.skipped.any()
    assert metrics.losses.entropy[-1, 0] < metrics.losses.entropy[0, 0] - 0.5
