"""Racing levels as text: what is read back, what is resampled, what is refused and why."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from maestro.envs.levels import LevelError
from maestro.envs.racing import levels, text

TRIANGLE = [[0.0, 0.0], [90.0, 0.0], [0.0, 120.0]]
GOOD = {"half_side": 200, "frames": 100, "center": TRIANGLE}
HEADER = '{"half_side": 200, "frames": 100, "center": '


def shapes(level):
    """The shape and type of each array."""
    return jax.tree.map(lambda x: (x.shape, x.dtype), level)


def assert_equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert shapes(one) == shapes(other)


def test_generated_levels_round_trip_through_files(tmp_path):
    batch = jax.jit(jax.vmap(levels.sample_level))(jax.random.split(jax.random.key(1), 20))
    for i in range(20):
        level = jax.tree.map(lambda x, i=i: x[i], batch)
        (tmp_path / "level.json").write_text(text.to_text(level, f"number {i}"))
        assert_equal(text.LEVELS.read(tmp_path / "level.json"), level)


@settings(max_examples=25, deadline=None)
@given(
    arrays.arrays(np.float32, (468, 2), elements=st.floats(-1, 1, width=32)),
    st.floats(2, 10_000, width=32),
    st.integers(1, 100_000),
)
def test_the_text_of_any_level_reads_back_equal(noise, half_side, frames):
    angle = np.arange(468)[:, None] / 468 * 2 * np.pi
    circle = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    center = (half_side * (0.5 * circle + 0.001 * noise)).astype(np.float32)
    level = levels.Level(jnp.asarray(center), jnp.float32(half_side), jnp.int32(frames))
    assert_equal(text.parse(text.to_text(level)), level)


@pytest.mark.parametrize("name", ["UK", "Malaysia"])
def test_a_circuit_reads_back_equal_and_is_found_in_any_case(name):
    level = text.LEVELS.load(name.upper())
    assert_equal(text.parse(text.to_text(level, name)), level)


def test_a_parsed_level_has_the_shapes_of_a_generated_one():
    generated = jax.eval_shape(levels.sample_level, jax.random.key(0))
    assert shapes(text.parse(json.dumps(GOOD))) == shapes(generated)


def test_three_points_become_468_evenly_spaced_along_the_triangle():
    center = np.asarray(text.parse(json.dumps(GOOD)).center, float)  # sides of 90, 150 and 120
    np.testing.assert_allclose(center[0], [0, 0])
    np.testing.assert_allclose(center[117], [90, 0], atol=1e-4)
    np.testing.assert_allclose(center[312], [0, 120], atol=1e-4)
    tile = np.linalg.norm(np.roll(center, -1, axis=0) - center, axis=1)
    np.testing.assert_allclose(tile, 360 / 468, atol=1e-4)


def test_a_line_of_4096_points_some_of_them_twice_is_read_and_fits_the_bytes():
    angle = (np.arange(4096) // 2 / 2048 + 0.1) * 2 * np.pi
    circle = 100 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    given = json.dumps(GOOD | {"center": circle.tolist()})
    assert len(given) < text.MAX_BYTES
    np.testing.assert_allclose(np.linalg.norm(text.parse(given).center, axis=1), 100, atol=0.01)


def test_468_points_are_kept_as_they_are():
    center = np.asarray(text.LEVELS.load("Italy").center)[:, ::-1]
    parsed = text.parse(json.dumps(GOOD | {"half_side": 500, "center": center.tolist()}))
    np.testing.assert_array_equal(parsed.center, center)


def test_control_points_may_lie_in_any_order_and_anywhere():
    control = np.random.default_rng(2).uniform(0, 300, (12, 2)).round(2)
    one = text.parse(json.dumps({"half_side": 333, "frames": 9, "control": control.tolist()}))
    moved = np.add(control[::-1], [1000, -500]).tolist()
    other = text.parse(json.dumps({"half_side": 333, "frames": 9, "control": moved}))
    np.testing.assert_allclose(one.center, other.center, atol=0.01)
    assert int(one.time_limit) == 2


def but(**changes) -> str:
    """The triangle with some fields changed, or left out if nothing is given for them."""
    return json.dumps({name: value for name, value in (GOOD | changes).items() if value is not None})


LINE = [[float(x), 0.0] for x in (*range(235), *range(233, 0, -1))]  # there and back again
BAD = {
    "no JSON": ("half_side: 200", "not JSON"),
    "nothing": ("", "not JSON"),
    "brackets without end": ("[" * 100_000, "not JSON"),
    "a list": ("[]", "not a JSON object"),
    "a vast integer": (HEADER + "[[" + "9" * 5000 + ",0],[1,1],[2,0]]}", "not JSON"),
    "NaN": (HEADER + "[[NaN, 0], [1, 1], [2, 0]]}", "holds NaN, which is no number"),
    "infinity": (HEADER + "[[-Infinity, 0], [1, 1], [2, 0]]}", "holds -Infinity"),
    "a number too large to be one": (HEADER + "[[1e999, 0], [1, 1], [2, 0]]}", "point 0, .* pair of numbers"),
    "a field twice": ('{"frames": 1, "frames": 2}', "given twice"),
    "an unknown field": (but(width=3), "unknown field 'width' .allowed: name, half_side"),
    "no half side": (but(half_side=None), "'half_side' is missing"),
    "no frames": (but(frames=None), "'frames' is missing"),
    "no road": (but(center=None), "needs the field 'center' or"),
    "two roads": (but(control=TRIANGLE), "not both"),
    "a half side in words": (but(half_side="200"), "half_side: '200' is not a number"),
    "a half side of zero": (but(half_side=0), "half_side: 0 is not"),
    "a vast half side": (but(half_side=1e6), "half_side: 1000000.0 is not a number up to 10,000"),
    "a true half side": (but(half_side=True), "half_side: True"),
    "no frame at all": (but(frames=0), "frames: 0 is not an integer from 1 to 100,000"),
    "too many frames": (but(frames=100_001), "frames: 100001"),
    "half a frame": (but(frames=1.5), "frames: 1.5"),
    "true frames": (but(frames=True), "frames: True"),
    "a name that is none": (but(name=3), "name: 3"),
    "a name of two lines": (but(name="a\nb"), "name: 'a"),
    "a long name": (but(name="a" * 101), "at most 100 characters"),
    "two points": (but(center=TRIANGLE[:2]), "not a list of 3 to 4,096 points"),
    "too many points": (but(center=[[0, 1]] * 4097), "not a list of 3 to 4,096 points"),
    "a road in words": (but(center="round"), "not a list"),
    "a point of three": (but(center=[[0, 0], [1, 2, 3], [4, 0]]), "point 1, .1, 2, 3., is not a pair"),
    "a point that is none": (but(center=[[0, 0], 7, [4, 0]]), "point 1, 7, is not a pair"),
    "a point in words": (but(center=[[0, 0], [1, "2"], [4, 0]]), "point 1, .* is not a pair"),
    "a true point": (but(center=[[0, 0], [1, True], [4, 0]]), "point 1, .* is not a pair"),
    "an empty point": (but(center=[[0, 0], [1, None], [4, 0]]), "point 1, .* is not a pair"),
    "a point outside": (but(center=[[0, 0], [9, 1], [0, 200.1]]), "point 2 lies outside the field"),
    "a point far outside": (
        but(center=[[0, 0], [9, 1], [0, 10**400]]),
        "not JSON|point 2, .*outside the field",
    ),
    "no length": (but(center=[[5, 5]] * 3), "zero length, at .5, 5"),
    "next to no length": (but(center=[[0, 0], [0.1, 0], [0, 0.1]]), "zero length"),
    "two equal neighbors of 468": (
        but(half_side=300, center=[[0.0, 0.0], *LINE[:-1]]),
        "zero length, at .0, 0",
    ),
    "a road there and back": (but(half_side=300, center=LINE), "doubles back on itself"),
    "11 control points": (but(center=None, control=[[0, 0]] * 11), "control: is not a list of 12 points"),
    "a curve too wide": (
        but(center=None, control=[[500 * (i % 2), 40 * i] for i in range(12)]),
        "road leaves the field",
    ),
    "control points in one place": (but(center=None, control=[[1, 1]] * 12), "zero length"),
    "too long": (but() + " " * text.MAX_BYTES, "longer than 262,144"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_level_is_refused_with_the_reason(name, tmp_path):
    content, problem = BAD[name]
    with pytest.raises(LevelError, match=problem):
        text.parse(content)
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(LevelError, match=r"bad\.json: "):
        text.LEVELS.read(tmp_path / "bad.json")


def test_a_name_must_be_one_line():
    with pytest.raises(ValueError, match="must be one line"):
        text.to_text(text.LEVELS.load("UK"), "two\nlines")
