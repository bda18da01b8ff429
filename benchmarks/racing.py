"""Racing: decisions per second (8 frames, two cars, two views), alone, in training, and beside gymnasium's.

    python benchmarks/racing.py [--batches 16 64 ...] [--train 2x128 ...] [--out FILE]

A decision of gymnasium's CarRacing is 8 frames of one car and one view, in the same run on the same machine.
Training is preset `fast` with so many seeds x workers; its decisions are those that an update used. Memory is
what XLA sets aside for a cycle beside its state: mostly a rollout's pictures, in bytes.
"""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro import cohort
from maestro.envs.racing.game import Racing
from maestro.games.racing import GAME
from maestro.runs import build

STEPS, REPEATS = 16, 3
PEER_DECISIONS = 20


def ours(batch: int) -> float:
    """Decisions per second of so many games side by side, with actions that drive."""
    env = Racing(most_astray=0)
    keys = jax.random.split(jax.random.key(0), batch)
    levels = jax.jit(jax.vmap(env.sample_level))(keys)
    state, _ = jax.jit(jax.vmap(env.reset))(keys, levels)

    @partial(jax.jit, donate_argnums=1)
    def play(levels: Any, state: Any, key: Any) -> Any:
        def one(carry: Any, key: Any) -> Any:
            state, total = carry
            steer = jax.random.uniform(key, (batch, 2, 1), minval=0.3, maxval=0.7)
            actions = jnp.concatenate([steer, jnp.full_like(steer, 0.2), jnp.zeros_like(steer)], axis=-1)
            state, obs, *_ = jax.vmap(env.step)(keys, levels, state, actions)
            return (state, total + obs.sum(dtype=jnp.uint32)), None

        return jax.lax.scan(one, (state, jnp.uint32(0)), jax.random.split(key, STEPS))[0]

    state, _ = jax.block_until_ready(play(levels, state, jax.random.key(1)))
    found = []
    for repeat in range(REPEATS):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(play(levels, state, jax.random.key(2 + repeat)))
        found.append(batch * STEPS / (time.perf_counter() - began))
    return float(np.median(found))


def trained(seeds: int, workers: int, method: str = "maestro") -> dict[str, float]:
    """Trained decisions per second of preset `fast`, what a cycle takes, and what it sets aside."""
    preset = GAME.presets["fast"]
    config = replace(preset, seeds=seeds, method=method, ppo=replace(preset.ppo, workers=workers))
    experiment = build.experiment(GAME, config)
    state = jax.jit(partial(cohort.init, experiment, 0, seeds))()
    one, most = jnp.int32(1), jnp.int32(2**30)
    cycle = jax.jit(partial(cohort.train_steps, experiment, 1)).lower(state, most, one).compile()
    found = []
    while len(found) < REPEATS + 1:
        before, began = int(state.updates), time.perf_counter()
        state, _ = jax.block_until_ready(cycle(state, most, one))
        if int(state.updates) > before:
            found.append(time.perf_counter() - began)
    memory = cycle.memory_analysis()
    seconds = float(np.median(found[1:]))
    return {
        "decisions_per_second": seeds * workers * config.ppo.rollout_length / seconds,
        "milliseconds": 1e3 * seconds,
        "gigabytes": getattr(memory, "temp_size_in_bytes", 0) / 1e9,
    }


def peer() -> float | None:
    """Decisions per second of gymnasium's game; None where it is not installed."""
    try:
        import gymnasium

        env = gymnasium.make("CarRacing-v3", max_episode_steps=10_000)
        env.reset(seed=0)
    except ImportError:
        return None
    began = time.perf_counter()
    for _ in range(PEER_DECISIONS):
        for _ in range(8):
            env.step(np.array([0.1, 0.2, 0.0], np.float32))
    return PEER_DECISIONS / (time.perf_counter() - began)


def arguments() -> argparse.Namespace:
    """What is measured: by default what the device here is made for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    accelerator = jax.default_backend() != "cpu"
    usual = ([64, 512, 2048, 4096, 8192], ["2x128", "5x128", "2x512"]) if accelerator else ([16, 64], ["1x8"])
    parser.add_argument("--batches", type=int, nargs="*", default=usual[0], help="games side by side")
    parser.add_argument("--train", nargs="*", default=usual[1], help="seeds x workers, like 2x128")
    parser.add_argument("--out", help="write the figures as JSON")
    return parser.parse_args()


def main() -> None:
    options, device = arguments(), jax.devices()[0].device_kind
    print(f"{device}, jax {jax.__version__}", flush=True)
    other = peer() if jax.default_backend() == "cpu" else None
    found: dict[str, Any] = {"device": device, "gymnasium": other, "ours": {}, "trained": {}}
    if other:
        print(f"gymnasium's CarRacing: {other:.1f} decisions/s (one car, one view)", flush=True)
    for batch in options.batches:
        rate = found["ours"][batch] = ours(batch)
        more = f", {rate / other:.0f} x gymnasium's" if other else ""
        print(f"{batch:>6} games: {rate:12,.0f} decisions/s{more}", flush=True)
    for size in options.train:
        row = found["trained"][size] = trained(*(int(number) for number in size.split("x")))
        told = f"{row['milliseconds']:.0f} ms a cycle, {row['gigabytes']:.1f} GB set aside"
        print(f"{size:>6} trained: {row['decisions_per_second']:10,.0f} decisions/s, {told}", flush=True)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
