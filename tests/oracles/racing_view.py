"""What a driver sees, slowly: every pixel is asked for the last thing in drawing order that covers it."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

RED, BLUE = (204, 0, 0), (0, 0, 204)
HULL = [
    [(-60, 130), (60, 130), (60, 110), (-60, 110)],
    [(-15, 120), (15, 120), (20, 20), (-20, 20)],
    [(25, 20), (50, -10), (50, -40), (20, -90), (-20, -90), (-50, -40), (-50, -10), (-25, 20)],
    [(-50, -120), (50, -120), (50, -90), (-50, -90)],
]
WHEELS = [(-55, 80), (55, 80), (-55, -82), (55, -82)]
RADIUS, WIDTH = 27, 14  # of a wheel, in hundredths of two units like the lists above


class Pose(NamedTuple):
    """Of one car: origin and velocity of the hull, its angle, those of the joints, how far wheels rolled."""

    origin: np.ndarray
    angle: float
    velocity: np.ndarray
    joints: np.ndarray
    phase: np.ndarray


def pixels(car):
    """World coordinates of the centers of all pixels, [84, 84, 2]."""
    column, row = np.meshgrid(np.arange(84), np.arange(84))
    x = ((column + 6 + 0.5) / 96 * 1000 - 500) / 16.2
    y = ((95 - row + 0.5) / 96 * 800 - 200) / 16.2
    fast = np.hypot(*car.velocity) > 0.5
    angle = np.arctan2(*car.velocity) if fast else -car.angle
    return car.origin + turned(-angle, np.stack([x, y], axis=-1))


def turned(angle, points):
    """Points turned about the origin."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points) @ np.array([[c, s], [-s, c]])


def in_convex(points, corners):
    """Whether points lie in a convex polygon, whichever way around its corners are listed."""
    sides = []
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        sides.append((b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (points[..., 0] - a[0]))
    return np.all(np.array(sides) >= 0, axis=0) | np.all(np.array(sides) <= 0, axis=0)


def in_hull(points, corners):
    """Whether points lie in the convex hull of four: in one of the four triangles."""
    return np.any([in_convex(points, np.array(three)) for three in combinations(corners, 3)], axis=0)


def has_curb(beta):
    """For each tile whether it has a curb."""
    number, curb = len(beta), [False] * len(beta)
    turn = [(beta[i] - beta[i - 1] + np.pi) % (2 * np.pi) - np.pi for i in range(number)]
    for i in range(number):
        last = [turn[i - back] for back in range(4)]
        if all(t > 0.062 for t in last) or all(t < -0.062 for t in last):
            for back in range(4):
                curb[i - back] = True
    return curb, np.sign(turn)


def road(point, beta, visited):
    """Corners and color of each tile and curb in the order in which they are drawn."""
    normal = np.stack([np.cos(beta), np.sin(beta)], axis=-1)
    curb, side = has_curb(beta)
    for i in range(len(point)):
        ends = ((point[i], normal[i]), (point[i - 1], normal[i - 1]))
        gray = round(255 * (0.4 if visited[i] else 0.4 + 0.01 * (i % 3)))
        yield [p + reach * n for p, n in ends for reach in (-40 / 6, 40 / 6)], (gray,) * 3
        if curb[i]:
            corners = [p - side[i] * reach * n for p, n in ends for reach in (40 / 6, 48 / 6)]
            yield corners, (255, 255, 255) if i % 2 == 0 else (255, 0, 0)


def parts(car, color):
    """Corners and color of each part of a car in the order in which they are drawn."""
    for at, joint, phase in zip(WHEELS, car.joints, car.phase, strict=True):
        wheel = [(-WIDTH, -RADIUS), (WIDTH, -RADIUS), (WIDTH, RADIUS), (-WIDTH, RADIUS)]
        begin, end = phase, phase + 1.2
        near, far = np.cos(begin), np.cos(end)
        if np.sin(begin) > 0:
            near = np.sign(near)
        if np.sin(end) > 0:
            far = np.sign(far)
        stripe = [(x, RADIUS * c) for x, c in ((-WIDTH, near), (WIDTH, near), (WIDTH, far), (-WIDTH, far))]
        shapes = [(wheel, (0, 0, 0)), (stripe, (76, 76, 76))]
        for corners, shade in shapes[:1] if np.sin(begin) > 0 and np.sin(end) > 0 else shapes:
            yield car.origin + turned(car.angle, np.add(turned(joint, corners), at) * 0.02), shade
    for corners in HULL:
        yield car.origin + turned(car.angle, np.multiply(corners, 0.02)), color


def field(points, half_side):
    """Color of the ground everywhere."""
    even = np.floor(points / (half_side / 20)) % 2 == 0
    picture = np.where(even.all(axis=-1)[..., None], (102, 230, 102), (102, 204, 102))
    picture[(np.abs(points) > half_side).any(axis=-1)] = 0
    return picture


def view(road_parts, half_side, cars, ego, colors):
    """What the driver of car `ego` sees, uint8 [84, 84, 3]; the cars are drawn in their order."""
    points = pixels(cars[ego])
    picture = field(points, half_side)
    for corners, color in road_parts:
        if np.min(np.hypot(*(np.array(corners) - cars[ego].origin).T)) < 70:  # else it is far outside
            picture[in_hull(points, corners)] = color
    for car, color in zip(cars, colors, strict=True):
        for corners, shade in parts(car, color):
            picture[in_convex(points, np.array(corners))] = shade
    return picture.astype(np.uint8)
