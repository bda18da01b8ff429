"""Words below the pictures of a film: who is who."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

SIZE = 18  # of the letters, in pixels
MARGIN = 8
MAX_LINES = 3
PAPER, INK = (24, 24, 27), (235, 235, 235)


def who_is_who(seats: Sequence[str], names: Sequence[str]) -> str:
    """`red: the student, blue: its opponent`, for a game that says how it draws its seats."""
    return ", ".join(f"{seat}: {name}" for seat, name in zip(seats, names, strict=False))


def bar(text: str, width: int) -> np.ndarray:
    """The words on a dark bar as wide as the pictures, uint8 [height, width, 3]."""
    from PIL import Image, ImageDraw, ImageFont  # slow to import, and only films need it

    font: Any = ImageFont.load_default(SIZE)
    letter = 1.05 * font.getlength(text) / len(text)  # some lines have wider letters than others
    fitting = max(1, int((width - 2 * MARGIN) / letter))
    lines = textwrap.wrap(text, fitting, max_lines=MAX_LINES, placeholder=" …")
    height = 2 * MARGIN + len(lines) * (SIZE + 4)
    image = Image.new("RGB", (width, height), PAPER)
    ImageDraw.Draw(image).multiline_text((MARGIN, MARGIN - 2), "\n".join(lines), INK, font)
    return np.asarray(image)


def below(picture: np.ndarray, words: np.ndarray | None) -> np.ndarray:
    """A picture with its words below it, if there are any."""
    return picture if words is None else np.concatenate([picture, words])
