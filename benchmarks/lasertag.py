"""LaserTag steps per second with both observations and random actions, beside OpenSpiel's `laser_tag`.

    python benchmarks/lasertag.py [--batches 1 256 ...] [--seconds 2] [--out result.json]

Everything runs on one CPU core, and on the GPU where jax has one.
"""

import argparse
import json
import os
import platform
import random
import time
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.lasertag.game import LaserTag

ENV = LaserTag()
CPU_BATCHES = [1, 16, 64, 256, 1024, 4096, 16384]
GPU_BATCHES = [2**power for power in range(10, 21, 2)]
NUM_STEPS = 64  # in one call
REPEATS = 3  # the best counts: others may use the machine


def clock():
    """Seconds: of the core on a CPU, where others may run on it too, and by the wall on a GPU."""
    return time.process_time() if jax.default_backend() == "cpu" else time.perf_counter()


def random_actions(key):
    """Both players' actions from one random word: each half scaled to 5."""
    word = jax.random.bits(key, (), jnp.uint32)
    halves = jnp.stack([word >> 16, word & 0xFFFF])
    return (halves * 5 >> 16).astype(jnp.int32)


def checksum(obs):
    """A sum in which every entry of both observations counts differently."""
    weight = jnp.arange(1, obs.size + 1, dtype=jnp.uint32).reshape(obs.shape)
    return jnp.sum(obs.astype(jnp.uint32) * weight, dtype=jnp.uint32)


def play_one(key, level, start, first_obs, state, number):
    """One step of one environment, starting again on its level at the end of an episode."""
    action_key, step_key = jax.random.split(jax.random.fold_in(key, number))
    actions = random_actions(action_key)
    state, obs, reward, terminated, truncated, _ = ENV.step(step_key, level, state, actions)
    done = terminated | truncated
    state, obs = jax.tree.map(partial(jnp.where, done), (start, first_obs), (state, obs))
    return state, checksum(obs) + reward[0].astype(jnp.int32).astype(jnp.uint32)


@jax.jit
def set_up(key, numbers):
    """Keys, levels and first states, each environment's from the key folded with its number."""
    keys = jax.vmap(jax.random.fold_in, (None, 0))(key, numbers)
    level = jax.vmap(ENV.sample_level)(keys)
    return keys, level, *jax.vmap(ENV.reset)(keys, level)


@jax.jit
def play(keys, level, start, first_obs, state, begin):
    """`NUM_STEPS` steps of every environment; the checksums keep all observations alive."""

    def step(carry, number):
        state, total = carry
        state, seen = jax.vmap(play_one, (0, 0, 0, 0, 0, None))(keys, level, start, first_obs, state, number)
        return (state, total + seen), None

    total = jnp.zeros(keys.shape, jnp.uint32)
    return jax.lax.scan(step, (state, total), begin + jnp.arange(NUM_STEPS))[0]


def steps_per_second(batch, seconds):
    """Steps of one environment times the batch, per second; the best of some repeats."""
    keys, level, start, first_obs = set_up(jax.random.key(0), jnp.arange(batch))
    state, _ = jax.block_until_ready(play(keys, level, start, first_obs, start, 0))
    best, begin = 0.0, NUM_STEPS
    for _ in range(REPEATS):
        calls, started = 0, clock()
        while clock() - started < seconds / REPEATS:
            state, _ = jax.block_until_ready(play(keys, level, start, first_obs, state, begin))
            calls, begin = calls + 1, begin + NUM_STEPS
        best = max(best, calls * NUM_STEPS * batch / (clock() - started))
    return best


def open_spiel_steps(game, actions, seconds):
    """Decision steps of OpenSpiel in so many seconds, both observation tensors at each of them."""
    steps, started = 0, clock()
    state = game.new_initial_state()
    while clock() - started < seconds:
        for number in range(256):
            while state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(random.choices(outcomes, chances)[0])
            if state.is_terminal():
                state = game.new_initial_state()
                continue
            state.observation_tensor(0)
            state.observation_tensor(1)
            state.apply_actions(actions[number])
            steps += 1
    return steps / (clock() - started)


def open_spiel(seconds):
    """Steps per second of OpenSpiel's game, seen whole (its default) and in part; none if not installed."""
    try:
        import pyspiel
    except ImportError:
        return []
    generator = np.random.default_rng(0)
    rows = []
    for fully_obs in (True, False):
        game = pyspiel.load_game("laser_tag", {"fully_obs": fully_obs})
        actions = generator.integers(0, game.num_distinct_actions(), (256, 2)).tolist()
        speed = max(open_spiel_steps(game, actions, seconds / REPEATS) for _ in range(REPEATS))
        view = "x".join(map(str, game.observation_tensor_shape()))
        rows.append({"game": f"OpenSpiel laser_tag, view {view}", "steps_per_second": speed})
    return rows


def num_bytes(tree):
    """Memory of one environment's part of a tree."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def processor():
    """The name of the CPU."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def measure(batches, seconds):
    """All rows of the table, and what they were measured on."""
    _, level, state, obs = jax.eval_shape(set_up, jax.random.key(0), jnp.arange(1))
    sizes = {"state": num_bytes(state), "level": num_bytes(level), "observations": num_bytes(obs)}
    result = {
        "device": jax.devices()[0].device_kind,
        "cpu": f"{processor()}, one core",
        "jax": jax.__version__,
        "bytes_per_environment": sizes,
        "open_spiel": open_spiel(seconds),
        "maestro": [],
    }
    for batch in batches:
        result["maestro"].append({"batch": batch, "steps_per_second": steps_per_second(batch, seconds)})
        print(f"  batch {batch:>8,}  {result['maestro'][-1]['steps_per_second']:>14,.0f} steps/s", flush=True)
    return result


def report(result):
    """The table that is printed at the end."""
    best = max(result["maestro"], key=lambda row: row["steps_per_second"])
    lines = [f"{result['device']}; {result['cpu']}; jax {result['jax']}"]
    lines += [f"bytes per environment: {result['bytes_per_environment']}"]
    lines += [f"best: {best['steps_per_second']:,.0f} steps/s at batch {best['batch']:,}"]
    for row in result["open_spiel"]:
        times = best["steps_per_second"] / row["steps_per_second"]
        lines.append(
            f"{row['game']}: {row['steps_per_second']:,.0f} steps/s; ours is {times:.1f} times as fast"
        )
    return "\n".join(lines)


def pin_to_one_core():
    """Keep this process, and the threads that jax starts later, on one CPU core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, nargs="+", help="numbers of environments")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each measurement")
    parser.add_argument("--out", type=Path, help="JSON file for the result")
    args = parser.parse_args()
    pin_to_one_core()
    on_gpu = jax.default_backend() == "gpu"
    result = measure(args.batches or (GPU_BATCHES if on_gpu else CPU_BATCHES), args.seconds)
    print(report(result))
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
