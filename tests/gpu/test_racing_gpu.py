"""Racing's kernels beside their portable forms, on an NVIDIA GPU: `make test-gpu`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import collision, impulse, kernel, manifold, track, view
from maestro.envs.racing.game import Racing
from oracles import racing_cars

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


def test_repeats_are_equal_to_the_bit():
    cars = thrown(512)
    step = jax.jit(jax.vmap(lambda one: collision.step(one, jnp.zeros((2, 3)), jnp.ones((2, 4), bool))))
    first, again = (jax.tree.map(np.asarray, step(cars)) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
