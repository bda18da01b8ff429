"""What it costs to run through a mesh of one device: cycles with it and without, in turn.

    python benchmarks/mesh.py
    python benchmarks/mesh.py --only "10 seeds of 32" --repeats 20

The cells are those of training.py. The ratio is that of medians; the interval, of 95 %, resamples the pairs.
"""

import argparse
import time
from functools import partial
from typing import Any

import jax
import numpy as np
import training

from maestro import cohort, sharding
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.sharding import Layout

CYCLES = 4
LIMITS = np.int32(2**30), np.int32(CYCLES)
RESAMPLES = 10_000


def begun(layout: Layout | None, config: Any) -> tuple[Any, Any]:
    """(the program of some cycles, a state in which every cycle trains)."""
    experiment = build.experiment(GAME, config)
    state = sharding.put(layout, jax.jit(partial(cohort.init, experiment, 0, config.seeds))())
    chunk = sharding.compiled(layout, partial(cohort.train_steps, experiment, CYCLES), state, *LIMITS)
    before = -CYCLES
    while int(state.updates) - before < CYCLES:
        before, (state, _) = int(state.updates), chunk(state, *LIMITS)
    return chunk, state


def seconds(chunk: Any, state: Any) -> float:
    """Of a cycle, from the same state every time."""
    began = time.perf_counter()
    jax.block_until_ready(chunk(state, *LIMITS))
    return (time.perf_counter() - began) / CYCLES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="1 seed of 32", metavar="CELL", choices=list(training.CELLS))
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    both = [begun(layout, training.CELLS[options.only]) for layout in (None, Layout(1, 1))]
    found = np.array([[seconds(*one) for one in both] for _ in range(options.repeats + 1)])[1:]
    drawn = np.random.default_rng(0).integers(0, len(found), (RESAMPLES, len(found)))
    without, through = np.median(found[drawn], axis=1).T
    low, high = np.quantile(through / without, (0.025, 0.975))
    medians = np.median(found, axis=0)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {options.only}, {len(found)} pairs")
    print(
        f"without {1e3 * medians[0]:.2f} ms, through a mesh of one device {1e3 * medians[1]:.2f} ms a cycle"
    )
    print(f"ratio {medians[1] / medians[0]:.4f} ({low:.4f} to {high:.4f})")


if __name__ == "__main__":
    main()
