"""Which form of the recursion runs here: the kernel where it can, the portable scans everywhere else.

$MAESTRO_LSTM forces one: `portable` or `kernel`; `auto` is what happens without it.
"""

import os
from dataclasses import dataclass
from typing import Any

import jax

from maestro import native
from maestro.agents.lstm import kernel, portable

VARIABLE = "MAESTRO_LSTM"
FORMS: dict[str, Any] = {"portable": portable, "kernel": kernel}
HOPPER = "9.0"


@dataclass(frozen=True)
class Form:
    """What was chosen, and why."""

    name: str
    why: str

    @property
    def told(self) -> str:
        """In a line."""
        words = {"portable": "portable form", "kernel": "Hopper kernel"}
        return f"LSTM: {words[self.name]} ({self.why})"


def obstacle(hidden: int, batch: int) -> str:
    """Why the kernel cannot run, or nothing."""
    if jax.default_backend() != "gpu":
        return "there is no NVIDIA GPU"
    capability = getattr(jax.devices()[0], "compute_capability", "none")
    if capability != HOPPER:
        return f"the kernel is for GPUs of compute capability {HOPPER}, and this one has {capability}"
    if hidden != kernel.UNITS:
        return f"the kernel has {kernel.UNITS} units, and this network {hidden}"
    if batch % kernel.SEQUENCES:
        return f"the kernel takes multiples of {kernel.SEQUENCES} sequences, and a minibatch has {batch}"
    return native.register(kernel.LIBRARY)


def choose(hidden: int, batch: int) -> Form:
    """The form for so many units and sequences; `ValueError` if a forced one cannot run here."""
    name = os.environ.get(VARIABLE) or "auto"
    if name not in ("auto", *FORMS):
        raise ValueError(f"${VARIABLE}: {name!r} is unknown; allowed: auto, {', '.join(FORMS)}")
    if name == "portable":
        return Form(name, f"${VARIABLE} says so")
    why = obstacle(hidden, batch)
    if name == "kernel" and why:
        raise ValueError(f"${VARIABLE}: the kernel cannot run: {why}")
    return Form("portable", why) if why else Form("kernel", "this GPU can run it")
