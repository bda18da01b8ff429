"""Pictures of a race: a map with a close-up of each car, what a driver sees, or a map alone."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt8

from maestro.envs.racing import track as tracks
from maestro.envs.racing.braille import terminal as terminal
from maestro.envs.racing.car import HULL, WHEEL, WHEEL_AT
from maestro.envs.racing.levels import Level
from maestro.envs.racing.sheet import COLORS, Sheet, bounds, poses, turned
from maestro.envs.racing.track import WIDTH, Track

GRASS, LIGHT = (124, 170, 112), (131, 178, 119)
ROAD, LINE, WHEELS, RIM = (84, 86, 92), (240, 240, 240), (20, 20, 22), (255, 255, 255)
CURB = ((240, 240, 240), (215, 50, 50))
TINT = 0.5  # how far the half of a tile that a car has driven over is drawn towards the car's color
MAP, PANEL = 40, 20  # sides of the map and of each close-up, in units of the scale
NEAR = 17.0  # units of the world from the middle of a close-up to its edge
SQUARE = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
ARROW = np.array([(0, 1.25), (0.8, -0.85), (0, -0.4), (-0.8, -0.85)])  # facing up


@dataclass(frozen=True)
class Road:
    """What is drawn of a track."""

    tiles: np.ndarray  # [N, 4, 2]
    sides: tuple[np.ndarray, ...]  # their left and right halves, likewise
    curbs: tuple[np.ndarray, ...]  # those of even tiles, of odd ones
    start: np.ndarray
    angle: float  # of a car at the start

    @classmethod
    def of(cls, level: Level) -> "Road":
        """The road of a level."""
        track = tracks.along(jnp.asarray(level.center))
        shapes, curbed = _shapes(track)
        tiles, curbs = np.asarray(shapes, float)
        left, right, right_before, left_before = np.moveaxis(tiles, 1, 0)
        end, begin = (left + right) / 2, (left_before + right_before) / 2
        sides = [(left, end, begin, left_before), (end, right, right_before, begin)]
        lying = [curbs[parity::2][np.asarray(curbed)[parity::2]] for parity in range(2)]
        halves = tuple(np.stack(side, axis=1) for side in sides)
        return cls(tiles, halves, tuple(lying), np.asarray(track.point[0], float), float(track.beta[0]))


@jax.jit
def _shapes(track: Track) -> tuple[Float[Array, "2 N 4 2"], Bool[Array, " N"]]:
    """Tiles and curbs, and which curbs there are."""
    return jnp.stack([tracks.tiles(track), tracks.curbs(track)]), tracks.curbed(track)


def draw(level: Level, state: Any, scale: int = 8) -> UInt8[np.ndarray, "height width 3"]:
    """A map beside close-ups of the cars, 60 x 40 times `scale` pixels; a car tints its side of the road."""
    if scale < 1:
        raise ValueError(f"scale: {scale} is not a positive number of pixels")
    road, visited = Road.of(level), np.asarray(state.visited)
    whole = Sheet.around(*bounds(level), MAP * scale)
    _draw_ground(whole, level, road, visited)
    for seat in (1, 0):
        _draw_marker(whole, *poses(state)[seat], COLORS[seat])
    panels = []
    for seat, (place, _) in enumerate(poses(state)):
        near = Sheet.around(place, NEAR, PANEL * scale)
        _draw_ground(near, level, road, visited)
        _draw_cars(near, state)
        panels.append(_framed(near.shown(), COLORS[seat]))
    return np.concatenate([whole.shown(), np.concatenate(panels, axis=0)], axis=1)


def whole(level: Level, scale: int = 8) -> UInt8[np.ndarray, "height width 3"]:
    """The track alone, from above, 40 x 40 times `scale` pixels."""
    if scale < 1:
        raise ValueError(f"scale: {scale} is not a positive number of pixels")
    road = Road.of(level)
    sheet = Sheet.around(*bounds(level), MAP * scale)
    _draw_ground(sheet, level, road, np.zeros((len(road.sides), len(road.tiles)), bool))
    return sheet.shown()


def view(obs: Any, scale: int = 2) -> UInt8[np.ndarray, "height width 3"]:
    """What a driver sees: the newest of the pictures in an observation."""
    return np.asarray(obs, np.uint8)[..., -3:].repeat(scale, axis=0).repeat(scale, axis=1)


def _draw_ground(sheet: Sheet, level: Level, road: Road, visited: np.ndarray) -> None:
    """Meadow, road and start."""
    _draw_meadow(sheet, float(level.half_side))
    for parity in range(2):
        sheet.fill(road.curbs[parity], CURB[parity])
    sheet.fill(road.tiles, ROAD)
    # After all tiles: where the road crosses itself, what was driven over stays in sight.
    for side, seen, color in zip(road.sides, visited, COLORS, strict=True):
        sheet.fill(side[seen], ROAD + TINT * (color - ROAD))
    _draw_start(sheet, road.start, road.angle)


def _draw_meadow(sheet: Sheet, half_side: float) -> None:
    """The field with its squares."""
    sheet.fill([half_side * SQUARE], GRASS)
    size = half_side / 20
    corners = 2 * np.mgrid[-10:10, -10:10].reshape(2, -1, 1).transpose(1, 2, 0)
    sheet.fill(size * (corners + (SQUARE + 1) / 2), LIGHT)


def _draw_start(sheet: Sheet, place: np.ndarray, angle: float) -> None:
    """A line across the road, at least two pixels thick, and an arrow the way that cars drive."""
    thick = max(0.8, 2 * sheet.reach / sheet.side)
    sheet.fill([place + turned(angle, SQUARE * (WIDTH, thick))], LINE)
    sheet.fill([place + turned(angle, 0.45 * WIDTH * ARROW + (0, 1.2 * WIDTH))], LINE)


def _draw_marker(sheet: Sheet, place: np.ndarray, angle: float, color: Any) -> None:
    """An arrow with a rim, large enough for a map; a car beyond the map is at its edge."""
    size = 0.028 * sheet.reach * 2
    place = sheet.middle + np.clip(place - sheet.middle, size - sheet.reach, sheet.reach - size)
    for part, shade in ((1.0, RIM), (0.68, color)):
        sheet.fill([place + turned(angle, size * part * ARROW)], shade)


def _draw_cars(sheet: Sheet, state: Any) -> None:
    """The cars as they are."""
    steer = np.asarray(state.cars.steer, float)
    for seat, (place, angle) in enumerate(poses(state)):
        wheels = [at + turned(joint, SQUARE * WHEEL) for at, joint in zip(WHEEL_AT, steer[seat], strict=True)]
        sheet.fill(place + turned(angle, wheels), WHEELS)
        for corners in HULL:
            sheet.fill([place + turned(angle, corners)], COLORS[seat])


def _framed(picture: np.ndarray, color: Any) -> np.ndarray:
    """A picture with a frame over its edges."""
    edge = max(1, len(picture) // 60)
    frame = np.broadcast_to(np.asarray(color, np.uint8), picture.shape).copy()
    frame[edge:-edge, edge:-edge] = picture[edge:-edge, edge:-edge]
    return frame
