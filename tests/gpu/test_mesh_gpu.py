"""A cohort through a mesh of one GPU, with the LSTM's kernel inside of it: `make test-gpu`."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest

import probes
from maestro import cohort, sharding
from maestro.agents.lstm import form, kernel
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.sharding import Layout
from maestro.trees import is_key

pytestmark = pytest.mark.gpu

CYCLES, SEEDS = 4, 2
LIMITS = np.int32(2**30), np.int32(CYCLES)


def experiment():
    """LaserTag with the network of the paper, whose minibatches are multiples of 8 sequences."""
    config = replace(GAME.presets["paper"], seeds=SEEDS)
    return build.experiment(
        GAME,
        probes.with_changes(
            config,
            ppo={"workers": 32, "rollout_length": 32},
            curriculum={"member_buffer_size": 64, "min_fill": 0.1},
            schedule={"kind": "parallel", "total_updates": 40, "interval": 20},
        ),
    )


def test_the_kernel_runs_within_a_mesh_and_all_is_equal_to_the_bit():
    if why := form.obstacle(256, 8):
        pytest.skip(why)
    made = experiment()
    state = jax.jit(partial(cohort.init, made, 0, SEEDS))()
    found = []
    for layout in (None, Layout(1, 1)):
        begun = sharding.put(layout, state)
        chunk = sharding.compiled(layout, partial(cohort.train_steps, made, CYCLES), begun, *LIMITS)
        assert kernel.FORWARD in chunk.as_text() and kernel.BACKWARD in chunk.as_text()
        for _ in range(3):
            begun, _ = chunk(begun, *LIMITS)
        assert int(begun.updates) > 4
        found.append(jax.tree.leaves(sharding.fetch(begun)))
    for left, right in zip(*found, strict=True):
        if is_key(left):
            left, right = jax.random.key_data(left), jax.random.key_data(right)
        np.testing.assert_array_equal(left, right)
