"""Generated tracks, edits and measures beside their twins and the statistics of the original generator."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from maestro.envs.racing import bezier, hull, levels
from maestro.envs.racing.levels import Level
from maestro.envs.racing.text import LEVELS, NAMES
from oracles import racing_track

NUM, RECORDED = 2_000, 200  # tracks of ours, and of the original's sample
SAMPLE = jax.jit(jax.vmap(levels.sample_level))
CURVES = jax.jit(jax.vmap(bezier.center_line))
STATISTICS = jax.jit(levels.statistics)
HULL = jax.jit(hull.measure)
BUMP = jax.jit(jax.vmap(levels.bump, in_axes=(0, None)))


@pytest.fixture(scope="module")
def tracks() -> np.ndarray:
    """The center lines of 2,000 generated tracks."""
    return np.asarray(SAMPLE(jax.random.split(jax.random.key(0), NUM)).center, np.float64)


def lengths(tracks: np.ndarray) -> np.ndarray:
    """Of all tiles."""
    return np.linalg.norm(np.roll(tracks, -1, axis=1) - tracks, axis=2)


def assert_same_mean(sample: np.ndarray, recorded: float) -> None:
    """Within 4 standard errors of the difference, the original's sample being as spread as ours."""
    error = sample.std() * math.sqrt(1 / len(sample) + 1 / RECORDED)
    assert abs(sample.mean() - recorded) <= 4 * error, (sample.mean(), recorded)


def smallest_radius(tracks: np.ndarray) -> np.ndarray:
    """Of each track, of the circles through three points in a row."""
    a, b, c = np.roll(tracks, 1, axis=1), tracks, np.roll(tracks, -1, axis=1)
    sides = [np.linalg.norm(p - q, axis=2) for p, q in ((a, b), (b, c), (c, a))]
    doubled = np.maximum(np.abs(cross(b - a, c - a)), 1e-12)
    return (sides[0] * sides[1] * sides[2] / (2 * doubled)).min(axis=1)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The area between two vectors."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def overlaps(track: np.ndarray) -> bool:
    """Whether two places of a road lie closer than it is wide, though they are six widths apart along it."""
    step = lengths(track[None])[0]
    along = np.concatenate([[0], step.cumsum()[:-1]])
    apart = np.abs(along[:, None] - along[None])
    apart = np.minimum(apart, step.sum() - apart)
    return bool((np.linalg.norm(track[:, None] - track[None], axis=2)[apart > 80] < 40 / 3).any())


def test_a_curve_through_control_points_is_the_twins():
    random = np.random.default_rng(0)
    controls = random.uniform(0, 1000 / 3, (40, 12, 2)).astype(np.float32)
    for control, line in zip(controls, CURVES(jnp.asarray(controls)), strict=True):
        np.testing.assert_allclose(line, racing_track.center_line(control.astype(float)), atol=2e-3)


def test_control_points_are_refused_as_the_twin_refuses_them():
    controls = np.random.default_rng(1).random((2_000, 12, 2)).astype(np.float32)
    passes = jax.jit(jax.vmap(bezier.spaced))(jnp.asarray(controls))
    expected = [racing_track.spaced(control.astype(float)) for control in controls]
    np.testing.assert_array_equal(passes, expected)
    drawn = RECORDED / 0.112  # of the original's draws 11.2 % passed
    assert abs(np.mean(expected) - 0.112) < 4 * math.sqrt(0.112 * 0.888 * (1 / drawn + 1 / 2_000))


def test_drawn_control_points_keep_apart_in_their_square_or_disc():
    keys = jax.random.split(jax.random.key(2), 200)
    for disc in (False, True):
        control = np.asarray(jax.jit(jax.vmap(lambda k, disc=disc: bezier.sample_control(k, disc)))(keys))
        unit = control.astype(float) / bezier.SIDE
        assert all(racing_track.spaced(points) for points in unit)
        assert unit.min() >= 0 and unit.max() <= 1
        far = np.linalg.norm(unit - 0.5, axis=2)
        assert far.max() <= 0.5 + 1e-6 if disc else far.max() > 0.6


