"""How much effort XLA makes: less where compiling takes about as long as what is compiled.

On a CPU that is a setting. On a GPU it is how products are computed: tried out one by one, which takes most
of the time of compiling, or by XLA's model of what they cost.
"""

import os
from importlib.metadata import version

import jax

VERSION = tuple(map(int, version("jax").split(".")[:2]))
QUICK: dict[str, bool | int] = {"xla_backend_optimization_level": 1}
if VERSION < (0, 11):  # later ones know no other way
    QUICK["xla_cpu_use_fusion_emitters"] = False
MODELS_COSTS = VERSION >= (0, 11)
UNTRIED: dict[str, bool | int] = {"xla_gpu_autotune_level": 0}
if MODELS_COSTS:
    UNTRIED["xla_gpu_experimental_cost_model_gemm_tiling_default"] = True


def options(effort: str = "full", tried: bool = True) -> dict[str, bool | int]:
    """What XLA is told of a program; what $XLA_FLAGS says comes first."""
    wanted = {"cpu": QUICK if effort == "quick" else {}, "gpu": {} if tried else UNTRIED}
    said = [flag.partition("=")[0] for flag in os.environ.get("XLA_FLAGS", "").split()]
    return {name: x for name, x in wanted.get(jax.default_backend(), {}).items() if f"--{name}" not in said}
