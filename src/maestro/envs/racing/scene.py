"""A race as shapes for a page: the road as a line, and cars as arrows large enough for a map."""

import math
from typing import Any

import numpy as np

from maestro.envs.racing.draw import ARROW
from maestro.envs.racing.game import APART
from maestro.envs.racing.levels import Level
from maestro.envs.racing.sheet import bounds, poses
from maestro.envs.racing.track import BORDER, WIDTH
from maestro.envs.scene import Body, Scene, Shape

CAR = 9.0  # units of the world from the middle of an arrow to its tip, about; a car is 5 long
TURN, FAR = 0.1, 30.0  # a line has a point where it has turned so much (radians), or led so far
DECIMALS = 1


def around(color: str) -> tuple[Shape, ...]:
    """An arrow that faces up, with a rim."""
    corners = [tuple(float(x) for x in np.ravel(ARROW * (1, -1) * size)) for size in (CAR, 0.7 * CAR)]
    return Shape("polygon", corners[0], "#ffffff"), Shape("polygon", corners[1], color)


BODIES = (around("seat0"), around("seat1"))


def corner(level: Level) -> tuple[np.ndarray, float]:
    """(what is at the upper left of the map, the map's side)."""
    middle, reach = bounds(level)
    return np.array([middle[0] - reach, middle[1] + reach]), 2 * reach


def scene(level: Level) -> Scene:
    """The road of a track, its start, and the cars beside each other there."""
    origin, side = corner(level)
    center = np.asarray(level.center, float)
    way = center[1] - center[-1]
    angle = math.atan2(-way[0], way[1])
    across = WIDTH * np.array([math.cos(angle), math.sin(angle)])
    line = flipped(center[bends(center)], origin)
    start = flipped(np.stack([center[0] - across, center[0] + across]), origin)
    shapes = (
        Shape("line", line, "edge", 2 * (WIDTH + BORDER), True),
        Shape("line", line, "road", 2 * WIDTH, True),
        Shape("line", start, "#ffffff", 4.0),
    )
    cars = [body(seat, center[0] + (2 * seat - 1) * across * APART / WIDTH, angle, origin) for seat in (0, 1)]
    return Scene((side, side), "grass", shapes, BODIES, tuple(cars))


def bends(center: np.ndarray) -> list[int]:
    """Which points of a closed line are enough to draw it."""
    step = np.roll(center, -1, axis=0) - center
    angle = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    along = np.cumsum(np.hypot(step[:, 0], step[:, 1]))
    kept = [0]
    for i in range(1, len(center)):
        if abs(angle[i] - angle[kept[-1]]) > TURN or along[i] - along[kept[-1]] > FAR:
            kept.append(i)
    return kept


def flipped(points: np.ndarray, origin: np.ndarray) -> tuple[float, ...]:
    """Points of the world as a page has them: right and down from the upper left."""
    return tuple(np.ravel((points - origin) * (1, -1)).round(DECIMALS).tolist())


def body(seat: int, place: Any, angle: float, origin: np.ndarray) -> Body:
    """A car by its hull's origin and its heading, which the world turns the other way round."""
    x, y = flipped(np.asarray(place, float), origin)
    return seat, x, y, -float(angle)


def bodies(level: Level, state: Any) -> list[Body]:
    """The cars."""
    origin, _ = corner(level)
    return [body(seat, place, angle, origin) for seat, (place, angle) in enumerate(poses(state))]
