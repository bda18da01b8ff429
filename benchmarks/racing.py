"""Racing: decisions per second (8 frames, two cars, two views), alone and beside gymnasium's CarRacing.

    python benchmarks/racing.py [--batches 16 64 ...] [--out FILE]

A decision of gymnasium's game is 8 frames of one car and one view, in the same run on the same machine.
"""

import argparse
import json
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.racing.game import Racing

STEPS, REPEATS = 16, 3
PEER_DECISIONS = 20


def ours(batch: int) -> float:
    """Decisions per second of so many games side by side, with actions that drive."""
    env = Racing(most_astray=0)
    keys = jax.random.split(jax.random.key(0), batch)
    levels = jax.jit(jax.vmap(env.sample_level))(keys)
    state, _ = jax.jit(jax.vmap(env.reset))(keys, levels)

    @partial(jax.jit, donate_argnums=0)
    def play(state: Any, key: Any) -> Any:
        def one(carry: Any, key: Any) -> Any:
            state, total = carry
            steer = jax.random.uniform(key, (batch, 2, 1), minval=0.3, maxval=0.7)
            actions = jnp.concatenate([steer, jnp.full_like(steer, 0.2), jnp.zeros_like(steer)], axis=-1)
            state, obs, *_ = jax.vmap(env.step)(keys, levels, state, actions)
            return (state, total + obs.sum(dtype=jnp.uint32)), None

        return jax.lax.scan(one, (state, jnp.uint32(0)), jax.random.split(key, STEPS))[0]

    state, _ = jax.block_until_ready(play(state, jax.random.key(1)))
    found = []
    for repeat in range(REPEATS):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(play(state, jax.random.key(2 + repeat)))
        found.append(batch * STEPS / (time.perf_counter() - began))
    return float(np.median(found))


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    accelerator = jax.default_backend() != "cpu"
    usual = [64, 512, 2048, 4096, 8192] if accelerator else [16, 64]
    parser.add_argument("--batches", type=int, nargs="+", default=usual, help="games side by side")
    parser.add_argument("--out", help="write the figures as JSON")
    options = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}", flush=True)
    other = None if accelerator else peer()
    found: dict[str, Any] = {"device": jax.devices()[0].device_kind, "gymnasium": other, "ours": {}}
    if other:
        print(f"gymnasium's CarRacing: {other:.1f} decisions/s (one car, one view)", flush=True)
    for batch in options.batches:
        rate = found["ours"][batch] = ours(batch)
        more = f", {rate / other:.0f} x gymnasium's" if other else ""
        print(f"{batch:>6} games: {rate:12,.0f} decisions/s{more}", flush=True)
    if options.out:
        with open(options.out, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
