"""The paper's network for pictures: convolutions, actor and critic, Beta distributions (appendix D.2)."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from maestro.agents.distributions import Beta, Distribution, over
from maestro.agents.images import Convolutions, picture_of
from maestro.agents.memoryless import Memoryless
from maestro.config import Given, Length, Range
from maestro.envs.base import Box, Discrete

PAPER = Box(3, 0.0, 1.0)  # steering wheel, gas and brake


@dataclass(frozen=True)
class ConvBeta(Memoryless):
    """Takes pictures of bytes; convolutions without memory, real actions by Beta distributions."""

    channels: Annotated[tuple[int, ...], Range(1, 4096), Length(16)] = (8, 16, 32, 64, 128, 256)
    """Filters of each convolution, one after another."""
    kernels: Annotated[tuple[int, ...], Range(1, 64), Length(16)] = (2, 2, 2, 2, 3, 3)
    """The side of each convolution's kernel."""
    strides: Annotated[tuple[int, ...], Range(1, 64), Length(16)] = (2, 2, 2, 2, 1, 1)
    """How far each convolution's kernel moves."""
    heads: Annotated[tuple[int, ...], Range(1, 65_536), Length(16)] = (100,)
    """Hidden layers of the actor, and of the separate critic."""
    action: Annotated[Discrete | Box, Given] = PAPER
    view: Annotated[tuple[int, int, int], Given] = (84, 84, 12)
    name: Literal["conv_beta"] = "conv_beta"
    """What kind of network it is."""

    def fitted(self, observation: Any, action: Discrete | Box) -> "ConvBeta":
        """For pictures of rows x columns x channels; frames that are stacked are channels."""
        agent = replace(self, action=action, view=picture_of(observation))
        _ = agent.encoder  # refuses what does not fit
        return agent

    @property
    def distribution(self) -> Distribution:
        return Beta(self.action) if isinstance(self.action, Box) else over(self.action)

    @property
    def encoder(self) -> Convolutions:
        return Convolutions(self.view, self.channels, self.kernels, self.strides)
