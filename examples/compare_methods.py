"""Two methods on a tiny game, trained alike; then their students meet, from both seats, on fresh levels.

python examples/compare_methods.py                 # maestro and dr-sp on the ring, about a minute on a CPU
python examples/compare_methods.py --methods maestro plr-fsp --seeds 5
"""

import argparse

import jax
import jax.numpy as jnp

from maestro import cohort, games
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import both_seats, step_bound
from maestro.runs import build


def train(game, method, options):
    """(experiment, students [seeds]) after all updates."""
    changes = {
        "method": method,
        "seeds": options.seeds,
        "ppo": {"workers": options.workers},
        "schedule": {"total_updates": options.updates, "interval": max(1, options.updates // 5)},
    }
    config = build.configure(game, game.presets["tiny"], changes)
    experiment = build.experiment(game, config)
    state = jax.jit(lambda: cohort.init(experiment, config.seed, config.seeds))()
    limits = jnp.int32(options.updates), jnp.int32(10)
    ten_cycles = jax.jit(lambda state: cohort.train_steps(experiment, 10, state, *limits)[0])
    while int(state.updates) < options.updates:
        state = ten_cycles(state)
    return experiment, state.seeds.learner.params


def meet(key, experiment, ours, theirs, count):
    """How each seed's student did against the other method's: +1, 0 or -1 on each level, [seeds, levels]."""
    env, seeds = experiment.env, jax.tree.leaves(ours)[0].shape[0]
    keys = jax.random.split(key, (seeds, count))
    levels = jax.jit(jax.vmap(jax.vmap(env.sample_level)))(keys)

    def one(key, a, b, levels):
        players = trained(experiment.agent, a), trained(experiment.agent, b)
        return both_seats(key, env, *players, levels, steps)

    steps = step_bound(levels)
    return jax.jit(jax.vmap(one))(jax.random.split(key, seeds), ours, theirs, levels)


def main(arguments=None):
    """Train both, let them meet, and print a line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", default="ring:GAME", help="a known game, or module:NAME")
    parser.add_argument("--methods", nargs=2, default=["maestro", "dr-sp"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--games", type=int, default=200, help="for each seed, an even number")
    options = parser.parse_args(arguments)
    game = games.find(options.game)
    (experiment, ours), (_, theirs) = (train(game, method, options) for method in options.methods)
    outcomes = meet(jax.random.key(1), experiment, ours, theirs, options.games)
    a, b = options.methods
    for seed, result in enumerate(outcomes):
        won, drawn, lost = (int((result == kind).sum()) for kind in (1, 0, -1))
        print(f"seed {seed}: {a} won {won}, drawn {drawn}, {b} won {lost}")
    print(f"{a}'s mean score against {b}, between -1 and 1: {float(outcomes.mean()):+.2f}")


if __name__ == "__main__":
    main()
