"""Networks; those that are ready for any game have names."""

from typing import Any

from maestro import imports
from maestro.settings import shown

READY = {
    "mlp": "maestro.agents.mlp:MLP",
    "lstm": "maestro.agents.vector_lstm:VectorLSTM",
    "conv": "maestro.agents.conv:Conv",
    "conv_lstm": "maestro.agents.conv_lstm:ConvLSTM",
    "conv_beta": "maestro.agents.conv_beta:ConvBeta",
}


def ready(name: str) -> Any:
    """The network of this name, a frozen dataclass whose fields are its settings."""
    if name not in READY:
        raise ValueError(f"agent: {shown(name)} is unknown; allowed: {', '.join(READY)}")
    return imports.load(READY[name], type)
