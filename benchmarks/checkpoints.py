"""What checkpoints and the guard against non-finite updates cost, with the state of preset `fast`.

    python benchmarks/checkpoints.py [--seeds 5]

A checkpoint holds up the run only while the state is copied to the host; hashing and writing happen
in another thread. The guard is timed alone: its checks and selections over parameters and Adam's
state, once per update.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from maestro import cohort
from maestro.cli.progress import Progress
from maestro.games.lasertag import GAME
from maestro.ppo import Learner
from maestro.runs import build
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.metrics_log import MetricsLog, Position
from maestro.runs.trainer import CHECKPOINT_SECONDS

REPEATS = 5


def guard(learner: Learner, norms: Any) -> Any:
    """What `ppo.update` does for the guard."""
    finite = jnp.all(jnp.isfinite(norms)) & jnp.all(jnp.isfinite(norms + 1))
    kept = (learner.params, learner.optimizer)
    changed = jax.tree.map(lambda x: x + 1, kept)
    return jax.tree.map(lambda a, b: jnp.where(finite, a, b), changed, kept)


def median_seconds(work: Any) -> float:
    """The median of a few repeats."""
    found = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return sorted(found)[REPEATS // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    config = replace(GAME.presets["fast"], seeds=parser.parse_args().seeds)
    state = jax.jit(partial(cohort.init, build.experiment(GAME, config), 0, config.seeds))()
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        log = MetricsLog(folder / "metrics.jsonl", folder / "evaluation.jsonl", 500, Position())
        checkpointer = Checkpointer(folder, config, Progress())
        blocking, complete = [], []
        for number in range(REPEATS):
            began = time.perf_counter()
            checkpointer.save(state.replace(cycles=jnp.int32(number)), log)
            blocking.append(time.perf_counter() - began)
            checkpointer.finish()
            complete.append(time.perf_counter() - began)
        size = max(file.stat().st_size for file in folder.iterdir())
    held = sorted(blocking)[REPEATS // 2]
    print(f"{jax.devices()[0].device_kind}: a checkpoint of {size / 1e6:.0f} MB")
    print(f"  holds up the run for {held:.3f} s, complete after {sorted(complete)[REPEATS // 2]:.3f} s")
    print(f"  every {CHECKPOINT_SECONDS:.0f} s: {held / CHECKPOINT_SECONDS:.2%} of the time")
    norms = jnp.ones((config.seeds, config.ppo.epochs * config.ppo.minibatches))
    compiled = jax.jit(jax.vmap(guard)).lower(state.seeds.learner, norms).compile()
    jax.block_until_ready(compiled(state.seeds.learner, norms))
    seconds = median_seconds(lambda: jax.block_until_ready(compiled(state.seeds.learner, norms)))
    print(f"  the guard takes {1e3 * seconds:.2f} ms per update of all seeds")


if __name__ == "__main__":
    main()
