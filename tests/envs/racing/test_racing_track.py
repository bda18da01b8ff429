"""Tiles and curbs beside their twins, and beside pictures of the original game."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs.racing import track
from maestro.envs.racing.track import Track
from oracles import racing_track

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "racing_frames.npz")
POINT, BETA = RECORDED["track"][:, 2:], RECORDED["track"][:, 1]
DRIVEN = range(3, 13)  # of the recorded instants; before them the camera still zooms in


def recorded_track() -> Track:
    """The track of the recorded pictures."""
    return Track(jnp.asarray(POINT, jnp.float32), jnp.asarray(BETA, jnp.float32))


def wavy(random: np.random.Generator, num: int) -> np.ndarray:
    """A closed line of that many points that turns hard both ways."""
    angle = np.arange(num) / num * 2 * np.pi
    radius = 60 + sum(random.uniform(-9, 9) * np.cos(k * angle + random.uniform(0, 6)) for k in range(2, 9))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def assert_as_its_twin(road: Track) -> int:
    """Tiles, curbed tiles and curbs are the twin's; returns how many curbs there are."""
    point, beta = np.asarray(road.point, float), np.asarray(road.beta, float)
    expected = [racing_track.tile(point, beta, i) for i in range(len(beta))]
    np.testing.assert_allclose(track.tiles(road), expected, atol=1e-3)
    curbed = np.asarray(track.curbed(road))
    np.testing.assert_array_equal(curbed, racing_track.curbed(beta))
    curbs = np.asarray(track.curbs(road))
    for i in np.flatnonzero(curbed):
        np.testing.assert_allclose(curbs[i], racing_track.curb(point, beta, i), atol=1e-3)
    return int(curbed.sum())


def test_the_recorded_track_has_the_directions_that_its_points_give():
    road = track.along(jnp.asarray(POINT, jnp.float32))
    difference = np.asarray(road.beta) - BETA
    np.testing.assert_allclose(np.remainder(difference + 1, 2 * np.pi) - 1, 0, atol=1e-4)


def test_the_recorded_tracks_tiles_and_curbs_are_the_twins():
    assert assert_as_its_twin(recorded_track()) > 20


@pytest.mark.parametrize("num", [40, 156, 468])
def test_tiles_and_curbs_of_winding_tracks_are_the_twins(num):
    random = np.random.default_rng(num)
    lines = [jnp.asarray(wavy(random, num), jnp.float32) for _ in range(6)]
    counts = [assert_as_its_twin(track.along(line)) for line in lines]
    assert sum(counts) > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 39))
def test_a_track_that_starts_elsewhere_has_the_same_tiles_and_curbs(seed, shift):
    line = jnp.asarray(wavy(np.random.default_rng(seed), 40), jnp.float32)
    here, there = track.along(line), track.along(jnp.roll(line, -shift, axis=0))
    for part in (track.tiles, track.curbed, track.curbs):
        np.testing.assert_array_equal(jnp.roll(part(here), -shift, axis=0), part(there))


def test_a_mirrored_track_has_mirrored_curbs():
    line = jnp.asarray(wavy(np.random.default_rng(7), 60), jnp.float32)
    here, there = track.along(line), track.along(line * jnp.array([[-1.0, 1.0]]))
    curbed = np.asarray(track.curbed(here))
    np.testing.assert_array_equal(curbed, track.curbed(there))
    mirrored = np.asarray(track.curbs(there))[curbed] * [-1, 1]
    np.testing.assert_allclose(np.asarray(track.curbs(here))[curbed], mirrored, atol=1e-3)
    assert curbed.any()


def test_a_car_that_drives_along_a_counter_clockwise_circle_always_turns_left():
    angle = np.arange(100) / 100 * 2 * np.pi
    circle = jnp.asarray(50 * np.stack([np.cos(angle), np.sin(angle)], axis=1), jnp.float32)
    road = track.along(circle)
    np.testing.assert_allclose(track.turns(road), 2 * np.pi / 100, atol=1e-5)
    np.testing.assert_allclose(road.normal, circle / 50, atol=1e-5)  # outward is to the right
    assert track.curbed(road).all()
    inner = np.linalg.norm(np.asarray(track.curbs(road)), axis=-1)
    np.testing.assert_allclose(inner, np.tile([50 - 20 / 3, 42, 42, 50 - 20 / 3], (100, 1)), atol=1e-3)


