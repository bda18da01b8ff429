"""Steps per second of the views that others plug into: one game at a time, and many in one call.

    python benchmarks/views.py [--games 4096] [--opponents random turret] [--seconds 3]

A step is one action of one seat in one game, its opponent's answer included, on generated levels, with new
games where old ones end. On a CPU the time is the process's own, on one core, since others may use it too.
"""

import argparse
import os
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax
import numpy as np

from maestro import views

REPEATS = 3  # the best counts: others may use the machine


def clock():
    """Seconds: of the process on a CPU, by the wall on an accelerator."""
    return time.process_time() if jax.default_backend() == "cpu" else time.perf_counter()


def per_second(step, steps, seconds):
    """Steps per second of the best of some repeats, compile time left out."""
    step()
    step()
    best = 0.0
    for _ in range(REPEATS):
        calls, began = 0, clock()
        while clock() - began < seconds / REPEATS:
            step()
            calls += 1
        best = max(best, calls * steps / (clock() - began))
    return best


def single(opponent, seconds):
    """One game after the other through Gymnasium."""
    env, generator = views.single(opponent=opponent), np.random.default_rng(0)
    env.reset(seed=0)

    def step():
        _, _, terminated, truncated, _ = env.step(generator.integers(5))
        if terminated or truncated:
            env.reset()

    return per_second(step, 1, seconds)


def vector(opponent, games, mode, seconds):
    """Many games through Gymnasium's vector interface."""
    env, generator = views.vector(games, opponent=opponent, autoreset_mode=mode), np.random.default_rng(0)
    env.reset(seed=0)
    return per_second(lambda: env.step(generator.integers(5, size=games)), games, seconds)


def main():
    """Print a line for each opponent."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=4096)
    parser.add_argument("--opponents", nargs="+", default=["random", "turret", "wall-follower"])
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {options.games} games in one call")
    for opponent in options.opponents:
        one = single(opponent, options.seconds)
        for mode in ("NextStep", "SameStep"):
            many = vector(opponent, options.games, mode, options.seconds)
            print(f"{opponent}: single {one:,.0f}/s, vector {mode} {many:,.0f}/s, {many / one:,.0f} times")


if __name__ == "__main__":
    main()
