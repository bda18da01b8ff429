"""Pictures of LaserTag and of what an agent sees: RGB at any scale, or characters for the terminal."""

from typing import Any

import numpy as np
from jaxtyping import UInt8

from maestro.envs.lasertag.levels import DELTA, SIDE, Level
from maestro.envs.lasertag.state import State
from maestro.envs.lasertag.views import VIEW

STUDENT, OPPONENT = (1.0, 0.2, 0.4), (0.27, 0.69, 0.99)
COLORS = np.array([STUDENT, OPPONENT])
SIGHT = np.array([1.0, 0.85, 0.4])  # of agents and bolts in a view, which does not say whose they are
FLOOR, WALL = 0.0, 0.7
LIGHT = 0.3  # how far the cells that an agent sees are drawn towards light
TINT = 0.35  # how much of that light has the color of the agent
LINE = 0.09  # brightness of the lines between floor cells
TRIANGLE = np.array([(-0.36, 0.0), (0.3, 0.31), (0.3, -0.31)])  # (row, column) for an agent that faces up
BOLT_RADIUS, GLOW_RADIUS = 0.2, 0.48  # in cells
MIN_LINED = 8  # pixels per cell from which lines are drawn
ARROWS = ("▲▶▼◀", "△▷▽◁")


def draw(level: Level, state: State, scale: int = 32) -> UInt8[np.ndarray, "height width 3"]:
    """The level with its outer wall, `scale` pixels per cell; what an agent sees is lighter."""
    if scale < 1:
        raise ValueError(f"scale: {scale} is not a positive number of pixels per cell")
    walls, bolts = _grids(level, state)
    image = _ground(walls, _lights(state, walls.shape), scale)
    for row, column in np.argwhere(bolts > 0):
        _draw_bolt(image, scale, (row, column), COLORS[bolts[row, column] >> 2 & 1])
    for seat in range(2):
        _draw_agent(image, scale, state, seat)
    return (image * 255 + 0.5).astype(np.uint8)


def view(obs: Any, scale: int = 32) -> UInt8[np.ndarray, "height width 3"]:
    """What an agent sees, itself at the bottom looking up; whose a bolt is, nobody sees."""
    seen = np.asarray(obs) > 0
    agents, bolts, walls = np.moveaxis(seen, -1, 0)
    lights = np.broadcast_to(seen.any(), (2, *walls.shape))  # to one who is tagged all is dark
    image = _ground(walls, lights, scale)
    for cell in np.argwhere(bolts):
        _draw_bolt(image, scale, cell, SIGHT)
    for cell in np.argwhere(agents):
        if tuple(cell) == (VIEW - 1, VIEW // 2):
            _draw_triangle(image, scale, cell, np.array(DELTA[0]), SIGHT)
        else:
            _draw_diamond(image, scale, cell, SIGHT)
    return (image * 255 + 0.5).astype(np.uint8)


def terminal(level: Level, state: State) -> str:
    """The level in rich's markup, two characters per cell: filled arrows the student, hollow the opponent."""
    walls, bolts = _grids(level, state)
    cells = np.where(walls, "[grey70]██[/]", "  ").astype(object)
    for row, column in np.argwhere(_lights(state, walls.shape).any(axis=0) & ~walls):
        cells[row, column] = "[grey35]· [/]"
    for row, column in np.argwhere(bolts > 0):
        cells[row, column] = f"[bold {_hex(COLORS[bolts[row, column] >> 2 & 1])}]● [/]"
    for seat, (row, column) in enumerate(np.asarray(state.position)):
        arrow = ARROWS[seat][int(state.facing[seat])] if state.alive[seat] else "✗"
        cells[row, column] = f"[bold {_hex(COLORS[seat])}]{arrow} [/]"
    return "\n".join("".join(row) for row in cells)


def _hex(color: Any) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in color)


