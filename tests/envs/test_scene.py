"""Levels and states as shapes: what a page draws is where the game has it."""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs import scene as scenes
from maestro.envs.lasertag import scene as lasertag
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.lasertag.levels import DELTA, wall_grid
from maestro.envs.racing import scene as racing
from maestro.envs.racing.car import CENTER
from maestro.envs.racing.sheet import turned
from maestro.games import racing as racing_game
from maestro.games.lasertag import GAME


def covered(at, size):
    """The cells that rectangles cover, and how often."""
    cells = np.zeros((int(size[1]), int(size[0])), int)
    for x, y, width, height in np.reshape(at, (-1, 4)).astype(int):
        cells[y : y + height, x : x + width] += 1
    return cells


@pytest.mark.parametrize("name", ["Empty", "Ruins", "Cross"])
def test_every_wall_is_covered_once_and_nothing_else(name):
    level = GAME.levels.load(name)
    shown = lasertag.scene(level)
    (walls,) = shown.shapes
    height, width = int(level.height) + 2, int(level.width) + 2
    assert shown.size == (width, height)
    assert (covered(walls.at, shown.size) == np.asarray(wall_grid(level))[:height, :width]).all()


def test_agents_start_where_the_level_has_them_and_look_the_way_it_says():
    level = GAME.levels.load("Ruins")
    state, _ = LaserTag().reset(jax.random.key(0), level)
    assert list(lasertag.scene(level).start) == lasertag.bodies(level, state)
    for seat, (kind, x, y, angle) in enumerate(lasertag.bodies(level, state)):
        row, column = np.asarray(state.position[seat])
        assert (kind, x, y) == (seat, column + 0.5, row + 0.5)
        ahead = np.round([math.sin(angle), -math.cos(angle)])  # clockwise from up, y down
        assert ahead.tolist() == list(DELTA[int(state.facing[seat])])[::-1]


def test_bolts_are_their_owners_and_a_tagged_agent_is_an_outline():
    level = GAME.levels.load("Empty")
    state, _ = LaserTag().reset(jax.random.key(0), level)
    bolts = np.asarray(state.bolts).copy()
    bolts[3, 5], bolts[4, 2] = 1 << 3 | 1, 1 << 3 | 1 << 2 | 2
    state = state.replace(bolts=jnp.asarray(bolts), alive=jnp.array([True, False]))
    found = lasertag.bodies(level, state)
    assert [body[0] for body in found[:2]] == [lasertag.AGENT, lasertag.TAGGED + 1]
    assert found[2:] == [(lasertag.BOLT, 5.5, 3.5, 0.0), (lasertag.BOLT + 1, 2.5, 4.5, 0.0)]
    looks = [[shape.kind for shape in kind] for kind in lasertag.BODIES]
    assert looks == [["polygon"]] * 2 + [["circle"]] * 2 + [["line"]] * 2


def track(name="Monaco"):
    return racing_game.GAME.levels.load(name)


def distance(points, at):
    """From a place to the closed line through some points."""
    begin, end = points, np.roll(points, -1, axis=0)
    way = end - begin
    share = np.clip(((at - begin) * way).sum(1) / (way**2).sum(1), 0, 1)
    return np.hypot(*(begin + share[:, None] * way - at).T).min()


@pytest.mark.parametrize("name", ["Monaco", "Australia"])
def test_the_road_is_drawn_where_it_lies_with_far_fewer_points(name):
    level = track(name)
    shown = racing.scene(level)
    road = np.reshape(shown.shapes[1].at, (-1, 2))
    center = np.asarray(level.center, float)
    origin, side = racing.corner(level)
    exact = (center - origin) * (1, -1)
    assert len(road) < len(center) * 0.7 and shown.size == (side, side)
    assert max(distance(road, point) for point in exact) < 1.0  # the road is 13 wide
    assert (exact >= 0).all() and (exact <= side).all()


def test_cars_are_where_their_hulls_are_and_point_where_they_head():
    level = track()
    state, _ = jax.jit(racing_game.GAME.environment().reset)(jax.random.key(1), level)
    headings, places = np.array([0.7, -2.1]), np.array([[10.0, -20.0], [-33.0, 5.0]])
    cars = state.cars.replace(heading=jnp.asarray(headings), position=jnp.asarray(places))
    origin, _ = racing.corner(level)
    for seat, (kind, x, y, angle) in enumerate(racing.bodies(level, state.replace(cars=cars))):
        hull = places[seat] - turned(headings[seat], CENTER)
        assert kind == seat and np.allclose([x, y], (hull - origin) * (1, -1), atol=0.06)
        nose = np.array([math.sin(angle), -math.cos(angle)])  # on a page
        assert np.allclose(nose * (1, -1), [-math.sin(headings[seat]), math.cos(headings[seat])])


def test_cars_start_beside_each_other_as_the_game_lets_them():
    level = track()
    state, _ = jax.jit(racing_game.GAME.environment().reset)(jax.random.key(1), level)
    real = sorted(body[1:] for body in racing.bodies(level, state))
    shown = sorted(body[1:] for body in racing.scene(level).start)
    assert np.allclose(real, shown, atol=0.11)


def test_plain_data_has_short_numbers_and_fields_of_lines_only_where_there_are_lines():
    shape = scenes.Shape("polygon", (1.0, 0.123456, 2.0, 3.0, 0.5, 0.25), "seat0")
    assert scenes.shape_data(shape) == {"kind": "polygon", "at": [1, 0.12, 2, 3, 0.5, 0.25], "color": "seat0"}
    line = scenes.shape_data(scenes.Shape("line", (0.0, 1.0), "road", 2.0, True))
    assert line["width"] == 2.0 and line["closed"] is True
    level = track()
    data = scenes.scene_data(racing.scene(level))
    assert json.loads(json.dumps(data)) == data and len(json.dumps(data)) < 8000
    assert scenes.flat([(0, 1.0, 2.346, math.pi), (1, 0.5, 0.0, 0.0)]) == [0, 1, 2.35, 3.14, 1, 0.5, 0, 0]
