"""What stands beside the pictures of a game: what each player sees, and the value that it expects."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from maestro.analysis import caption
from maestro.games import Drawing

SIDE = 200  # pixels of a view's longer side, about
WIDTH = SIDE + 2 * caption.MARGIN  # of the column of views
CHART = 120  # pixels of the values' height
COLORS = ("#ff3366", "#45b0fc")  # of the seats, for games that say nothing
ROW = 8  # numbers in a row of a heat map of a vector
SMALL = 14  # letters
LETTERS = 2 * SMALL - 4  # of the chart, which is drawn twice as large
GRAY = (130, 130, 135)


@dataclass(frozen=True)
class Beside:
    """Both players of one game, [T] being its steps until the end."""

    draw: Drawing
    names: tuple[str, str]
    obs: Any  # leaves [T + 1, 2, ...]
    values: Float[np.ndarray, "T 2"]  # NaN for who has no critic

    @property
    def colors(self) -> tuple[str, ...]:
        """Of the two seats."""
        return self.draw.colors or COLORS

    def called(self, seat: int) -> str:
        """`red: random`, or `A: random` in a game that does not say how it draws its seats."""
        return f"{(self.draw.seats or ('A', 'B'))[seat]}: {self.names[seat]}"

    def column(self, t: int) -> np.ndarray:
        """What both see after t steps, one above the other, uint8 [height, WIDTH, 3]."""
        parts = []
        for seat in range(2):
            parts.append(caption.line(self.called(seat), WIDTH, self.colors[seat], SMALL))
            own = jax.tree.map(lambda x, seat=seat: x[t, seat], self.obs)
            parts.append(framed(sight(self.draw, own, self.bounds), (SIDE, WIDTH)))
        return np.concatenate(parts)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest number that anyone observes in this game."""
        leaves = [np.asarray(leaf, float) for leaf in jax.tree.leaves(self.obs)]
        return min(leaf.min() for leaf in leaves), max(leaf.max() for leaf in leaves)

    def chart(self, t: int, width: int) -> np.ndarray | None:
        """The values up to the state after t steps as growing curves, with the latest as numbers."""
        known = self.values[np.isfinite(self.values)]
        if not known.size:
            return None
        ends = min(-0.1, float(known.min())), max(0.1, float(known.max()))
        grown = curves(self.values[: t + 1], len(self.values), ends, self.colors, width)
        return np.concatenate([numbers(self, t, width), grown])


def sight(draw: Drawing, obs: Any, bounds: tuple[float, float]) -> np.ndarray:
    """One player's observation as the game draws it, else as a heat map; as large as it fits into SIDE."""
    if draw.view is not None:
        scale = max(1, SIDE // max(np.shape(draw.view(obs, 1))[:2]))
        return np.asarray(draw.view(obs, scale))
    cells = heat_map(obs, bounds)
    scale = max(1, SIDE // max(cells.shape[:2]))
    return cells.repeat(scale, axis=0).repeat(scale, axis=1)


def heat_map(obs: Any, bounds: tuple[float, float]) -> np.ndarray:
    """An observation as cells from dark to light, uint8 [height, width, 3]: a grid, or numbers in rows."""
    leaves, (low, high) = jax.tree.leaves(obs), bounds
    cells = np.asarray(leaves[0], float)
    if len(leaves) > 1 or cells.ndim not in (2, 3):
        flat = np.concatenate([np.asarray(leaf, float).ravel() for leaf in leaves])
        missing = -len(flat) % min(ROW, len(flat))
        cells = np.pad(flat, (0, missing), constant_values=low).reshape(-1, min(ROW, len(flat)))
    light = (cells - low) / ((high - low) or 1.0)
    if light.ndim == 2 or light.shape[2] > 3:
        light = np.repeat((light if light.ndim == 2 else light.mean(axis=2))[..., None], 3, axis=2)
    light = np.pad(light, ((0, 0), (0, 0), (0, 3 - light.shape[2])))
    return (np.clip(light, 0, 1) * 230 + 12).astype(np.uint8)


def framed(picture: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A picture in the middle of a dark rectangle of another shape; its edges are cut where it is larger."""
    height, width = shape
    picture = picture[:height, :width]
    canvas = np.full((height, width, 3), caption.PAPER, np.uint8)
    top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
    canvas[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return canvas


def numbers(players: Beside, t: int, width: int) -> np.ndarray:
    """The latest value of each, side by side."""
    parts = []
    for seat, room in enumerate((width // 2, width - width // 2)):
        value = players.values[min(t, len(players.values) - 1), seat]
        told = "no value" if np.isnan(value) else f"value {value:+.2f}"
        parts.append(caption.line(f"{players.called(seat)}, {told}", room, players.colors[seat], SMALL))
    return np.concatenate(parts, axis=1)


def curves(
    values: Float[np.ndarray, "t 2"], steps: int, ends: tuple[float, float], colors: Any, width: int
) -> np.ndarray:
    """Curves over so many steps, with a line at 0 and the range's ends, uint8 [CHART, width, 3]."""
    from PIL import Image, ImageDraw  # slow to import

    image = Image.new("RGB", (2 * width, 2 * CHART), caption.PAPER)  # twice as large: smooth lines
    paint, (low, high), margin = ImageDraw.Draw(image), ends, 2 * caption.MARGIN
    font = caption.letters(LETTERS)
    labels = {value: f"{value:+.1f}" if value else "0" for value in (low, high, 0.0)}
    left = margin + max(80, 16 + round(max(font.getlength(told) for told in labels.values())))

    def place(t: int, value: Any) -> tuple[Any, Any]:
        x = left + (2 * width - margin - left) * t / max(1, steps - 1)
        return x, margin + (2 * CHART - 2 * margin) * (high - value) / (high - low)

    for value, told in labels.items():
        paint.line([place(0, value), place(max(1, steps - 1), value)], GRAY, 2 if value == 0 else 1)
        apart = abs(place(0, value)[1] - place(0, 0.0)[1])
        if value == 0 or apart >= LETTERS:  # the label at 0 stays where another would lie upon it
            paint.text((margin, place(0, value)[1]), told, GRAY, font, "lm")
    for seat in range(2):
        points = [place(t, value) for t, value in enumerate(values[:, seat]) if np.isfinite(value)]
        if len(points) > 1:
            paint.line(points, colors[seat], 4, "curve")
        for x, y in points[-1:]:
            paint.ellipse((x - 7, y - 7, x + 7, y + 7), colors[seat])
    return np.asarray(image.resize((width, CHART), Image.Resampling.BOX))
