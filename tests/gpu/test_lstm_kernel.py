"""The LSTM's kernel beside its portable form and the plain scan, on a Hopper GPU: `make test-gpu`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.agents import lstm
from maestro.agents.lstm import form

pytestmark = pytest.mark.gpu

F, H = 144, 256
NAMES = ("x", "keep", "h0", "c0", "wx", "wh", "b")
LEARNED = tuple(name for name in NAMES if name != "keep")
ROUNDED = 0.02  # of the largest entry: operands of 8 bits, sums of up to 300 steps


@pytest.fixture(autouse=True, scope="module")
def hopper():
    """Skip where the kernel cannot run, and say why."""
    if why := form.obstacle(H, 8):
        pytest.skip(why)


def inputs(runs: int, steps: int, batch: int, share: float) -> dict:
    """Random inputs with leading runs; a share of the steps starts an episode."""
    random = np.random.default_rng((runs, steps, batch))
    shapes = {"x": (steps, batch, F), "h0": (batch, H), "c0": (batch, H), "b": (4 * H,)}
    values = {name: random.normal(size=(runs, *shape)) for name, shape in shapes.items()}
    values |= {
        "wx": random.normal(size=(runs, F, 4 * H)) / 12,
        "wh": random.normal(size=(runs, H, 4 * H)) / 16,
    }
    values["keep"] = random.random((runs, steps, batch)) >= share
    return {name: jnp.asarray(value, jnp.float32) for name, value in values.items()}


def of_form(name: str):
    """The LSTM in one form, whichever would be chosen."""
    return lambda *values: lstm.run(name, *values)


def states_and_gradients(cell, values: dict) -> dict:
    """The states of all runs, and gradients of a function that weighs each state differently."""

    def one(values: dict) -> dict:
        def total(learned: dict):
            states = cell(*(({**values, **learned})[name] for name in NAMES))
            weight = jnp.sin(jnp.arange(states.size, dtype=jnp.float32)).reshape(states.shape)
            return jnp.sum(weight * states**2), states

        learned = {name: values[name] for name in LEARNED}
        (_, states), gradients = jax.value_and_grad(total, has_aux=True)(learned)
        return {"states": states, **gradients}

    with jax.default_matmul_precision("highest"):
        return jax.jit(jax.vmap(one))(values)


def assert_close(ours: dict, other: dict, share: float) -> None:
    """Element by element, within a share of the largest one."""
    for name, expected in other.items():
        expected, got = np.asarray(expected), np.asarray(ours[name])
        assert np.isfinite(got).all(), name
        largest, off = np.abs(expected).max(), np.abs(got - expected).max()
        assert off <= share * largest, f"{name}: off by {off:.4g}, the largest is {largest:.4g}"


SIZES = [
    (1, 1, 8),
    (2, 2, 16),
    (1, 3, 8),
    (3, 64, 40),
    (1, 300, 8),
    (10, 256, 8),
    (1, 128, 512),
    (5, 256, 128),
]


@pytest.mark.parametrize("share", [0.0, 0.02, 1.0], ids=["no reset", "some resets", "all resets"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "runs{}-steps{}-batch{}".format(*size))
def test_the_three_forms_compute_the_same(size, share):
    values = inputs(*size, share)
    plain = states_and_gradients(lstm.plain_lstm, values)
    portable = states_and_gradients(of_form("portable"), values)
    kernel = states_and_gradients(of_form("kernel"), values)
    assert_close(portable, plain, ROUNDED)
    assert_close(kernel, plain, ROUNDED)
    assert_close(kernel, portable, ROUNDED)


def test_a_repeat_is_the_same_to_the_bit():
    values = inputs(5, 256, 128, 0.02)
    first = states_and_gradients(of_form("kernel"), values)
    for _ in range(20):
        again = states_and_gradients(of_form("kernel"), values)
        for name in first:
            np.testing.assert_array_equal(first[name], again[name], err_msg=name)


def test_nothing_is_remembered_from_before_an_episode():
    values, start = inputs(1, 40, 16, 0.0), 17
    values["keep"] = values["keep"].at[:, start].set(0.0)
    other = values | {"x": values["x"].at[:, :start].add(1.0)}
    run = jax.jit(jax.vmap(of_form("kernel")))
    whole, changed = (np.asarray(run(*(v[name] for name in NAMES))) for v in (values, other))
    np.testing.assert_array_equal(whole[:, start:], changed[:, start:])
    assert (whole[:, :start] != changed[:, :start]).mean() > 0.5


def test_the_kernel_is_what_runs_here():
    assert lstm.choose(H, 128).name == "kernel"
    program = jax.jit(jax.vmap(lstm.lstm)).lower(*(inputs(1, 4, 8, 0.0)[name] for name in NAMES)).as_text()
    assert "maestro_lstm_forward" in program


def step_inputs(networks: int, rows: int, features: int = F) -> tuple[dict, tuple]:
    """Parameters of networks, and x, h, c of their rows."""
    random = np.random.default_rng((networks, rows, features))
    shapes = {"wx": (features, 4 * H), "wh": (H, 4 * H), "b": (4 * H,)}
    params = {name: random.normal(size=(networks, *shape)) / 12 for name, shape in shapes.items()}
    data = [random.normal(size=(networks, rows, size)) for size in (features, H, H)]
    x, h, c = (jnp.asarray(value, jnp.float32) for value in data)
    given = {name: jnp.asarray(value, jnp.float32) for name, value in params.items()}
    return given, (jax.nn.relu(x), jnp.tanh(h).astype(jnp.bfloat16), c)


STEPS = [  # networks, rows of each, features
    *((1, 1, F), (1, 8, 64), (2, 64, F), (3, 7, 8), (20, 64, F), (60, 64, F)),
    *((10, 1024, F), (1, 4099, 40), (2, 500, 1504), (200, 65, F), (300, 2, F)),
]


@pytest.mark.parametrize("networks, rows, features", STEPS)
def test_one_step_computes_what_the_products_do(networks, rows, features, monkeypatch):
    params, data = step_inputs(networks, rows, features)

    def stepped(params: dict, data: tuple):
        return lstm.step(lstm.prepare(params), *data)

    program = jax.jit(jax.vmap(stepped)).lower(params, data)
    assert "maestro_lstm_step" in program.as_text()
    compiled = program.compile()
    found, again = compiled(params, data), compiled(params, data)
    monkeypatch.setenv(form.VARIABLE, "portable")
    other = jax.jit(jax.vmap(lambda *inputs: stepped(*inputs))).lower(params, data)
    assert "maestro_lstm_step" not in other.as_text()
    for ours, same, theirs in zip(found, again, other.compile()(params, data), strict=True):
        ours, same, theirs = (np.asarray(y, np.float32) for y in (ours, same, theirs))
        np.testing.assert_array_equal(ours, same)
        assert np.isfinite(ours).all()
        assert np.abs(ours - theirs).max() <= 0.01 * np.abs(theirs).max()


def test_games_of_one_network_are_rows_of_one_step():
    params, data = step_inputs(3, 40)
    weights = jax.vmap(lstm.prepare)(params)
    whole = jax.jit(jax.vmap(lstm.step))(weights, *data)
    one_by_one = jax.jit(jax.vmap(jax.vmap(lstm.step, (None, 0, 0, 0))))
    for a, b in zip(whole, one_by_one(weights, *data), strict=True):
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))
    assert "tensor<3x40x256" in one_by_one.lower(weights, *data).as_text()
