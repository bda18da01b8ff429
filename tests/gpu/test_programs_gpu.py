"""Traced programs that are kept, with the LSTM's kernels in them, on a GPU: `make test-gpu`."""

from functools import partial

import jax
import numpy as np
import pytest
from test_mesh_gpu import CYCLES, LIMITS, SEEDS, experiment

from maestro import cohort, pieces
from maestro.agents.lstm import form, kernel
from maestro.runs import making, programs
from maestro.trees import is_key

pytestmark = pytest.mark.gpu

REPEATS = 5  # of each: where floats were added as they came, nine repeats of ten differed


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
    for chunk in chunks * REPEATS:
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


def test_kept_pieces_have_the_kernels_and_compute_the_same_to_the_bit(tmp_path, monkeypatch):
    if why := form.obstacle(256, 8):
        pytest.skip(why)
    made = experiment()
    state = jax.jit(partial(cohort.init, made, 0, SEEDS))()
    chunks = [making.compiled(tmp_path, made, state)]
    monkeypatch.setattr(making.Course, "flat", lambda *_: 1 / 0)
    monkeypatch.setattr(pieces, "decide", None)
    chunks += [making.compiled(tmp_path, made, state)] * 2
    found = []
    for chunk in chunks * REPEATS:
        begun, told = state, []
        for _ in range(3):
            begun, measured = chunk(begun, *LIMITS)
            told.append(measured.student_return)
        assert int(begun.updates) > 4
        found.append([jax.random.key_data(x) if is_key(x) else x for x in jax.tree.leaves(begun)] + told)
    kept = [programs.read(path).mlir_module() for path in tmp_path.iterdir()]
    assert all(any(name in module for module in kept) for name, _ in kernel.SYMBOLS)
    for leaves in zip(*found, strict=True):
        for other in leaves[1:]:
            np.testing.assert_array_equal(leaves[0], other)
