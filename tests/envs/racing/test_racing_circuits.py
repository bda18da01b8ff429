"""The Formula 1 circuits and the validation tracks: the files beside the levels that are made of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from maestro.envs.racing import bezier, circuits, levels, line, text
from oracles import racing_track

TABLE = {  # lap in units of the game, frames until the time is up
    "Australia": (1688, 1500),
    "Austria": (1928, 1500),
    "Bahrain": (2790, 2500),
    "Belgium": (2168, 1500),
    "Brazil": (2838, 2000),
    "China": (3035, 2500),
    "France": (1922, 2000),
    "Germany": (2302, 2000),
    "Hungary": (1932, 2000),
    "Italy": (2037, 1500),
    "LagunaSeca": (3341, 3000),
    "Malaysia": (3257, 2500),
    "Mexico": (2004, 3000),
    "Monaco": (1747, 1500),
    "Netherlands": (2578, 2000),
    "Portugal": (2735, 2500),
    "Russia": (1849, 2000),
    "Singapore": (2154, 2000),
    "Spain": (2372, 2000),
    "UK": (1961, 2000),
    "USA": (1862, 2000),
}
CLOCKWISE_IN_LIFE = {"Belgium": True, "Italy": True, "UK": True, "Brazil": False, "USA": False}
FILE = json.loads((Path(circuits.__file__).parent / "circuits.json").read_text(encoding="utf-8"))


def center_of(name: str) -> np.ndarray:
    """The center line of a circuit."""
    return np.asarray(text.LEVELS.load(name).center, np.float64)


def source(name: str) -> np.ndarray:
    """The points on file as the world has them: north up, in units of the game."""
    circuit = FILE["circuits"][name]
    return circuit["scale"] / 10_000 * np.stack([circuit["x"], circuit["y"]], axis=1)


def signed_area(points: np.ndarray) -> float:
    """Positive if the points lead counter-clockwise."""
    x, y = points.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def test_the_21_circuits_are_known_by_name_and_three_are_for_specialists():
    assert circuits.TEST == text.NAMES == tuple(TABLE)
    assert circuits.SPECIALIST == ("UK", "Belgium", "Spain")


@pytest.mark.parametrize("name", TABLE)
def test_a_circuit_has_the_lap_the_frames_and_the_field_of_the_table(name):
    level, (lap, frames) = text.LEVELS.load(name), TABLE[name]
    tile = np.linalg.norm(np.diff(center_of(name), axis=0, append=center_of(name)[:1]), axis=1)
    np.testing.assert_allclose(tile.sum(), lap, rtol=0.003)
    assert tile.max() / tile.mean() < 1.01 and tile.min() / tile.mean() > 0.9  # shorter where a corner is cut
    assert (int(level.frames), float(level.half_side)) == (frames, 500)
    assert np.abs(center_of(name)).max() + 20 / 3 < 500


@pytest.mark.parametrize("name", TABLE)
def test_a_circuit_is_the_mirrored_source_from_its_start_in_its_direction(name):
    circuit, points = FILE["circuits"][name], source(name) * [1, -1]
    curve = CubicSpline(np.arange(257), np.concatenate([points, points[:1]]), bc_type="periodic")
    lap = circuit["start"] + circuit["way"] * np.arange(468) / 468
    # The points on file are evenly spaced up to rounding, and a spline adds a little in its bends.
    apart = np.linalg.norm(center_of(name) - curve(256 * lap % 256), axis=1)
    assert apart[0] < 0.01 and apart.max() < 3


@pytest.mark.parametrize("name", TABLE)
def test_a_circuit_passes_all_points_of_its_source(name):
    points, center = source(name) * [1, -1], center_of(name)
    way = np.roll(center, -1, axis=0) - center
    offset = points[:, None] - center[None]
    share = np.clip((offset * way).sum(axis=2) / (way**2).sum(axis=1), 0, 1)
    apart = np.linalg.norm(offset - share[..., None] * way[None], axis=2).min(axis=1)
    assert apart.max() < 1  # a sixth of a tile: corners are cut


@pytest.mark.parametrize("name", CLOCKWISE_IN_LIFE)
def test_sources_are_no_mirror_images(name):
    """Their points lead as races do, in these five; what is driven is mirrored, along or against them."""
    assert (signed_area(source(name)) < 0) == CLOCKWISE_IN_LIFE[name]
    turned = signed_area(source(name)) * signed_area(center_of(name))
    assert (turned < 0) == (FILE["circuits"][name]["way"] == 1)


def test_the_closed_spline_is_scipys():
    points = np.random.default_rng(0).normal(size=(17, 2))
    at = np.linspace(-20, 40, 301)
    expected = CubicSpline(np.arange(18), np.concatenate([points, points[:1]]), bc_type="periodic")
    np.testing.assert_allclose(line.spline(points, at), expected(at % 17), atol=1e-12)


def test_the_sources_are_credited_under_their_license():
    credit, terms = " ".join(FILE["credit"]), " ".join(FILE["license"])
    for holder in ("Tomislav Bacinger", "Juan Manzanero"):
        assert f"MIT License, Copyright (c) 20{credit.split(holder)[0].split('(c) 20')[-1]}{holder}" in credit
    assert "Permission is hereby granted, free of charge" in terms and "WITHOUT WARRANTY" in terms
    named = {circuit["source"].split(":")[0] for circuit in FILE["circuits"].values()}
    assert all(any(name in line for line in FILE["credit"]) for name in named)


@pytest.fixture(scope="module")
def validation() -> dict[str, str]:
    """Texts by name."""
    return json.loads(text.VALIDATION.read_bytes())


def test_the_validation_tracks_are_256_small_texts_of_control_points_that_keep_apart(validation):
    assert list(validation) == [f"validation-{i:03}" for i in range(256)]
    assert text.VALIDATION.stat().st_size < 200_000
    control = np.array([json.loads(one)["control"] for one in validation.values()])
    assert control.shape == (256, 12, 2) and len(np.unique(control[:, 0], axis=0)) == 256
    spread = (control / bezier.SIDE).reshape(-1, 2)  # a rounded coordinate may be a hair too close
    assert sum(racing_track.spaced(points / bezier.SIDE) for points in control) >= 250
    assert spread.min() >= 0 and spread.max() <= 1 and np.abs(spread.mean(axis=0) - 0.5).max() < 0.03


def test_a_validation_track_is_the_curve_through_its_control_points(validation):
    lap = []
    for one in validation.values():
        level = text.parse(one)
        lap.append(float(np.linalg.norm(levels.edges(level.center), axis=1).sum()))
        assert (int(level.time_limit), round(float(level.half_side), 3)) == (125, 333.333)
    for name in ("validation-000", "validation-255"):
        expected = racing_track.center_line(np.array(json.loads(validation[name])["control"]))
        np.testing.assert_allclose(text.parse(validation[name]).center, expected, atol=2e-3)
    assert abs(np.mean(lap) - 1165) < 4 * 138 / 16  # as long as any generated ones
