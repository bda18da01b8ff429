"""A network without memory for small grids: convolution, separate actor and critic."""

from dataclasses import dataclass
from typing import Annotated, Literal

from maestro.agents.encoders import OnGrid
from maestro.agents.heads import UNKNOWN
from maestro.agents.memoryless import Memoryless
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete


@dataclass(frozen=True)
class Conv(OnGrid, Memoryless):
    """Takes views of a few rows and columns; a convolution without memory."""

    filters: Annotated[int, Range(1, 4096)] = 16
    """Filters of the 3 x 3 convolution."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (64, 64)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = UNKNOWN
    view: Annotated[tuple[int, int, int], Given] = (3, 3, 1)
    name: Literal["conv"] = "conv"
    """What kind of network it is."""
