"""Both forms of what LaserTag's players see: equal everywhere, and each where it is the faster one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.lasertag import levels, views
from maestro.envs.lasertag.levels import SIDE
from maestro.envs.lasertag.state import State

COUNT = 4000


def somewhere(key):
    """A level and a state in which anything stands anywhere, the outer wall included; some are tagged."""
    level_key, place, way, life, flying, which = jax.random.split(key, 6)
    bolts = jax.random.randint(flying, (SIDE, SIDE), 0, 256) * jax.random.bernoulli(which, 0.2, (SIDE, SIDE))
    state = State(
        position=jax.random.randint(place, (2, 2), 0, SIDE),
        facing=jax.random.randint(way, (2,), 0, 4),
        alive=jax.random.bernoulli(life, 0.8, (2,)),
        bolts=bolts.astype(jnp.uint8),
        time=jnp.int32(0),
    )
    return levels.sample_level(level_key), state


@pytest.fixture(scope="module")
def states():
    """Many of them."""
    return jax.jit(jax.vmap(somewhere))(jax.random.split(jax.random.key(7), COUNT))


def test_rows_and_cells_give_the_same_views(states):
    words, cells = (jax.jit(jax.vmap(form))(*states) for form in (views.by_words, views.by_cells))
    assert words.dtype == cells.dtype == jnp.uint8
    np.testing.assert_array_equal(words, cells)
    shown = np.asarray(cells).reshape(-1, 3).mean(axis=0)
    assert (shown > 0.01).all(), "there is something of everything to be seen"


def gathers(function, platform, states):
    """How often the lowered program looks something up in an array."""
    lowered = jax.jit(jax.vmap(function)).trace(*states).lower(lowering_platforms=(platform,))
    return lowered.as_text().count("stablehlo.gather")


@pytest.mark.parametrize(("platform", "form"), [("cpu", views.by_words), ("cuda", views.by_cells)])
def test_each_platform_has_its_own_form(platform, form, states):
    own = gathers(form, platform, states)
    assert own != gathers(views.by_words if form is views.by_cells else views.by_cells, platform, states)
    assert gathers(views.observe, platform, states) == own
