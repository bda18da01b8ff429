"""How many cycles many seeds side by side need, with `curriculum.cold` at `wait` and at `redraw`.

PYTHONPATH=tests python docs/scripts/cold.py   # the race of tests/probes.py, 64 seeds
"""

import sys

import jax
import jax.numpy as jnp

from maestro import cohort, games
from maestro.runs import build

SEEDS, UPDATES, INTERVAL = 64, 200, 20
CHUNK = 20  # cycles of one call


def cycles(game, cold, seeds):
    """Cycles until all updates are made."""
    changes = {
        "method": "maestro",
        "curriculum": {"cold": cold},
        "schedule": {"kind": "parallel", "total_updates": UPDATES, "interval": INTERVAL},
    }
    config = build.configure(game, game.presets["tiny"], changes)
    experiment = build.experiment(game, config)
    state = jax.jit(lambda: cohort.init(experiment, config.seed, seeds))()
    limits = jnp.int32(UPDATES), jnp.int32(CHUNK)
    chunk = jax.jit(lambda state: cohort.train_steps(experiment, CHUNK, state, *limits)[0])
    while int(state.updates) < UPDATES:
        state = chunk(state)
    return int(state.cycles)


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    game = games.find("probes:RACE")
    for cold in ("wait", "redraw"):
        print(f"{cold}: {cycles(game, cold, seeds)} cycles for {UPDATES} updates of {seeds} seeds")


if __name__ == "__main__":
    main()
