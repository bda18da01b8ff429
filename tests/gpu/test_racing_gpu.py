"""Racing's kernels beside their portable forms, on an NVIDIA GPU: `make test-gpu`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import collision, impulse, kernel, manifold, track, view
from maestro.envs.racing.game import Ground, Progress, Racing, controls
from oracles import racing_cars
from oracles.racing_situations import situations

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True, scope="module")
def gpu():
    """Skip where the kernels cannot run, and say why."""
    if why := kernel.obstacle(""):
        pytest.skip(why)


def thrown(number):
    """Cars thrown into each other, their wheels steered but not turning."""
    cars = racing_cars.thrown(np.random.default_rng(number), number)
    return cars.replace(steer_rate=jnp.zeros_like(cars.steer_rate))


def test_impulses_and_shifts_are_those_of_the_portable_form():
    @jax.jit
    @jax.vmap
    def both(cars, blur):
        touch = manifold.manifold(cars)
        pairs, before = collision.in_contact(cars, touch), collision.velocities(cars)
        forms = [(form.solve(pairs, before), form.separate(pairs, touch.gap)) for form in (impulse, kernel)]
        return before, impulse.solve(pairs.replace(rows=pairs.rows * blur), before), *forms

    blur = 1 + np.random.default_rng(0).normal(0, 1e-7, (4096, 6, 5, 14))
    found = both(thrown(4096), jnp.asarray(blur, jnp.float32))
    before, nearly, portable, fast = jax.tree.map(np.asarray, found)
    # Cars thrown into each other have up to a dozen contacts, and rounding can decide which of them press.
    steady = np.abs(portable[0] - nearly).max(axis=1) < 1e-3
    assert steady.mean() > 0.95 and np.abs(portable[0] - before)[steady].max() > 5
    off = np.abs(fast[0] - portable[0])[steady].max(axis=1)
    assert np.quantile(off, 0.99) < 5e-3 and np.median(off) < 1e-4
    assert np.abs(portable[1]).max() > 0.1
    np.testing.assert_allclose(fast[1], portable[1], atol=1e-4)


def test_pictures_are_those_of_the_portable_form():
    env = Racing()

    @jax.jit
    @jax.vmap
    def both(key, turn):
        level = env.sample_level(key)
        cars = env.reset(key, level)[0].cars
        scene = track.along(level.center), jnp.zeros(468, bool), level.half_side
        cars = cars.replace(heading=cars.heading + turn)
        portable = jax.vmap(lambda ego: view.view(*scene, cars, ego))(jnp.arange(2))
        return portable, view.drawn(*scene, cars)

    turns = jnp.linspace(-1, 1, 256)[:, None]
    portable, fast = jax.tree.map(np.asarray, both(jax.random.split(jax.random.key(0), 256), turns))
    assert len(np.unique(portable.reshape(-1, 3), axis=0)) >= 8
    assert (portable != fast).any(axis=-1).mean() < 1e-5  # rounded differently at an edge


def decision(form, games):
    """The progress of one decision, its frames one after the other or by the kernel."""
    env, none = Racing(), jnp.zeros(2)

    @jax.jit
    @jax.vmap
    def one(level, state, actions, first):
        start = Progress(state, jnp.bool_(False), none, none, none, none, none)
        return env.played(Ground.of(level), start, controls(actions), first)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(kernel.VARIABLE, form)
        return jax.tree.map(np.asarray, one(*games))


def happened(end):
    """Everything of a progress that is exact, a row for each game."""
    state = end.state
    exact = state.touching, state.visited, state.frame, state.astray, end.over, end.grass, end.backwards
    return np.concatenate([part.reshape(len(end.over), -1) for part in exact], axis=1)


def test_the_frames_of_a_decision_are_those_of_the_portable_form():
    games = situations(2048, 1)
    portable, fast, again = (decision(form, games) for form in ("portable", "", ""))
    jax.tree.map(np.testing.assert_array_equal, fast, again)
    place = np.asarray(games[1].cars.position)
    free = np.linalg.norm(place[:, 0] - place[:, 1], axis=1) > 40  # cannot meet within a decision
    equal = (happened(fast) == happened(portable)).all(axis=1)
    assert 0.1 < free.mean() < 0.5 and equal[free].mean() > 0.995 and equal.mean() > 0.98
    for kept in ("position", "heading", "velocity", "steer", "omega"):
        mine, other = (getattr(end.state.cars, kept).reshape(len(equal), -1) for end in (fast, portable))
        off = np.abs(mine - other).max(axis=1)
        alone = off[free & equal]
        assert alone.max() < 1e-2 and np.quantile(alone, 0.99) < 5e-4 and np.quantile(off, 0.8) < 1e-3
    np.testing.assert_allclose(fast.reward[equal], portable.reward[equal], atol=1e-3)
    assert portable.over.mean() > 0.03


def test_repeats_are_equal_to_the_bit():
    cars = thrown(512)
    step = jax.jit(jax.vmap(lambda one: collision.step(one, jnp.zeros((2, 3)), jnp.ones((2, 4), bool))))
    first, again = (jax.tree.map(np.asarray, step(cars)) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
