"""LaserTag as shapes for a page: a cell is one unit, the outer wall included."""

import math
from typing import Any

import numpy as np

from maestro.envs.lasertag.draw import BOLT_RADIUS, TRIANGLE
from maestro.envs.lasertag.levels import SIDE, Level
from maestro.envs.lasertag.state import State
from maestro.envs.scene import Body, Scene, Shape

ARROW = tuple(float(x) for row, column in TRIANGLE for x in (column, row))  # an agent that faces up
AGENT, BOLT, TAGGED = 0, 2, 4  # kinds of bodies; the other player's is the next one
BODIES = (
    *((Shape("polygon", ARROW, f"seat{seat}"),) for seat in range(2)),
    *((Shape("circle", (0.0, 0.0, BOLT_RADIUS), f"bolt{seat}"),) for seat in range(2)),
    *((Shape("line", ARROW, f"seat{seat}", 0.07, True),) for seat in range(2)),
)


def scene(level: Level) -> Scene:
    """The walls of a level, and the agents at their starts."""
    height, width = int(level.height) + 2, int(level.width) + 2
    walls = np.asarray(level.walls)[:, None] >> np.arange(SIDE, dtype=np.uint32) & 1 == 1
    shape = Shape("rects", runs(walls[:height, :width]), "wall")
    start = [body(AGENT + seat, level.position[seat], level.facing[seat]) for seat in range(2)]
    return Scene((float(width), float(height)), "floor", (shape,), BODIES, tuple(start))


def runs(walls: np.ndarray) -> tuple[float, ...]:
    """The walls as rectangles: those beside each other in a row are one."""
    found: list[float] = []
    for y, row in enumerate(walls):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for left, right in edges.reshape(-1, 2).tolist():
            found += [float(left), float(y), float(right - left), 1.0]
    return tuple(found)


def bodies(level: Level, state: State) -> list[Body]:
    """The agents, a tagged one as an outline, and the bolts."""
    alive = np.asarray(state.alive)
    kinds = [(AGENT if alive[seat] else TAGGED) + seat for seat in range(2)]
    found = [body(kinds[seat], state.position[seat], state.facing[seat]) for seat in range(2)]
    codes = np.asarray(state.bolts)
    return found + [body(BOLT + int(codes[y, x] >> 2 & 1), (y, x), 0) for y, x in np.argwhere(codes > 0)]


def body(kind: int, cell: Any, facing: Any) -> Body:
    """Something in the middle of a cell."""
    return kind, float(cell[1]) + 0.5, float(cell[0]) + 0.5, int(facing) * math.pi / 2
