"""Pictures of one size, whatever the level: films need that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIDE = 408  # pixels


@dataclass(frozen=True)
class Canvas:
    """Draws a state as large as it fits, in the middle of a black square."""

    picture: Callable[[Any, Any, int], Any]  # (level, state, scale)

    def __call__(self, level: Any, state: Any) -> np.ndarray:
        """uint8 [SIDE, SIDE, 3]; a picture that is too large even at scale 1 loses its edges."""
        size = max(np.shape(self.picture(level, state, 1))[:2])
        drawn = np.asarray(self.picture(level, state, max(1, SIDE // size)))[:SIDE, :SIDE]
        canvas = np.zeros((SIDE, SIDE, 3), np.uint8)
        top, left = ((SIDE - length) // 2 for length in drawn.shape[:2])
        canvas[top : top + drawn.shape[0], left : left + drawn.shape[1]] = drawn
        return canvas
