"""A level as shapes that a page can draw, and what moves on it; in units of the game's world, y down."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Body = tuple[int, float, float, float]
"""(kind, x, y, angle): what stands where, turned clockwise by so many radians from how it is drawn."""


@dataclass(frozen=True)
class Shape:
    """Something in one color: `#rrggbb`, or a name for which the page has a light and a dark value."""

    kind: Literal["rects", "polygon", "line", "circle"]
    at: tuple[float, ...]
    """x, y, width, height of each rectangle; x, y of each corner or point; x, y, radius of a circle."""
    color: str
    width: float = 0.0
    """Of a line."""
    closed: bool = False
    """Whether a line leads back to its first point."""


@dataclass(frozen=True)
class Scene:
    """A level: what stands still, how each kind of body looks around (0, 0), and where all is at first."""

    size: tuple[float, float]
    ground: str
    shapes: tuple[Shape, ...]
    bodies: tuple[tuple[Shape, ...], ...]
    start: tuple[Body, ...]


def plain(number: int | float, digits: int = 2) -> int | float:
    """A number with few decimals, and none where it needs none."""
    short = round(float(number), digits)
    return int(short) if short == int(short) else short


def flat(bodies: Any) -> list[int | float]:
    """Bodies one after the other, as pages take them."""
    return [plain(number) for body in bodies for number in body]


def shape_data(shape: Shape) -> dict[str, Any]:
    """A shape as plain data."""
    found = asdict(shape) | {"at": [plain(number) for number in shape.at]}
    return found if shape.kind == "line" else {name: found[name] for name in ("kind", "at", "color")}


def scene_data(scene: Scene) -> dict[str, Any]:
    """A scene as plain data."""
    return {
        "size": [plain(length) for length in scene.size],
        "ground": scene.ground,
        "shapes": [shape_data(shape) for shape in scene.shapes],
        "bodies": [[shape_data(shape) for shape in kind] for kind in scene.bodies],
        "start": flat(scene.start),
    }
