"""A network with memory for observations of any form: a dense layer, LSTM, separate actor and critic."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from maestro.agents.encoders import Layer, count
from maestro.agents.heads import UNKNOWN
from maestro.agents.recurrent import Recurrent
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete


@dataclass(frozen=True)
class VectorLSTM(Recurrent):
    """Takes any observation, joined into one vector, and remembers; a dense layer, then an LSTM."""

    units: Annotated[int, Range(1, 65_536)] = 64
    """Units of the layer before the LSTM."""
    hidden: Annotated[int, Range(1, 65_536)] = 64
    """Units of the LSTM."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (32, 32)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = UNKNOWN
    inputs: Annotated[int, Given] = 1
    name: Literal["lstm"] = "lstm"
    """What kind of network it is."""

    part = "layer"

    def fitted(self, observation: Any, action: Discrete | Box) -> "VectorLSTM":
        """For observations that are arrays or trees of arrays."""
        return replace(self, action=action, inputs=count(observation))

    @property
    def encoder(self) -> Layer:
        return Layer(self.inputs, self.units)
