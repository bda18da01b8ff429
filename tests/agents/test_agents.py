"""The LaserTag network, its LSTM beside a plain one, and the network for observations of any form."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.agents import encoders, lstm
from maestro.agents.base import Agent
from maestro.agents.conv_lstm import ConvLSTM
from maestro.agents.encoders import Convolution
from maestro.agents.lstm import kernel, one_step
from maestro.agents.lstm.cell import cell, gates, project
from maestro.agents.mlp import MLP
from maestro.envs.base import Discrete, observation_shape
from maestro.envs.lasertag.game import LaserTag
from maestro.games import lasertag

AGENT = ConvLSTM()
T, B, F, H = 11, 3, 5, 4  # a length that the unrolled scan does not divide
UNROLL = jax.jit(AGENT.unroll)
NAMES = ("x", "h0", "c0", "wx", "wh", "b")


@pytest.fixture(scope="module")
def params() -> dict:
    """A fresh student."""
    return jax.jit(AGENT.init)(jax.random.key(0))


def lstm_inputs(seed: int, share: float) -> dict:
    """Random inputs of which a share of the steps starts an episode."""
    random = np.random.default_rng(seed)
    shapes = {"x": (T, B, F), "h0": (B, H), "c0": (B, H), "wx": (F, 4 * H), "wh": (H, 4 * H), "b": (4 * H,)}
    inputs = {name: jnp.asarray(random.normal(size=s), jnp.float32) for name, s in shapes.items()}
    return inputs | {"keep": jnp.asarray(random.random((T, B)) >= share, jnp.float32)}


def states_and_gradients(cell, inputs: dict) -> tuple:
    """The states, and gradients of a function of them that weighs each differently."""
    weight = jnp.sin(jnp.arange(T * B * H, dtype=jnp.float32)).reshape(T, B, H)

    def total(values: dict):
        states = cell(*(values[n] for n in ("x", "keep", "h0", "c0", "wx", "wh", "b")))
        return jnp.sum(weight * states**2), states

    def of(learned: dict):
        return total(learned | {"keep": inputs["keep"]})

    (_, states), grads = jax.value_and_grad(of, has_aux=True)({n: inputs[n] for n in NAMES})
    return states, grads


def compare(ours: tuple, plain: tuple) -> None:
    """Values and each gradient."""
    np.testing.assert_allclose(ours[0], plain[0], atol=1e-6)
    for name in NAMES:
        np.testing.assert_allclose(ours[1][name], plain[1][name], rtol=1e-4, atol=1e-5, err_msg=name)


OURS = jax.jit(lambda inputs: states_and_gradients(lstm.lstm, inputs))
PLAIN = jax.jit(lambda inputs: states_and_gradients(lstm.plain_lstm, inputs))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_hand_written_gradient_is_that_of_the_plain_lstm(share):
    for seed in range(3):
        inputs = lstm_inputs(seed, share)
        compare(OURS(inputs), PLAIN(inputs))


def test_under_vmap_too():
    runs = [lstm_inputs(seed, 0.3) for seed in range(4)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *runs)
    together = jax.jit(jax.vmap(lambda inputs: states_and_gradients(lstm.lstm, inputs)))(stacked)
    for i, inputs in enumerate(runs):
        compare(jax.tree.map(lambda x, i=i: x[i], together), PLAIN(inputs))


def test_nothing_is_remembered_from_before_an_episode():
    inputs = lstm_inputs(0, 0.0)
    start = 4
    keep = inputs["keep"].at[start].set(0.0)
    cells = [inputs[n] for n in ("h0", "c0", "wx", "wh", "b")]
    unroll = jax.jit(lstm.lstm)
    whole = unroll(inputs["x"], keep, *cells)
    other = unroll(inputs["x"].at[:start].add(1.0), keep, *cells)
    np.testing.assert_array_equal(whole[start:], other[start:])
    assert (np.asarray(whole[:start]) != np.asarray(other[:start])).all()


def test_the_network_is_an_agent_of_429830_parameters(params):
    def count(tree) -> int:
        return sum(x.size for x in jax.tree.leaves(tree))

    assert isinstance(AGENT, Agent)
    split = {name: count(tree) for name, tree in params.items()}
    assert split == {"conv": 448, "lstm": 410_624, "actor": 9_445, "critic": 9_313}
    assert count(params) == 429_830
    assert lasertag.GAME.presets["paper"].agent == AGENT
    assert AGENT.fitted(observation_shape(LaserTag()), LaserTag.action) == AGENT


def by_products(x, h, c, w, b):
    """What the kernel computes of one step, [N, B, ...], from its weights as its threads read them."""
    networks, gates_, columns = w.shape
    matrix, flat = np.zeros(w.shape, np.float32), np.asarray(w).reshape(networks, -1)
    places = itertools.product(range(gates_ // 32), range(columns // 32), range(4), range(32), range(8))
    for place, (of_8, piece, gate, lane, element) in enumerate(places):
        unit, column = 8 * of_8 + lane // 4, 32 * piece + 8 * (lane % 4) + element
        matrix[:, 4 * unit + gate, column] = flat[:, place]
    room = columns - x.shape[-1] - h.shape[-1]
    inputs = jnp.concatenate([jnp.pad(x, [(0, 0), (0, 0), (0, room)]), h], -1)
    i, f, g, o = gates(jnp.einsum("nbk,ngk->nbg", inputs, matrix, precision="highest") + b[:, None])
    c = f * c + i * g
    return o * jnp.tanh(c), c


def launched(calls: list, *values):
    """In place of the kernel: only what is really called counts, not what is traced on the way."""

    def run(*values):
        calls.append(values[0].shape)
        return tuple(np.asarray(y) for y in by_products(*values))

    like = tuple(jax.ShapeDtypeStruct(y.shape, y.dtype) for y in values[1:3])
    return jax.pure_callback(run, like, *values)


def test_a_step_of_many_networks_and_games_is_one_call(monkeypatch):
    calls, units = [], 32
    monkeypatch.setattr(one_step, "fits", lambda wx, wh: True)
    random = np.random.default_rng(0)
    shapes = {"wx": (2, F, 4 * units), "wh": (2, units, 4 * units), "b": (2, 4 * units)}
    params = {name: jnp.asarray(random.normal(size=shape), jnp.float32) for name, shape in shapes.items()}
    x, h, c = (jnp.asarray(random.normal(size=(2, 7, B, size)), jnp.float32) for size in (F, units, units))
    weights = jax.vmap(lstm.prepare)(params)
    monkeypatch.setattr(kernel, "launched", partial(launched, calls))
    found = jax.vmap(jax.vmap(lstm.step, (None, 0, 0, 0)))(weights, x, h, c)
    turned = jax.vmap(jax.vmap(lstm.step), (None, 1, 1, 1), 1)(weights, x, h, c)
    assert set(calls) == {(2, 7 * B, F)}
    for network in range(2):
        own = {name: value[network] for name, value in params.items()}
        z = project(x[network], own["wx"], own["b"])
        expected = cell(z, h[network], c[network], own["wh"])
        for ours in (found, turned):
            for got, wanted in zip(ours, expected, strict=True):
                np.testing.assert_allclose(got[network], wanted, atol=1e-5)


@pytest.mark.parametrize("rows", [3, 5, 40])
def test_the_encoder_is_a_convolution(rows):
    random = np.random.default_rng(0)
    kernel = jnp.asarray(random.normal(size=(3, 3, 3, 16)), jnp.float32)
    bias = jnp.asarray(random.normal(size=16), jnp.float32)
    obs = jnp.asarray(random.integers(0, 2, (7, rows, 5, 3)), bool)
    layout = ("NHWC", "HWIO", "NHWC")

    def convolved(kernel):
        return jax.lax.conv_general_dilated(
            obs.astype(jnp.float32), kernel, (1, 1), "VALID", dimension_numbers=layout, precision="highest"
        )

    def encoded(encoder, kernel, bias, obs):
        return encoder.encode(encoder.prepare({"kernel": kernel, "bias": bias}), obs, 1)

    expected = np.maximum(np.asarray(convolved(kernel)) + np.asarray(bias), 0).reshape(7, -1)
    encoder = Convolution((rows, 5, 3), 16)
    assert (encoder.is_small, encoder.outputs) == (rows < 30, expected.shape[1])
    weights = encoder.prepare({"kernel": kernel, "bias": bias})
    np.testing.assert_allclose(encoder.encode(weights, obs, 1), expected, atol=1e-5)
    twice = encoder.encode(weights, jnp.stack([obs, obs]), 2)
    np.testing.assert_allclose(twice[1], expected, atol=1e-5)
    wanted = jax.grad(
        lambda kernel: jnp.sum(jnp.sin(jax.nn.relu(convolved(kernel) + bias[None, None, None])))
    )(kernel)
    found = jax.grad(lambda kernel: jnp.sum(jnp.sin(encoded(encoder, kernel, bias, obs))))(kernel)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_acting_step_by_step_is_looking_back_over_all_steps(params, share):
    random = np.random.default_rng(0)
    obs = jnp.asarray(random.integers(0, 2, (9, 4, 5, 5, 3)), bool)
    keep = jnp.asarray(random.random((9, 4)) >= share, jnp.float32).at[0].set(0.0)
    weights, step = AGENT.prepare(params), jax.jit(AGENT.step)
    memory, features = AGENT.start(4), []
    for t in range(9):
        memory = jax.tree.map(lambda m, t=t: m * keep[t][:, None], memory)
        memory, now = step(weights, memory, obs[t])
        np.testing.assert_array_equal(AGENT.features(memory), now)
        features.append(now)
    unrolled = UNROLL(params, obs, keep)
    np.testing.assert_allclose(jnp.stack(features), unrolled, atol=1e-5)


def test_the_initial_policy_is_nearly_uniform(params):
    obs = jnp.asarray(np.random.default_rng(0).integers(0, 2, (9, 4, 5, 5, 3)), bool)
    features = UNROLL(params, obs, jnp.ones((9, 4)))
    logits = AGENT.policy(params, features)
    np.testing.assert_allclose(jax.nn.softmax(logits), np.full((9, 4, 5), 0.2), atol=0.01)
    assert AGENT.value(params, features).shape == (9, 4)


def assert_orthogonal(matrix: np.ndarray, gain: float) -> None:
    """Rows or columns, whichever are fewer, are orthogonal and of length `gain`."""
    matrix = np.asarray(matrix)
    small = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, gain**2 * np.eye(len(small)), atol=1e-4 * gain**2)


def test_weights_start_orthogonal_and_biases_at_zero(params):
    for head, last in (("actor", 0.01), ("critic", 1.0)):
        for layer, gain in (("Dense_0", 2**0.5), ("Dense_1", 2**0.5), ("Dense_2", last)):
            assert_orthogonal(params[head][layer]["kernel"], gain)
    for name in ("wx", "wh"):
        for gate in range(4):
            assert_orthogonal(params["lstm"][name][:, gate::4], 1.0)
    limit = (6 / (9 * 3 + 9 * 16)) ** 0.5
    kernel = np.abs(params["conv"]["kernel"])
    assert 0.9 * limit < kernel.max() <= limit
    biases = [params["conv"]["bias"], params["lstm"]["b"]]
    biases += [layer["bias"] for head in ("actor", "critic") for layer in params[head].values()]
    assert all((np.asarray(b) == 0).all() for b in biases)


@pytest.mark.parametrize("sizes", [(), (3,), (8, 5)])
def test_both_heads_at_once_are_each_by_itself(sizes, monkeypatch):
    """Values and gradients, as they are computed where there is a GPU."""
    agent = ConvLSTM(hidden=6, heads=sizes)
    params, random = agent.init(jax.random.key(1)), np.random.default_rng(2)
    features = jnp.asarray(random.normal(size=(7, 3, 6)), jnp.float32)
    weigh = jnp.asarray(random.normal(size=(7, 3, 6)), jnp.float32)

    def told(params, features, both):
        output, value = both(params, features)
        return jnp.sum(weigh * jnp.concatenate([output, value[..., None]], axis=-1) ** 2), (output, value)

    def apart(params, features):
        return agent.policy(params, features), agent.value(params, features)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    found, wanted = (
        jax.value_and_grad(told, (0, 1), has_aux=True)(params, features, both)
        for both in (agent.outputs, apart)
    )
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, wanted)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_rectifier_has_the_gradient_of_the_plain_one(dtype):
    x = jnp.array([-1.0, 0.0, 0.3, 2.0])
    out, back = jax.vjp(partial(encoders.rectified, dtype), x)
    np.testing.assert_array_equal(out, jax.nn.relu(x).astype(dtype))
    slope = jnp.array([1.0, 2.0, 3.0, -4.0], dtype)
    np.testing.assert_array_equal(back(slope)[0], jnp.array([0.0, 0.0, 3.0, -4.0]))
    assert back(slope)[0].dtype == jnp.float32


VIEW = {"far": jax.ShapeDtypeStruct((3,), jnp.float32), "near": jax.ShapeDtypeStruct((2, 2), jnp.uint8)}


def test_the_mlp_takes_observations_of_any_form():
    agent = MLP((8,)).fitted(VIEW, Discrete(4))
    assert isinstance(agent, Agent) and (agent.inputs, agent.action) == (7, Discrete(4))
    params = agent.init(jax.random.key(0))
    obs = {"far": jnp.ones((5, 2, 3)), "near": jnp.full((5, 2, 2, 2), 2, jnp.uint8)}
    features = agent.unroll(params, obs, jnp.ones((5, 2)))
    np.testing.assert_array_equal(features[0, 0], [1, 1, 1, 2, 2, 2, 2])
    memory, step = agent.step(agent.prepare(params), agent.start(2), jax.tree.map(lambda x: x[0], obs))
    np.testing.assert_array_equal(step, features[0])
    np.testing.assert_array_equal(agent.features(memory), step)
    assert agent.policy(params, features).shape == (5, 2, 4) and agent.value(params, features).shape == (5, 2)
