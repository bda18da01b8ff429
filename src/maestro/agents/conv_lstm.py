"""The paper's network for small grids: convolution, LSTM, separate actor and critic (appendix D.1)."""

from dataclasses import dataclass
from typing import Annotated, Literal

from maestro.agents.encoders import OnGrid
from maestro.agents.recurrent import Recurrent
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete

PAPER = Discrete(5)  # actions of the paper's first game


@dataclass(frozen=True)
class ConvLSTM(OnGrid, Recurrent):
    """Takes views of a few rows and columns, and remembers them; a convolution, then an LSTM."""

    filters: Annotated[int, Range(1, 4096)] = 16
    """Filters of the 3 x 3 convolution."""
    hidden: Annotated[int, Range(1, 65_536)] = 256
    """Units of the LSTM."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (32, 32)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = PAPER
    view: Annotated[tuple[int, int, int], Given] = (5, 5, 3)
    name: Literal["conv_lstm"] = "conv_lstm"
    """What kind of network it is."""

    part = "conv"
