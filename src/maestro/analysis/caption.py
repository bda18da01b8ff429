"""Words in the pictures of a film: who is who, and how it goes."""

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

SIZE = 18  # of the letters, in pixels
MARGIN = 8
MAX_LINES = 3
PAPER, INK = (24, 24, 27), (235, 235, 235)


def who_is_who(seats: Sequence[str], names: Sequence[str]) -> str:
    """`red: the student, blue: its opponent`, for a game that says how it draws its seats."""
    return ", ".join(f"{seat}: {name}" for seat, name in zip(seats, names, strict=False))


@lru_cache(maxsize=8)
def letters(size: int = SIZE) -> Any:
    """The letters to write with."""
    from PIL import ImageFont  # slow to import, and only films need it

    return ImageFont.load_default(size)


def bar(text: str, width: int) -> np.ndarray:
    """The words on a dark bar as wide as the pictures, uint8 [height, width, 3]."""
    from PIL import Image, ImageDraw

    letter = 1.05 * letters().getlength(text) / len(text)  # some lines have wider letters than others
    fitting = max(1, int((width - 2 * MARGIN) / letter))
    lines = textwrap.wrap(text, fitting, max_lines=MAX_LINES, placeholder=" …")
    height = 2 * MARGIN + len(lines) * (SIZE + 4)
    image = Image.new("RGB", (width, height), PAPER)
    ImageDraw.Draw(image).multiline_text((MARGIN, MARGIN - 2), "\n".join(lines), INK, letters())
    return np.asarray(image)


def line(text: str, width: int, ink: Any = INK, size: int = SIZE) -> np.ndarray:
    """One line of words, cut where it would not fit: of the same height whatever it says."""
    from PIL import Image, ImageDraw

    shown = text
    while shown and letters(size).getlength(shown) > width - 2 * MARGIN:
        shown = shown.removesuffix(" …")[:-1].rstrip() + " …" if len(shown) > 3 else ""
    image = Image.new("RGB", (width, size + MARGIN), PAPER)
    ImageDraw.Draw(image).text((MARGIN, MARGIN // 2 - 2), shown, ink, letters(size))
    return np.asarray(image)


def below(picture: np.ndarray, words: np.ndarray | None) -> np.ndarray:
    """A picture with its words below it, if there are any."""
    return picture if words is None else np.concatenate([picture, words])
