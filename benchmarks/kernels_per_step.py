"""The kernels and copies of one step of a rollout, from the program that XLA makes for a GPU.

    python benchmarks/kernels_per_step.py                    # for the GPU that is here, else for an H200
    python benchmarks/kernels_per_step.py "1 seed of 2048"    # another cell of training.py

No GPU is needed, only jax with CUDA's plugin (`pip install jax[cuda12]`): the H200 is described below. How
products are split is then XLA's guess, since nothing can be tried out, and nothing is said of times.
"""

import sys
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import phases
import training
from jax.experimental import topologies

from maestro import cohort, curriculum, train
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.train import TrainState

H200 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: 233472 shared_memory_per_block_optin: 232448
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000 l2_cache_size: 52428800 device_memory_size: 150000000000
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 patch: 0 }
device_description_str: "NVIDIA H200"
"""


def target() -> Any:
    """The GPU that is here, or one that is described; products then have a GPU's operands."""
    if jax.default_backend() == "gpu":
        return jax.devices()[0]
    for name in ("", ".cell", ".one_step"):
        sys.modules[f"maestro.agents.lstm{name}"].operand_dtype = lambda: jnp.dtype(jnp.bfloat16)
    return topologies.get_topology_desc(platform="cuda", target_config=H200, topology="1x1x1").devices[0]


def program(name: str, device: Any) -> tuple[str, int]:
    """(the compiled rollout of a cell, its steps)."""
    config = training.CELLS[name]
    experiment = build.experiment(GAME, config)
    plan = train.training_plan(experiment)

    def play(key: Any, state: TrainState) -> Any:
        coplayer = cohort.draw_coplayers(key, experiment, state, plan)
        task = curriculum.ask(key, experiment.teacher, state.curriculum, coplayer, plan.new, plan.replay)
        return train.play(key, experiment, state, task)

    there = jax.sharding.SingleDeviceSharding(device)
    seeds = jax.eval_shape(lambda: cohort.init(experiment, 0, config.seeds)).seeds
    inputs = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=there), (seeds.key, seeds)
    )
    compiled = jax.jit(jax.vmap(play)).lower(*inputs).compile()
    return compiled.as_text(), config.ppo.rollout_length


def main() -> None:
    name, device = (sys.argv[1:] or ["1 seed of 32"])[0], target()
    found = phases.kernels_of_turn(*program(name, device))
    for kernel, kind in found:
        print(f"{kind:<14} {kernel}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(kind for _, kind in found).items())
    print(f"{name}, {device.device_kind}, jax {jax.__version__}: {len(found)} a step ({kinds})")


if __name__ == "__main__":
    main()
