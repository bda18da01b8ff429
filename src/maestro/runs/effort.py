"""How much effort XLA makes for a run on a CPU: less where compiling takes about as long as training."""

import os
from importlib.metadata import version

import jax

QUICK: dict[str, bool | int] = {"xla_backend_optimization_level": 1}
if tuple(map(int, version("jax").split(".")[:2])) < (0, 11):  # later ones know no other way
    QUICK["xla_cpu_use_fusion_emitters"] = False


def options(effort: str) -> dict[str, bool | int]:
    """What XLA is told of a program; what $XLA_FLAGS says comes first."""
    if effort == "full" or jax.default_backend() != "cpu":
        return {}
    said = [flag.partition("=")[0] for flag in os.environ.get("XLA_FLAGS", "").split()]
    return {name: value for name, value in QUICK.items() if f"--{name}" not in said}
