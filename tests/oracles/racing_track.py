"""Tracks one point at a time in double precision: tiles, curbs, the generator's curve, measures of a line."""

import math
from itertools import pairwise

import numpy as np
from scipy.spatial import ConvexHull

WIDTH, BORDER = 20 / 3, 4 / 3


def beside(x: float, y: float, beta: float, offset: float) -> tuple[float, float]:
    """A point to the right of the center line, to the left if the offset is negative."""
    return x + offset * math.cos(beta), y + offset * math.sin(beta)


def turn(beta: np.ndarray, i: int) -> float:
    """How much the road turns left between the point before and this one."""
    return math.remainder(beta[i] - beta[i - 1], 2 * math.pi)


def tile(point: np.ndarray, beta: np.ndarray, i: int) -> list[tuple[float, float]]:
    """The four corners of a tile."""
    ends = [beside(*point[i], beta[i], offset) for offset in (-WIDTH, WIDTH)]
    return ends + [beside(*point[i - 1], beta[i - 1], offset) for offset in (WIDTH, -WIDTH)]


def curbed(beta: np.ndarray) -> list[bool]:
    """Tiles in a run of four that all turn by more than 0.062, all the same way."""
    marked = [False] * len(beta)
    for i in range(len(beta)):
        four = [turn(beta, i - back) for back in range(4)]
        if all(x > 0.062 for x in four) or all(x < -0.062 for x in four):
            for back in range(4):
                marked[i - back] = True
    return marked


def curb(point: np.ndarray, beta: np.ndarray, i: int) -> list[tuple[float, float]]:
    """The four corners of a curb: on the left of a left turn, on the right of a right turn."""
    side = -1 if turn(beta, i) > 0 else 1
    corners = [(i, WIDTH), (i, WIDTH + BORDER), (i - 1, WIDTH + BORDER), (i - 1, WIDTH)]
    return [beside(*point[k], beta[k], side * offset) for k, offset in corners]


def sorted_control(control: np.ndarray) -> list[np.ndarray]:
    """Control points clockwise around their mean."""
    middle = np.mean(control, axis=0)
    return sorted(control, key=lambda p: math.atan2(p[0] - middle[0], p[1] - middle[1]))


def spaced(control: np.ndarray) -> bool:
    """Whether neighbors among sorted points of the unit square differ enough in x + y."""
    points = sorted_control(control)
    return all(abs(sum(b - a)) >= 0.7 / 12 for a, b in pairwise(points))


def bezier(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, t: float) -> np.ndarray:
    """A cubic curve by repeated halving of the way: de Casteljau."""
    points = [a, b, c, d]
    while len(points) > 1:
        points = [p + t * (q - p) for p, q in pairwise(points)]
    return points[0]


def center_line(control: np.ndarray) -> np.ndarray:
    """39 points on each of 12 curves, centered; then the list is walked backwards from its first point."""
    points, lean = sorted_control(control), math.atan(0.2) / math.pi + 0.5
    angles = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        angle = math.atan2(q[1] - p[1], q[0] - p[0])
        angles.append(angle if angle >= 0 else angle + 2 * math.pi)
    ways = []
    for i in range(12):
        jump = math.pi if abs(angles[i] - angles[i - 1]) > math.pi else 0
        angle = lean * angles[i] + (1 - lean) * angles[i - 1] + jump
        ways.append(np.array([math.cos(angle), math.sin(angle)]))
    line = []
    for i in range(12):
        p, q = points[i], points[(i + 1) % 12]
        handle = 0.2 * math.dist(p, q)
        b, c = p + handle * ways[i], q - handle * ways[(i + 1) % 12]
        line += [bezier(p, b, c, q, k / 39) for k in range(39)]
    line = np.array(line) - (np.min(line, axis=0) + np.max(line, axis=0)) / 2
    return np.array([line[-i] for i in range(len(line))])


def measures(center: np.ndarray) -> dict[str, float]:
    """What is told of a track, from its definitions; the hull is Qhull's."""
    points = [tuple(map(float, p)) for p in center]
    n = len(points)
    length = turned = area = 0.0
    corners, up = [], 0
    for i in range(n):
        (ax, ay), (bx, by), (cx, cy) = points[i - 1], points[i], points[(i + 1) % n]
        length += math.dist((ax, ay), (bx, by))
        area += (ax * by - bx * ay) / 2
        up += cy > by  # walked against the driving direction it leads down
        change = math.remainder(math.atan2(cy - by, cx - bx) - math.atan2(by - ay, bx - ax), 2 * math.pi)
        turned += abs(change)
        corners.append(change)
    hull = ConvexHull(np.array(points))  # of points in a plane: `area` is the perimeter, `volume` the area
    amplitude, convexity = (length - hull.area) / length, (hull.volume - abs(area)) / hull.volume
    return {
        "length": length,
        "curvature": turned / length,
        "notches": sum(math.copysign(1, area) * x < -1e-3 for x in corners) / (n - 3),
        "notches_down": up / (n - 3),
        "amplitude": amplitude,
        "area": abs(area),
        "convexity": convexity,
        "complexity": 0.8 * amplitude * up / (n - 3) + 0.2 * convexity,
    }
