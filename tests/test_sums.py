"""Sums by slot: both forms beside a plain loop, and that no program adds floats as they come on a GPU."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probes
from maestro import cohort, sums
from maestro.games.lasertag import GAME
from maestro.runs import build

LIMITS = np.int32(1), np.int32(2)


def by_hand(total, slots, x):
    """One number after the other."""
    found = np.array(total, np.float64)
    for slot, value in zip(slots.ravel(), x.ravel(), strict=True):
        if slot < found.size:
            found[slot] += value
    return found


@pytest.mark.parametrize("form", [sums.add, sums.scattered, sums.gathered])
@given(
    shape=st.sampled_from([(1,), (7,), (3, 5), (64,)]),
    count=st.integers(1, 9),
    dice=st.integers(0, 2**32 - 1),
)
def test_each_slot_gets_the_sum_of_what_goes_to_it(form, shape, count, dice):
    dice = np.random.default_rng(dice)
    total = dice.normal(size=count).astype(np.float32)
    slots = dice.integers(0, count + 2, shape).astype(np.int32)  # some are beyond the last
    x = dice.normal(size=shape).astype(np.float32)
    found = form(*map(jnp.asarray, (total, slots, x)))
    np.testing.assert_allclose(found, by_hand(total, slots, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [sums.scattered, sums.gathered])
def test_whole_numbers_stay_whole(form):
    total, slots = jnp.array([1, 2, 3], jnp.int32), jnp.array([2, 0, 2, 3, 2])
    found = form(total, slots, jnp.array([1, 10, 100, 1000, 10000], jnp.int32))
    assert found.dtype == jnp.int32 and found.tolist() == [11, 2, 10104]


def test_numbers_that_go_nowhere_change_nothing_though_they_are_no_numbers():
    for form in (sums.scattered, sums.gathered):
        found = form(jnp.ones(2), jnp.array([2, 1]), jnp.array([jnp.inf, 2.0]))
        assert found.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(("platform", "scatters"), [("cpu", True), ("cuda", False)])
def test_each_platform_has_its_form(platform, scatters):
    program = jax.jit(sums.add).trace(jnp.zeros(3), jnp.zeros(4, jnp.int32), jnp.zeros(4))
    assert ("scatter" in program.lower(lowering_platforms=(platform,)).as_text()) == scatters


def scattered_sums(text):
    """Whether the slots are known to differ, of each place where a program adds floats to slots."""
    places = re.findall(r'"stablehlo\.scatter"(.*?)\n\s*\}\) : \(tensor<([^>]*)>', text, re.DOTALL)
    sums_of_floats = [place for place, kind in places if kind.endswith("f32") and "stablehlo.add" in place]
    return ["unique_indices = true" in place for place in sums_of_floats]


@pytest.mark.parametrize(
    ("method", "score"), [("maestro", "max_mc"), ("plr-pfsp", "mean_mc"), ("maestro", "learnability")]
)
def test_on_a_gpu_no_floats_are_added_as_they_come(method, score):
    config = probes.with_changes(GAME.presets["tiny"], method=method, seeds=2, curriculum={"score": score})
    made = build.experiment(GAME, config)
    state = jax.eval_shape(partial(cohort.init, made, 0, 2))
    program = jax.jit(partial(cohort.train_steps, made, 2)).trace(state, *LIMITS)
    found = {on: scattered_sums(program.lower(lowering_platforms=(on,)).as_text()) for on in ("cpu", "cuda")}
    assert found["cuda"] and all(found["cuda"])
    assert not all(found["cpu"])  # where the order is the same each time