def test_the_track_that_a_key_draws_does_not_depend_on_its_batch(tracks):
    keys = jax.random.split(jax.random.key(0), NUM)[13:14]
    np.testing.assert_allclose(SAMPLE(keys).center[0], tracks[13], atol=1e-3)


def test_2000_generated_tracks_are_as_long_and_as_large_as_the_originals(tracks):
    tile = lengths(tracks)
    length = tile.sum(axis=1)
    assert tile.shape == (NUM, 468)
    assert_same_mean(length, 1172)
    assert abs(length.std() / 135 - 1) < 4 * math.sqrt(0.5 / RECORDED)
    assert np.mean(length < 884) < 0.03 and np.mean(length > 1567) < 0.03  # extremes of 200
    np.testing.assert_allclose(tile.mean(), 2.50, rtol=0.04)
    np.testing.assert_allclose(np.percentile(tile, [1, 99]), [0.45, 7.09], rtol=0.06)
    extent = (tracks.max(axis=1) - tracks.min(axis=1)).max(axis=1)
    assert_same_mean(extent, 309)
    assert np.mean(extent > 348) < 0.03


def test_2000_generated_tracks_are_as_sharp_and_as_tangled_as_the_originals(tracks):
    radius = np.log(smallest_radius(tracks))
    error = 1.25 * radius.std() / math.sqrt(RECORDED)  # of a median
    assert abs(np.median(radius) - math.log(2.8)) < 4 * error
    share = np.mean([overlaps(track) for track in tracks[:300]])
    assert abs(share - 0.22) < 4 * math.sqrt(0.22 * 0.78 * (1 / RECORDED + 1 / 300))


def test_generated_tracks_lead_counter_clockwise_around_the_middle_of_the_field(tracks):
    assert (cross(tracks, np.roll(tracks, -1, axis=1)).sum(axis=1) > 0).all()
    np.testing.assert_allclose(tracks.min(axis=1), -tracks.max(axis=1), atol=1e-3)
    assert np.abs(tracks).max() < levels.HALF_SIDE and lengths(tracks).min() > levels.LEAST_TILE


def test_a_generated_level_has_1000_frames_and_125_decisions():
    level = levels.sample_level(jax.random.key(4))
    assert (int(level.frames), int(level.time_limit)) == (1000, 125)
    assert float(level.half_side) == np.float32(1000 / 3)
    assert {leaf.dtype.name for leaf in jax.tree.leaves(level)} == {"float32", "int32"}
    many = level.replace(frames=jnp.array([1, 8, 9, 1500]))
    np.testing.assert_array_equal(many.time_limit, [1, 1, 2, 188])


def assert_as_its_twin(level: Level) -> None:
    """The measures are the twin's."""
    measured, expected = STATISTICS(level), racing_track.measures(np.asarray(level.center))
    assert set(measured) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(measured[name], value, rtol=1e-4, atol=2e-6, err_msg=name)


def test_the_measures_of_generated_tracks_are_the_twins(tracks):
    for center in tracks[:60]:
        assert_as_its_twin(levels.level_of(jnp.asarray(center, jnp.float32)))


@pytest.mark.parametrize("name", NAMES)
def test_the_measures_of_a_circuit_are_the_twins(name):
    assert_as_its_twin(LEVELS.load(name))


def test_the_measures_of_a_circle_are_known():
    angle = np.arange(468) / 468 * 2 * np.pi
    circle = jnp.asarray(100 * np.stack([np.cos(angle), np.sin(angle)], axis=1), jnp.float32)
    measured = STATISTICS(levels.level_of(circle))
    expected = {"length": 200 * np.pi, "area": 1e4 * np.pi, "curvature": 0.01, "notches_down": 234 / 465}
    for name, value in expected.items():
        np.testing.assert_allclose(measured[name], value, rtol=1e-3, err_msg=name)
    for name in ("notches", "amplitude", "convexity", "complexity"):
        np.testing.assert_allclose(measured[name], 0, atol=1e-4, err_msg=name)


