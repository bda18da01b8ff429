"""Train by a method of your own, from Python: settings, experiment, state, and a loop.

python examples/own_method.py                      # the ring, about a minute on a CPU
python examples/own_method.py --game lasertag --updates 150
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp

from maestro import cohort, games, population
from maestro.curriculum import Method, Source
from maestro.runs import agent_file, build


def newest(config, curriculum):
    """A rule: all weight on the member that joined last."""
    slots = jnp.arange(population.members(curriculum.population).size)
    return (slots == curriculum.population.size).astype(jnp.float32)


NEWEST = Method(newest, Source.PER_COPLAYER)


def train(game, updates, workers):
    """(settings, experiment, state) after so many updates by the rule above."""
    changes = {
        "method": "own_method:NEWEST",
        "ppo": {"workers": workers},
        "schedule": {"total_updates": updates, "interval": max(1, updates // 5)},
    }
    config = build.configure(game, game.presets["tiny"], changes, NEWEST)
    experiment = build.experiment(game, config, NEWEST)
    state = jax.jit(lambda: cohort.init(experiment, config.seed, config.seeds))()
    limits = jnp.int32(updates), jnp.int32(10)
    ten_cycles = jax.jit(lambda state: cohort.train_steps(experiment, 10, state, *limits))
    while int(state.updates) < updates:
        state, metrics = ten_cycles(state)  # leaves of the metrics are [10, seeds, ...]
        members = int(state.seeds.curriculum.population.size[0])
        entropy = float(jnp.nanmean(metrics.losses.entropy))
        print(f"update {int(state.updates)}: {members} members, entropy of the policy {entropy:.2f}")
    return config, experiment, state


def main(arguments=None):
    """Train, and write the student as a file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", default="ring:GAME", help="a known game, or module:NAME")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path("agents"))
    options = parser.parse_args(arguments)
    config, _, state = train(games.find(options.game), options.updates, options.workers)
    options.out.mkdir(parents=True, exist_ok=True)
    print("written:", *agent_file.save_students(config, state, options.out))


if __name__ == "__main__":
    main()
