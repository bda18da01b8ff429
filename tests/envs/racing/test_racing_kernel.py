"""Racing's CUDA kernels, run on a CPU by an emulated GPU, compute what their portable forms do."""

import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import native
from maestro.envs.racing import collision, impulse, kernel, manifold, track, view
from maestro.envs.racing.game import Racing
from oracles import racing_kernel
from oracles.racing_cars import thrown
from oracles.racing_situations import tracks

NOTHING = jnp.zeros((2, 84, 84, 3), jnp.uint8)


def emulated(name, inputs, shape, kind, *rest):
    """A kernel's only result: (name, inputs, result's shape and kind, sizes or facts)."""
    return racing_kernel.run(name, inputs, [np.zeros(shape, kind)], *rest)[0]


@jax.jit
@jax.vmap
def touched(cars, blur):
    """What is to be solved, and what the portable form makes of it and of the same a little off."""
    touch = manifold.manifold(cars)
    pairs, before = collision.in_contact(cars, touch), collision.velocities(cars)
    off = pairs.replace(rows=pairs.rows * blur)
    solved = impulse.solve(pairs, before), impulse.solve(off, before)
    return pairs, before, touch.gap, *solved, impulse.separate(pairs, touch.gap)


@pytest.mark.long
def test_impulses_and_shifts_are_those_of_the_portable_form():
    number, generator = 101, np.random.default_rng(20)
    blur = 1 + generator.normal(0, 1e-7, (number, 6, 5, 14))
    found = jax.tree.map(np.asarray, touched(thrown(generator, number), jnp.asarray(blur, jnp.float32)))
    pairs, before, gap, after, nearly, by = found
    inputs = pairs.rows, pairs.active, pairs.wheel, pairs.strength, before
    mine = emulated("solve", inputs, before.shape, np.float32, number, kernel.FACTS)
    # Cars thrown into each other have up to a dozen contacts, and rounding can decide which of them press.
    steady = np.abs(after - nearly).max(axis=1) < 1e-3
    active = pairs.active.any(axis=(1, 2))
    assert steady.mean() > 0.95 and 0.5 < active.mean() < 0.95
    assert np.abs(after - before)[steady].max() > 5
    np.testing.assert_allclose(mine[steady], after[steady], atol=5e-3)
    np.testing.assert_array_equal(mine[~active], before[~active])
    shifts = emulated(
        "separate", (pairs.rows, pairs.active, gap), before.shape, np.float32, number, kernel.FACTS
    )
    assert np.abs(by).max() > 0.5 and (by == 0).all(axis=1).any()
    np.testing.assert_allclose(shifts, by, atol=1e-4)


@jax.jit
@jax.vmap
def seen(key, level, turn, visited):
    """A scene, as the kernel is given it, and as the portable form draws it."""
    cars = Racing().reset(key, level)[0].cars
    cars = cars.replace(heading=cars.heading + turn, phase=cars.phase + turn[:, None])
    given, scene = [], (track.along(level.center), visited, level.half_side, cars)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "pictures", lambda *inputs: given.extend(inputs[:4]) or NOTHING)
        view.drawn(*scene)
    return given, view.both(*scene)


def test_pictures_are_those_of_the_portable_form():
    number, generator = 16, np.random.default_rng(21)
    turns = jnp.asarray(generator.uniform(-2, 2, (number, 2)), jnp.float32)
    visited = jnp.asarray(generator.random((number, 468)) < 0.5)
    keys = jax.random.split(jax.random.key(6), number)
    found = seen(keys, tracks(number), turns, visited)
    (road, cars, poses, half_sides), expected = jax.tree.map(np.asarray, found)
    inputs = road[0], road[1].astype(np.int32), cars[0], cars[1].astype(np.int32), poses, half_sides
    sizes = number, road[1].shape[1], cars[1].shape[2]
    facts = view.CAMERA.astype(np.float32), view.COLORS.astype(np.int32)
    mine = emulated("pictures", inputs, expected.shape, np.uint8, *sizes, *facts)
    assert len(np.unique(expected.reshape(-1, 3), axis=0)) >= 9
    beyond = (expected[-1] == 0).all(axis=-1).mean()
    assert 0.05 < beyond < 0.95  # black lies beyond the field
    assert (mine != expected).any(axis=-1).mean() < 2e-5  # rounded differently at an edge


def test_the_source_has_what_is_registered_and_the_same_sizes():
    source = kernel.SOURCE.read_text()
    for _, symbol in kernel.SYMBOLS:
        assert f"MAESTRO_KERNEL({symbol}," in source
    parts = {path.stem: path.read_text() for path in (kernel.SOURCE.parent / "kernels").glob("*.cuh")}
    sizes = f"constexpr int PAIRS = {manifold.PAIRS}, ROWS = 5, LANES = 14, WHEELS = 8;"
    codes = f"constexpr int BLACK = {view.BLACK}, LIGHT = {view.LIGHT}, COLORS = {len(view.COLORS)};"
    assert sizes in parts["impulses"] and codes in parts["pictures"]
    assert f"constexpr int FACTS = {len(kernel.FACTS)};" in parts["impulses"]


def test_a_library_is_another_if_a_part_of_its_source_is(tmp_path):
    (tmp_path / "parts").mkdir()
    source, part = tmp_path / "all.cu", tmp_path / "parts" / "one.cuh"
    source.write_text('#include "parts/one.cuh"')
    digests = []
    for text in ("int a;", "int b;", "int a;"):
        part.write_text(text)
        digests.append(native.Library(source, "90", ()).digest(sys.executable))
    assert digests[0] == digests[2] != digests[1]


def test_a_cpu_needs_no_kernels():
    assert kernel.obstacle("") == "there is no NVIDIA GPU" and not kernel.usable()


def test_kernels_that_cannot_be_built_are_left_out_with_a_warning(monkeypatch, caplog):
    class Device:
        compute_capability = "8.6"

    asked = []
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [Device()])
    monkeypatch.setattr(native, "register", lambda library: asked.append(library) or "nvcc is not installed")
    kernel.obstacle.cache_clear()
    with caplog.at_level(logging.WARNING, logger="maestro"):
        assert not kernel.usable() and not kernel.usable()
    assert [record.message for record in caplog.records] == [
        "racing without its kernels, many times slower: nvcc is not installed"
    ]
    assert len(asked) == 1 and "sm_86" in asked[0].flags[-1]
    monkeypatch.setenv(kernel.VARIABLE, "portable")
    assert kernel.obstacle("portable") == "$MAESTRO_RACING says so" and not kernel.usable()
    kernel.obstacle.cache_clear()