def in_all_ways(points: np.ndarray) -> list[np.ndarray]:
    """Points, and the same turned by right angles."""
    x, y = points.T
    return [np.stack(turned, axis=1) for turned in ((x, y), (-y, x), (-x, -y), (y, -x))]


def test_the_hull_of_random_points_of_a_grid_and_of_a_triangle_is_qhulls():
    random = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
    cases = [grid, np.array([[0.0, 0], [3, 0], [3, 4]]), random.normal(size=(100, 2)).round()]
    cases += [random.normal(size=(100, 2)).round(digits) for digits in (1, 2, 6)]
    for points in [turned for case in cases for turned in in_all_ways(case)]:
        expected, filled = ConvexHull(points), random.permutation(np.resize(points, (100, 2)))
        measured = HULL(jnp.asarray(filled, jnp.float32))  # with points that are there more than once
        np.testing.assert_allclose(measured, [expected.area, expected.volume], rtol=1e-5)


def test_a_bump_moves_the_road_one_way_most_at_one_tile_and_nowhere_far_from_it():
    level = LEVELS.load("UK")
    moved = BUMP(jax.random.split(jax.random.key(6), 400), level).center - level.center[None]
    far = np.linalg.norm(np.asarray(moved, float), axis=2)
    assert (far.max(axis=1) <= 50 + 1e-3).all() and far.max() > 48  # 0.05 of 1000
    peaks = far.argmax(axis=1)
    assert len(np.unique(peaks)) > 200  # of 468 tiles
    away = np.abs((np.arange(468)[None] - peaks[:, None] + 234) % 468 - 234)
    bell = np.where(away < 39, np.cos(np.pi * away / 78) ** 2, 0)
    np.testing.assert_allclose(far, far.max(axis=1, keepdims=True) * bell, atol=1e-3)
    ways = np.asarray(moved)[np.arange(400), peaks]
    np.testing.assert_allclose(moved, ways[:, None] * bell[..., None], atol=1e-3)
    assert np.abs(ways.mean(axis=0)).max() < 4 * 25 / math.sqrt(400)  # in any direction


def test_an_edit_is_five_bumps_and_leaves_the_rest_of_a_level_alone():
    level, key = levels.sample_level(jax.random.key(7)), jax.random.key(8)
    edited = jax.jit(levels.edit)(key, level)
    expected = level
    for change in jax.random.split(key, 5):
        expected = levels.bump(change, expected)
    np.testing.assert_allclose(edited.center, expected.center, atol=1e-3)
    assert (np.asarray(edited.center) != np.asarray(level.center)).any()
    assert (edited.half_side, edited.frames) == (level.half_side, level.frames)


def test_a_bump_that_leaves_the_field_is_not_made():
    level = LEVELS.load("Monaco")
    tight = level.replace(half_side=jnp.abs(level.center).max())
    moved = np.asarray(BUMP(jax.random.split(jax.random.key(9), 300), tight).center)
    kept = (moved == np.asarray(level.center)[None]).all(axis=(1, 2))
    assert 0 < kept.sum() < 300 and np.abs(moved).max() <= float(tight.half_side)


def test_a_road_with_a_tile_of_zero_length_is_not_made():
    center = np.array(levels.sample_level(jax.random.key(10)).center)
    assert levels.is_drivable(jnp.asarray(center), 200.0)
    folded, doubled, unknown = center.copy(), center.copy(), center.copy()
    folded[51], doubled[51], unknown[51] = center[49], center[50], np.nan
    for bad in (folded, doubled, unknown):
        assert not levels.is_drivable(jnp.asarray(bad), 200.0)
        moved = BUMP(jax.random.split(jax.random.key(11), 50), levels.level_of(jnp.asarray(bad))).center
        kept = [np.array_equal(line, bad, equal_nan=True) for line in np.asarray(moved)]
        fine = jax.vmap(lambda line: levels.is_drivable(line, levels.HALF_SIDE))(moved)
        assert sum(kept) > 30 and (np.array(kept) | np.asarray(fine)).all()