def test_a_gentle_circle_has_no_curb():
    angle = np.arange(102) / 102 * 2 * np.pi  # each tile turns by 0.0616
    circle = 50 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert not track.curbed(track.along(jnp.asarray(circle, jnp.float32))).any()


def world(view: np.ndarray) -> np.ndarray:
    """Where in the world each pixel of a recorded view lies, [96, 96, 2], seen by a car in this state."""
    x, y, angle, vx, vy = view[:5]
    camera = np.arctan2(vx, vy) if np.hypot(vx, vy) > 0.5 else -angle
    column, row = np.meshgrid(np.arange(96), np.arange(95, -1, -1))
    right = ((column + 0.5) / 96 * 1000 - 500) / 16.2
    ahead = ((row + 0.5) / 96 * 800 - 200) / 16.2
    c, s = np.cos(camera), np.sin(camera)
    return np.stack([x + c * right + s * ahead, y - s * right + c * ahead], axis=-1)


def is_within(points: np.ndarray, corners: np.ndarray, margin: float) -> np.ndarray:
    """Whether points lie in a convex quadrangle, that far from its edges (outside them if negative)."""
    way = np.roll(corners, -1, axis=0) - corners
    offset = points[..., None, :] - corners
    side = (way[:, 0] * offset[..., 1] - way[:, 1] * offset[..., 0]) / np.hypot(*way.T)
    return (side >= margin).all(axis=-1) | (-side >= margin).all(axis=-1)


def curb_pixels(instant: int, seat: int) -> tuple[np.ndarray, np.ndarray]:
    """World points [n, 2] that a recorded view shows away from cars and bars, and what they are.

    What they are: 1 white, 2 red, 0 anything else.
    """
    points = world(RECORDED["state"][instant, seat])[:84].reshape(-1, 2)
    color = RECORDED["frames"][instant, seat][:84].reshape(-1, 3).astype(int)
    cars = RECORDED["state"][instant, :, :2]
    clear = (np.linalg.norm(points[:, None] - cars[None], axis=-1) > 4).all(axis=1)
    kind = np.select([color.min(axis=1) > 200, (color[:, 0] > 200) & (color[:, 1:].max(axis=1) < 60)], [1, 2])
    return points[clear], kind[clear]


@pytest.mark.parametrize("seat", [0, 1])
def test_red_and_white_pixels_of_the_original_lie_on_our_curbs(seat):
    road = recorded_track()
    curbs, numbers = np.asarray(track.curbs(road)), np.flatnonzero(np.asarray(track.curbed(road)))
    seen = 0
    for instant in DRIVEN:
        points, kind = curb_pixels(instant, seat)
        near = [i for i in numbers if np.linalg.norm(points - curbs[i].mean(axis=0), axis=1).min() < 6]
        covered = np.zeros(len(points), bool)
        for i in near:
            inside = is_within(points, curbs[i], 0.02)
            np.testing.assert_array_equal(kind[inside], 1 if i % 2 == 0 else 2)
            seen += inside.sum()
            covered |= is_within(points, curbs[i], -0.02)
        assert not (kind[~covered] > 0).any()
    assert seen > 50


def test_a_batch_of_tracks_is_each_of_them():
    random = np.random.default_rng(3)
    lines = jnp.asarray(np.stack([wavy(random, 468) for _ in range(4)]), jnp.float32)
    together = jax.jit(jax.vmap(lambda line: track.curbs(track.along(line))))(lines)
    for line, curbs in zip(lines, together, strict=True):
        np.testing.assert_allclose(track.curbs(track.along(line)), curbs, atol=1e-3)
