"""What preset `fast` reaches: learning curves, and the trained students against everyone.

    python benchmarks/fast.py METHOD [--seeds 5] [--out FILE] [--set name=value ...]

Trains METHOD, then plays every student on fresh generated levels and on the 13 test levels (which
nothing is ever tuned on) against its own first co-player and all scripted players. Prints shares
won/drawn/lost, mean over seeds and standard deviation between seeds.
"""

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro import evaluate, runs, settings
from maestro.driver import Driver
from maestro.envs.lasertag import maps, players
from maestro.progress import Progress
from maestro.signals import Signals

LEVELS = 1000
TEST_GAMES = 20  # on each test level, half of them from the other seat
KEY = 20_230_501  # used nowhere else


def level_sets(env: Any) -> dict[str, tuple[Any, int]]:
    """Fresh generated levels, and the test levels many times, with the steps that games may last."""
    generated = jax.vmap(env.sample_level)(jax.random.split(jax.random.key(KEY), LEVELS))
    tests = [maps.load(name) for name in maps.TEST for _ in range(TEST_GAMES)]
    return {"generated": (generated, 300), "test": (jax.tree.map(lambda *x: jnp.stack(x), *tests), 350)}


def compare(driver: Driver) -> dict[str, dict[str, np.ndarray]]:
    """Shares won, drawn and lost, [seeds, 3], by set of levels and opponent."""
    run, state = driver.experiment, driver.state
    first = evaluate.first_coplayers(state)

    def play(levels: Any, steps: int, name: str, params: Any, opponent: Any) -> Any:
        student = evaluate.trained(run.agent, params)
        other = evaluate.trained(run.agent, opponent) if name == "first" else players.named(name)
        return evaluate.shares(
            evaluate.outcomes(jax.random.key(KEY + 1), run.env, student, other, levels, steps)
        )

    return {
        which: {
            name: np.asarray(
                jax.jit(jax.vmap(partial(play, levels, steps, name)))(state.runs.learner.params, first)
            )
            for name in ("first", *players.NAMES)
        }
        for which, (levels, steps) in level_sets(run.env).items()
    }


def show(table: dict[str, dict[str, np.ndarray]]) -> None:
    """Mean over seeds and standard deviation between them."""
    for which, rows in table.items():
        for name, shares in rows.items():
            mean, spread = (
                shares.mean(axis=0),
                shares.std(axis=0, ddof=1) if len(shares) > 1 else shares[0] * 0,
            )
            parts = [f"{m:.3f} ({s:.3f})" for m, s in zip(mean, spread, strict=True)]
            print(f"  {which:<10} {name:<14} won {parts[0]}  drawn {parts[1]}  lost {parts[2]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", nargs="*", default=[], help="settings, as name=value")
    parser.add_argument("--curves-only", action="store_true", help="do not play the trained students")
    parser.add_argument("--out", help="write curves and results as JSON")
    options = parser.parse_args()
    changes = settings.nested([tuple(item.split("=", 1)) for item in options.set])  # type: ignore[misc]
    config = settings.resolve("fast", changes | {"method": options.method, "seeds": options.seeds})
    with tempfile.TemporaryDirectory() as folder, Signals() as signals, Progress() as progress:
        run = runs.create(Path(folder) / "run", config, jax.devices()[0].device_kind)
        began = time.monotonic()
        driver = Driver(run, config, progress, signals)
        driver.run()
        seconds = time.monotonic() - began
        print(f"{options.method} {' '.join(options.set)}: {seconds:.0f} s with compilation", flush=True)
        table = {} if options.curves_only else compare(driver)
        show(table)
        curves = [json.loads(line) for line in run.evaluation.read_text().splitlines()]
        metrics = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    if options.out:
        final = {which: {name: x.tolist() for name, x in rows.items()} for which, rows in table.items()}
        result = {"config": settings.to_toml(config), "seconds": seconds, "curves": curves, "final": final}
        Path(options.out).write_text(json.dumps(result | {"metrics": metrics[:: max(1, len(metrics) // 50)]}))


if __name__ == "__main__":
    main()
