"""A traced program that is kept, with the LSTM's kernels in it, on a GPU: `make test-gpu`."""

from functools import partial

import jax
import numpy as np
import pytest
from test_mesh_gpu import CYCLES, LIMITS, SEEDS, experiment

from maestro import cohort
from maestro.agents.lstm import form, kernel
from maestro.runs import programs
from maestro.trees import is_key

pytestmark = pytest.mark.gpu


def test_a_kept_program_has_the_kernels_and_computes_the_same_to_the_bit(tmp_path, monkeypatch):
    if why := form.obstacle(256, 8):
        pytest.skip(why)
    made = experiment()
    steps, state = partial(cohort.train_steps, made, CYCLES), jax.jit(partial(cohort.init, made, 0, SEEDS))()
    chunks = [jax.jit(steps).lower(state, *LIMITS).compile()]
    chunks += [programs.compiled(tmp_path, made, steps, state, *LIMITS)]  # traced
    monkeypatch.setattr(cohort, "train_step", None)
    chunks += [programs.compiled(tmp_path, made, steps, state, *LIMITS)]  # from the file
    found = []
    for chunk in chunks:
        begun = state
        for _ in range(3):
            begun, _ = chunk(begun, *LIMITS)
        assert int(begun.updates) > 4
        found.append([jax.random.key_data(x) if is_key(x) else x for x in jax.tree.leaves(begun)])
    (path,) = tmp_path.iterdir()
    assert all(name in programs.read(path).mlir_module() for name, _ in kernel.SYMBOLS)
    for leaves in zip(*found, strict=True):
        for other in leaves[1:]:
            np.testing.assert_array_equal(leaves[0], other)
