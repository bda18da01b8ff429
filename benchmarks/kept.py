"""What XLA makes for a GPU of a program that was kept, beside what it makes of one that was just traced.

    python benchmarks/kept.py [PRESET] [--seeds N]

No GPU is needed, see kernels_per_step.py, but nvcc is, for the LSTM's kernels. Both programs are compiled as
for an H200, without trying products out; what differs in the instructions is listed by kind. The times are
this machine's. Until XLA begins: for the one traced, tracing and lowering; for the other, reading.
"""

import argparse
import re
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import kernels_per_step
from jax import export

from maestro import cohort, native, sharding
from maestro.agents.lstm import form, kernel
from maestro.games.lasertag import GAME
from maestro.runs import build, programs

INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?[\w.\-]+ = ((?:\(.*?\)|\S+) [\w\-]+)\(")  # its type and kind


def arguments(experiment: Any, seeds: int, device: Any) -> Any:
    """(limits, a cohort's arrays) as shapes on a device, and the cohort's structure."""
    there = jax.sharding.SingleDeviceSharding(device)
    state = jax.eval_shape(lambda: cohort.init(experiment, 0, seeds))
    limit = jax.ShapeDtypeStruct((), jnp.int32)
    leaves, structure = jax.tree.flatten(state)
    shapes = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=there), ((limit, limit), leaves)
    )
    return shapes, structure


def compiled(begin: Any) -> tuple[Counter[str], int]:
    """(instructions by type and kind, bytes set aside) of a program, with a word on how long it took."""
    began = time.monotonic()
    lowered = sharding.at_ease(begin)
    ready = time.monotonic()
    program = lowered.compile()
    print(f"{ready - began:.1f} s until XLA begins, {time.monotonic() - ready:.1f} s of XLA", flush=True)
    lines = program.as_text().splitlines()
    found = Counter(match[1] for line in lines if (match := INSTRUCTION.match(line)))
    return found, program.memory_analysis().temp_size_in_bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("preset", nargs="?", default="fast", choices=list(GAME.presets))
    parser.add_argument("--seeds", type=int)
    options, device = parser.parse_args(), kernels_per_step.target()
    form.obstacle = lambda *_: native.register(kernel.LIBRARY)  # as if this were a Hopper GPU
    preset = GAME.presets[options.preset]
    config = replace(preset, seeds=options.seeds or preset.seeds)
    experiment = build.experiment(GAME, config)
    (limits, leaves), structure = arguments(experiment, config.seeds, device)

    def program(limits: Any, leaves: Any) -> Any:
        state, metrics = cohort.train_steps(
            experiment, cohort.LENGTH, jax.tree.unflatten(structure, leaves), *limits
        )
        return jax.tree.leaves(state), metrics

    direct = compiled(lambda: jax.jit(program).lower(limits, leaves))
    kept = programs.exported(jax.jit(program), limits, leaves, platforms=["cuda"]).serialize()
    again = compiled(lambda: jax.jit(export.deserialize(kept).call).lower(limits, leaves))
    whose = f"{options.preset}, {config.seeds} seeds, {device.device_kind}, jax {jax.__version__}"
    print(f"{whose}: {len(kept):,} bytes are kept, with {', '.join(native.registered()) or 'no kernels'}")
    for told, (kinds, memory) in {"traced": direct, "kept": again}.items():
        print(f"{told}: {kinds.total():,} instructions, {memory:,} bytes set aside")
    for kind in sorted(direct[0] | again[0]):
        if direct[0][kind] != again[0][kind]:
            print(f"  {direct[0][kind]} -> {again[0][kind]}  {kind}")


if __name__ == "__main__":
    main()
