"""Trained environment steps per second: those that a PPO update used, rollout and update together.

    python benchmarks/training.py [--out FILE] [--quick]

Schedule `parallel`, T = 256, 5 epochs x 4 minibatches, the paper's network, method maestro. A cycle
plays W new and W replayed environments and learns from the replayed ones. Also: how the time of a
cycle depends on the number of members and on the size of the buffers.
"""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from maestro import cohort
from maestro.config import RunConfig, ScheduleConfig
from maestro.games.lasertag import GAME
from maestro.runs import build

PAPER = GAME.presets["paper"]
CYCLES = 4
REPEATS = 5
TARGETS = {"1 run of 32": 90e3, "10 runs of 32": 600e3, "1 run of 2048": 1.5e6}


def configured(workers: int, seeds: int, members: int = 5, slots: int = 1000) -> RunConfig:
    """The paper's settings side by side, with buffers that are warm after few levels."""
    return replace(
        PAPER,
        seeds=seeds,
        ppo=replace(PAPER.ppo, workers=workers),
        curriculum=replace(PAPER.curriculum, member_buffer_size=slots, min_fill=8 / slots),
        schedule=ScheduleConfig(kind="parallel", total_updates=1000 * members, interval=1000),
    )


def cycle_seconds(config: RunConfig) -> tuple[list[float], float]:
    """(seconds per cycle that trained, one number for each repeat; seconds to compile)."""
    experiment = build.experiment(GAME, config)
    state = jax.jit(partial(cohort.init, experiment, 0, config.seeds))()
    began = time.perf_counter()
    arguments = (jnp.int32(2**30), jnp.int32(CYCLES))
    chunk = jax.jit(partial(cohort.train_steps, experiment, CYCLES)).lower(state, *arguments).compile()
    compiling = time.perf_counter() - began
    found: list[float] = []
    while len(found) < REPEATS:
        before, began = int(state.updates), time.perf_counter()
        state, _ = jax.block_until_ready(chunk(state, *arguments))
        seconds = (time.perf_counter() - began) / CYCLES
        if int(state.updates) - before == CYCLES:
            found.append(seconds)
    return found, compiling


def measure(name: str, config: RunConfig) -> dict[str, Any]:
    """One row: median, fastest and slowest repeat."""
    found, compiling = cycle_seconds(config)
    found.sort()
    steps = config.seeds * config.ppo.workers * config.ppo.rollout_length
    median = found[len(found) // 2]
    row = {
        "name": name,
        "cycle_ms": [round(1e3 * x, 2) for x in (found[0], median, found[-1])],
        "trained_steps_per_second": round(steps / median),
        "target": TARGETS.get(name),
        "compile_s": round(compiling, 1),
    }
    print(
        f"{name:<34} {1e3 * median:8.1f} ms ({1e3 * found[0]:.1f} to {1e3 * found[-1]:.1f})"
        f" {steps / median:12,.0f} steps/s   compiled in {compiling:.0f} s",
        flush=True,
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", help="write the rows as JSON")
    parser.add_argument("--quick", action="store_true", help="the smallest case only, for a CPU")
    options = parser.parse_args()
    print(
        f"{jax.devices()[0].device_kind}, jax {jax.__version__}; {REPEATS} repeats of {CYCLES} cycles",
        flush=True,
    )
    rows = [measure("1 run of 32", configured(32, 1))]
    if not options.quick:
        rows += [
            measure("10 runs of 32", configured(32, 10)),
            measure("1 run of 2048", configured(2048, 1, slots=4096)),
            measure("1 run of 32, 50 members", configured(32, 1, members=50)),
            measure("1 run of 32, 16,000 levels", configured(32, 1, slots=16_000)),
        ]
    if options.out:
        with open(options.out, "w") as file:
            json.dump(
                {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "rows": rows}, file, indent=1
            )


if __name__ == "__main__":
    main()
