"""A race in the terminal: the track in dots of braille, the cars as arrows."""

from typing import Any

import numpy as np

from maestro.envs.racing.levels import Level
from maestro.envs.racing.sheet import COLORS, bounds, poses
from maestro.envs.racing.track import WIDTH

LINES = 24  # of the map; twice as many characters wide
DOTS = np.array([(0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80)])  # of a character, by row and column
BLANK = 0x2800  # a character without dots
ARROWS = ("▲◀▼▶", "△◁▽▷")  # by quarter turns to the left
STYLES = ("grey62", "#dc5064", "#5078e6", "#aa64c8")  # driven over by nobody, by either car, by both


def terminal(level: Level, state: Any) -> str:
    """The track in rich's markup, tinted where cars have been; the first car is a filled arrow."""
    tile, near = _nearest(level)
    dots = (near * np.tile(DOTS, (LINES, 2 * LINES))).reshape(LINES, 4, 2 * LINES, 2).sum(axis=(1, 3))
    visited = np.asarray(state.visited)
    driven = (visited[0] + 2 * visited[1])[tile] * near
    style = np.bitwise_or.reduce(driven.reshape(LINES, 4, 2 * LINES, 2), axis=(1, 3))
    cells = np.empty((LINES, 2 * LINES), object)
    for row, column in np.ndindex(cells.shape):
        mark = chr(BLANK + int(dots[row, column]))
        cells[row, column] = f"[{STYLES[style[row, column]]}]{mark}[/]" if dots[row, column] else mark
    start = _cell(level, np.asarray(level.center[0], float))
    cells[start] = f"[bold white]{chr(BLANK + int(dots[start]))}[/]"
    for seat in (1, 0):
        place, angle = poses(state)[seat]
        arrow = ARROWS[seat][round(angle / (np.pi / 2)) % 4]
        cells[_cell(level, place)] = f"[bold {_hex(COLORS[seat])}]{arrow}[/]"
    return "\n".join("".join(row) for row in cells) + "\n" + _told(level, state)


def _nearest(level: Level) -> tuple[np.ndarray, np.ndarray]:
    """For each dot the tile nearest to it, and whether it is on the road; [4 LINES, 4 LINES]."""
    middle, reach = bounds(level)
    along = ((np.arange(4 * LINES) + 0.5) / (2 * LINES) - 1) * reach
    center = np.asarray(level.center, float)
    x, y = middle[0] + along[:, None] - center[:, 0], middle[1] - along[:, None] - center[:, 1]
    away = (y * y)[:, None] + (x * x)[None]  # [row, column, tile]
    tile = away.argmin(axis=2)
    return tile, np.take_along_axis(away, tile[..., None], axis=2)[..., 0] < WIDTH**2


def _cell(level: Level, place: np.ndarray) -> tuple[int, int]:
    """Row and column of the character that shows a place; at the edge if it is beyond."""
    middle, reach = bounds(level)
    right, up = np.clip((place - middle) / reach, -1, 1)
    return min(int((1 - up) / 2 * LINES), LINES - 1), min(int((1 + right) * LINES), 2 * LINES - 1)


def _told(level: Level, state: Any) -> str:
    """How much of the lap each car has driven over, and the time."""
    shares = np.asarray(state.visited).mean(axis=1)
    cars = [
        f"[bold {_hex(COLORS[i])}]{ARROWS[i][0]} {share:.0%}[/] of the lap" for i, share in enumerate(shares)
    ]
    return "   ".join([*cars, f"frame {int(state.frame)} of {int(level.frames)}"])


def _hex(color: Any) -> str:
    return "#" + "".join(f"{int(c):02x}" for c in color)
