"""A part of the world on paper: where things are, and polygons."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maestro.envs.racing.car import CENTER
from maestro.envs.racing.levels import Level
from maestro.envs.racing.track import WIDTH

COLORS = np.array([(220, 40, 60), (40, 95, 220)])  # of the two cars
MARGIN = 12.0  # around the track in the map
SHARP = 3  # pixels drawn for each one shown, in both directions
BEYOND = (24, 24, 27)  # color of what is not drawn on


@dataclass(frozen=True)
class Sheet:
    """A square part of the world, drawn larger than it is shown."""

    side: int  # pixels
    middle: np.ndarray  # what is in its middle
    reach: float  # units of the world from the middle to an edge
    image: Any
    pen: Any

    @classmethod
    def around(cls, middle: np.ndarray, reach: float, side: int) -> "Sheet":
        """An empty one."""
        from PIL import Image, ImageDraw  # slow to import, and only pictures need it

        image = Image.new("RGB", (side * SHARP, side * SHARP), BEYOND)
        return cls(side, np.asarray(middle, float), reach, image, ImageDraw.Draw(image))

    def fill(self, shapes: Any, color: Any) -> None:
        """Fill polygons of the world, [K, corners, 2], in one color."""
        side, zoom = self.side * SHARP, self.side * SHARP / (2 * self.reach)
        pixels = (np.asarray(shapes, float) - self.middle) * (zoom, -zoom) + side / 2
        seen = ((pixels.max(axis=1) > 0) & (pixels.min(axis=1) < side)).all(axis=1)
        for corners in pixels[seen]:
            self.pen.polygon(corners.ravel().tolist(), tuple(int(c) for c in color))

    def shown(self) -> np.ndarray:
        """Its pixels, uint8 [side, side, 3]."""
        return np.asarray(self.image.reduce(SHARP))


def bounds(level: Level) -> tuple[np.ndarray, float]:
    """Middle and half side of the square that shows the whole track."""
    center = np.asarray(level.center, float)
    low, high = center.min(axis=0), center.max(axis=0)
    return (low + high) / 2, float((high - low).max()) / 2 + WIDTH + MARGIN


def poses(state: Any) -> list[tuple[np.ndarray, float]]:
    """Origin and heading of each hull."""
    cars = state.cars
    headings = [float(angle) for angle in np.asarray(cars.heading)]
    places = np.asarray(cars.position, float)
    return [(place - turned(a, CENTER), a) for place, a in zip(places, headings, strict=True)]


def turned(angle: float, points: Any) -> np.ndarray:
    """Points turned about the origin."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points) @ np.array([[c, s], [-s, c]])
