"""The paper's network for small grids: convolution, LSTM, separate actor and critic (appendix D.1)."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from maestro.agents.encoders import Convolution, view_of
from maestro.agents.recurrent import Recurrent
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete

PAPER = Discrete(5)  # actions of the paper's first game


@dataclass(frozen=True)
class ConvLSTM(Recurrent):
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

    def fitted(self, observation: Any, action: Discrete | Box) -> "ConvLSTM":
        """For views of rows x columns x channels."""
        return replace(self, action=action, view=view_of(observation))

    @property
    def head_sizes(self) -> tuple[int, ...]:
        return self.heads

    @property
    def encoder(self) -> Convolution:
        return Convolution(self.view, self.filters)