def _grids(level: Level, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Walls and bolt codes, the outer wall included and nothing beyond it."""
    height, width = int(level.height) + 2, int(level.width) + 2
    walls = np.asarray(level.walls)[:, None] >> np.arange(SIDE, dtype=np.uint32) & 1 == 1
    return walls[:height, :width], np.asarray(state.bolts)[:height, :width]


def _lights(state: State, shape: tuple[int, int]) -> np.ndarray:
    """For each agent the cells it sees, [2, height, width]."""
    lights = np.zeros((2, *shape), bool)
    for seat in np.flatnonzero(np.asarray(state.alive)):
        ahead = np.array(DELTA[int(state.facing[seat])])
        right = np.array([ahead[1], -ahead[0]])
        depth, side = np.mgrid[:VIEW, -(VIEW // 2) : VIEW // 2 + 1]
        cells = np.asarray(state.position[seat]) + depth[..., None] * ahead + side[..., None] * right
        inside = ((cells >= 0) & (cells < shape)).all(axis=-1)
        lights[seat, *cells[inside].T] = True
    return lights


def _ground(walls: np.ndarray, lights: np.ndarray, scale: int) -> np.ndarray:
    """Floor, walls and what is seen, without agents and bolts; rows x columns x 3 in 0..1."""
    tint = 1 - TINT + TINT * COLORS
    light = np.maximum(*(lights[..., None] * tint[:, None, None, :]))
    color = np.repeat(np.where(walls, WALL, FLOOR)[..., None], 3, axis=-1)
    color += LIGHT * np.any(lights, axis=0, keepdims=True)[0, ..., None] * (light - color)
    image = color.repeat(scale, axis=0).repeat(scale, axis=1)
    if scale >= MIN_LINED:
        lined = ~walls.repeat(scale, axis=0).repeat(scale, axis=1)
        lines = np.zeros_like(lined)
        lines[::scale], lines[:, ::scale] = True, True
        image[lines & lined] += LINE
    return image


def _draw_bolt(image: np.ndarray, scale: int, cell: Any, color: np.ndarray) -> None:
    """A disc in its owner's color with a white core, inside a faint glow."""
    y, x = _offsets(scale)
    distance = np.hypot(y, x)
    glow = 0.45 * np.clip(1 - distance / GLOW_RADIUS, 0, 1) ** 1.5
    _blend(image, scale, cell, color, glow)
    _blend(image, scale, cell, color, _cover(distance - BOLT_RADIUS, scale))
    _blend(image, scale, cell, np.ones(3), 0.85 * _cover(distance - 0.45 * BOLT_RADIUS, scale))


def _draw_agent(image: np.ndarray, scale: int, state: State, seat: int) -> None:
    """An agent in its color; a tagged one is only a shadow of itself."""
    ahead, cell = np.array(DELTA[int(state.facing[seat])]), np.asarray(state.position[seat])
    _draw_triangle(image, scale, cell, ahead, COLORS[seat], 1.0 if state.alive[seat] else 0.35)


def _draw_triangle(
    image: np.ndarray, scale: int, cell: Any, ahead: np.ndarray, color: np.ndarray, strength: float = 1.0
) -> None:
    """A triangle pointing ahead, with a dark rim."""
    y, x = _offsets(scale)
    back = -(y * ahead[0] + x * ahead[1])  # coordinates in which the agent faces up
    side = -y * ahead[1] + x * ahead[0]
    distance = np.full_like(back, -np.inf)
    for (r0, c0), (r1, c1) in zip(TRIANGLE, np.roll(TRIANGLE, -1, axis=0), strict=True):
        normal = np.array([c0 - c1, r1 - r0]) / np.hypot(r1 - r0, c1 - c0)
        distance = np.maximum(distance, normal[0] * (back - r0) + normal[1] * (side - c0))
    _blend(image, scale, cell, np.zeros(3), 0.6 * strength * _cover(distance - 0.06, scale))
    _blend(image, scale, cell, color, strength * _cover(distance, scale))


def _draw_diamond(image: np.ndarray, scale: int, cell: Any, color: np.ndarray) -> None:
    """An agent of whom nobody sees where it looks."""
    y, x = _offsets(scale)
    distance = (np.abs(y) + np.abs(x) - 0.4) / np.sqrt(2)
    _blend(image, scale, cell, np.zeros(3), 0.6 * _cover(distance - 0.06, scale))
    _blend(image, scale, cell, color, _cover(distance, scale))


def _offsets(scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the pixels of a cell relative to its center, in cells."""
    along = (np.arange(scale) + 0.5) / scale - 0.5
    return along[:, None] + 0 * along[None, :], along[None, :] + 0 * along[:, None]


def _cover(distance: np.ndarray, scale: int) -> np.ndarray:
    """How much of each pixel a shape covers, by the distance in cells from its edge (negative inside)."""
    return np.clip(0.5 - distance * scale, 0, 1)


def _blend(image: np.ndarray, scale: int, cell: Any, color: np.ndarray, cover: np.ndarray) -> None:
    """Paint a color over one cell as strongly as `cover` says."""
    top, left = int(cell[0]) * scale, int(cell[1]) * scale
    patch = image[top : top + scale, left : left + scale]
    patch += (color - patch) * cover[..., None]
