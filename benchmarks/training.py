"""Trained environment steps per second: those that a PPO update used, rollout and update together.

    python benchmarks/training.py                       # all cells that suit this machine
    python benchmarks/training.py --only "10 seeds"     # cells whose names contain this
    python benchmarks/training.py --phases --out new.json
    python benchmarks/compare.py old.json new.json      # what got slower

Schedule `parallel`, T = 256, 5 epochs x 4 minibatches, the paper's network, method maestro. A cycle plays W
new and W replayed environments and learns from the replayed ones. One axis at a time around 10 seeds of 32
with 5 members and 1,000 levels for each: seeds, environments of one seed, members, levels. The program is
that of a run, called for as many cycles as a run makes at once. What does not fit into memory is named and
left out. `--phases` says where the time of a cycle goes (see phases.py).
"""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import phases

from maestro import cohort
from maestro.config import RunConfig, ScheduleConfig
from maestro.games.lasertag import GAME
from maestro.runs import build, place
from maestro.train import Experiment

PAPER = GAME.presets["paper"]
REPEATS = 5
FOR_EVER = jnp.int32(2**30)


def configured(workers: int, seeds: int, members: int = 5, slots: int = 1000) -> RunConfig:
    """The paper's settings side by side, with buffers that are warm after few levels."""
    return replace(
        PAPER,
        seeds=seeds,
        ppo=replace(PAPER.ppo, workers=workers),
        curriculum=replace(PAPER.curriculum, member_buffer_size=slots, min_fill=8 / slots),
        schedule=ScheduleConfig(kind="parallel", total_updates=1000 * members, interval=1000),
    )


CELLS = {
    "1 seed of 32": configured(32, 1),
    "10 seeds of 32": configured(32, 10),
    "30 seeds of 32": configured(32, 30),
    "1 seed of 512": configured(512, 1, slots=1024),
    "1 seed of 2048": configured(2048, 1, slots=4096),
    "1 seed of 4096": configured(4096, 1, slots=8192),
    "10 seeds of 32, 50 members": configured(32, 10, members=50),
    "10 seeds of 32, 16,000 levels": configured(32, 10, slots=16_000),
}
TARGETS = {
    "1 seed of 32": 300e3,
    "10 seeds of 32": 2e6,
    "30 seeds of 32": 4e6,
    "1 seed of 2048": 5e6,
}  # one H200
SMALL = ["1 seed of 32"]  # for a CPU


def compiled(experiment: Experiment, config: RunConfig) -> tuple[Any, Any, float]:
    """(the program of a run's chunks, the state to begin with, seconds to compile)."""
    state = jax.jit(partial(cohort.init, experiment, 0, config.seeds))()
    began = time.perf_counter()
    chunk = place.compiled(None, experiment, state)
    return chunk, state, time.perf_counter() - began


def cycle_seconds(chunk: Any, state: Any) -> tuple[list[float], Any]:
    """(seconds per cycle of calls whose cycles all trained, in order; the state afterwards)."""
    found: list[float] = []
    cycles = 1
    while len(found) <= REPEATS:
        before, began = int(state.updates), time.perf_counter()
        state, _ = jax.block_until_ready(chunk(state, FOR_EVER, jnp.int32(cycles)))
        seconds = (time.perf_counter() - began) / cycles
        if int(state.updates) - before == cycles:
            found.append(seconds)
            cycles = cycles if len(found) > 1 else cohort.fitting(seconds)
    return sorted(found[1:]), state


def measure(name: str, config: RunConfig, with_phases: bool) -> dict[str, Any]:
    """One row: median, fastest and slowest repeat, memory, and perhaps where the time goes."""
    experiment = build.experiment(GAME, config)
    chunk, state, compiling = compiled(experiment, config)
    found, state = cycle_seconds(chunk, state)
    steps, median = config.seeds * config.ppo.workers * config.ppo.rollout_length, found[len(found) // 2]
    sizes = chunk.memory_analysis()
    memory = (sizes.temp_size_in_bytes + sizes.argument_size_in_bytes) / 1e9 if sizes else None
    row = {
        "name": name,
        "cycle_ms": [round(1e3 * x, 2) for x in (found[0], median, found[-1])],
        "trained_steps_per_second": round(steps / median),
        "target": TARGETS.get(name),
        "gigabytes": memory and round(memory, 2),
        "compile_s": round(compiling, 1),
    }
    print(
        f"{name:<30} {1e3 * median:8.1f} ms ({1e3 * found[0]:.1f} to {1e3 * found[-1]:.1f}) "
        f"{steps / median:11,.0f} steps/s  {memory or 0:6.2f} GB  compiled in {compiling:.0f} s",
        flush=True,
    )
    if with_phases:
        row["phases"] = phases.measure(experiment, state.seeds, median)
    return row


def chosen(only: list[str] | None) -> list[str]:
    """The names of the cells to measure."""
    if not only:
        return SMALL if jax.default_backend() == "cpu" else list(CELLS)
    found = [name for name in CELLS if any(part in name for part in only)]
    if not found:
        raise SystemExit(f"--only {only}: no such cell; there are: {', '.join(CELLS)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="cells whose names contain one of these")
    parser.add_argument("--phases", action="store_true", help="also where the time of a cycle goes")
    parser.add_argument("--out", metavar="FILE", help="write the rows as JSON")
    options = parser.parse_args()
    names, device = chosen(options.only), jax.devices()[0].device_kind
    print(f"{device}, jax {jax.__version__}; {REPEATS} chunks as of a run", flush=True)
    rows = []
    for name in names:
        try:
            rows.append(measure(name, CELLS[name], options.phases))
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            print(f"{name:<30} left out: it does not fit into memory", flush=True)
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"device": device, "jax": jax.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
