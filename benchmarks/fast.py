"""What preset `fast` reaches: learning curves, and the trained students against everyone.

    python benchmarks/fast.py METHOD [--seeds 5] [--out FILE] [--set name=value ...]

Trains METHOD, then plays every student on fresh generated levels and on the 13 test levels (which
nothing is ever tuned on) against its own first co-player and all scripted players. Prints shares
won/drawn/lost: means over seeds, with 95 % confidence intervals over the seeds.
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

from maestro import settings, toml
from maestro.cli.progress import Progress
from maestro.envs.lasertag import maps
from maestro.evaluation.opponents import FIRST, first_members, sample_levels, seed_keys, trained
from maestro.evaluation.play import both_seats
from maestro.evaluation.statistics import interval, shares
from maestro.games.lasertag import GAME
from maestro.runs import build, sessions
from maestro.runs import folder as run_folder
from maestro.runs.folder import RunFolder
from maestro.runs.signals import Signals
from maestro.runs.trainer import Trainer

LEVELS = 1000
TEST_GAMES = 20  # on each test level, half of them from the other seat
KEY = 20_230_501  # used nowhere else


def level_sets(experiment: Any, keys: Any) -> dict[str, tuple[Any, int]]:
    """Fresh levels of each seed, and the test levels many times, with the steps that games may last."""
    generated = sample_levels(keys, experiment, LEVELS)
    tests = [maps.LEVELS.load(name) for name in maps.TEST for _ in range(TEST_GAMES)]
    shared = jax.tree.map(lambda *x: jnp.broadcast_to(jnp.stack(x), (len(keys), len(x), *x[0].shape)), *tests)
    return {"generated": (generated, 300), "test": (shared, 350)}


def compare(trainer: Trainer) -> dict[str, dict[str, np.ndarray]]:
    """Shares won, drawn and lost, [seeds, 3], by set of levels and opponent."""
    agent, env, state = trainer.experiment.agent, trainer.experiment.env, trainer.state
    first = first_members(state)
    level_keys, keys = (
        seed_keys(jax.random.key(KEY + i), trainer.config.seed, trainer.config.seeds) for i in range(2)
    )

    def play(steps: int, name: str, key: Any, levels: Any, params: Any, opponent: Any) -> Any:
        other = trained(agent, opponent) if name == FIRST else GAME.player(name)
        return shares(both_seats(key, env, trained(agent, params), other, levels, steps))

    return {
        which: {
            name: np.asarray(
                jax.jit(jax.vmap(partial(play, steps, name)))(keys, levels, state.seeds.learner.params, first)
            )
            for name in (FIRST, *GAME.players)
        }
        for which, (levels, steps) in level_sets(trainer.experiment, level_keys).items()
    }


def show(table: dict[str, dict[str, np.ndarray]]) -> None:
    """Means over seeds, and 95 % confidence intervals that count seeds, not games."""
    games = {"generated": LEVELS, "test": TEST_GAMES * len(maps.TEST)}
    for which, rows in table.items():
        for name, found in rows.items():
            ends = interval(found.T.astype(float), games[which])
            parts = [
                f"{x:.3f} [{low:.3f}, {high:.3f}]"
                for x, (low, high) in zip(found.mean(axis=0), ends, strict=True)
            ]
            print(f"  {which:<10} {name:<14} won {parts[0]}  drawn {parts[1]}  lost {parts[2]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", nargs="*", default=[], help="settings, as name=value")
    parser.add_argument("--curves-only", action="store_true", help="do not play the trained students")
    parser.add_argument("--out", help="write curves and results as JSON")
    options = parser.parse_args()
    changes: dict[str, Any] = {}
    for name, _, value in (item.partition("=") for item in options.set):
        settings.put(changes, name, value)
    changes |= {"method": options.method, "seeds": options.seeds}
    config = build.configure(GAME, GAME.presets["fast"], changes)
    with tempfile.TemporaryDirectory() as path, Signals() as signals, Progress() as progress:
        folder = RunFolder(Path(path))
        run_folder.begin(folder, config)
        run_folder.begin_session(folder, config, sessions.this_one(jax.devices()[0].device_kind))
        began = time.monotonic()
        trainer = Trainer(folder, GAME, config, build.experiment(GAME, config), progress, signals)
        trainer.run()
        seconds = time.monotonic() - began
        print(f"{options.method} {' '.join(options.set)}: {seconds:.0f} s with compilation", flush=True)
        table = {} if options.curves_only else compare(trainer)
        show(table)
        curves = [json.loads(line) for line in folder.evaluation.read_text().splitlines()]
        metrics = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    if options.out:
        final = {which: {name: x.tolist() for name, x in rows.items()} for which, rows in table.items()}
        result = {"config": toml.to_toml(config), "seconds": seconds, "curves": curves, "final": final}
        Path(options.out).write_text(json.dumps(result | {"metrics": metrics[:: max(1, len(metrics) // 50)]}))


if __name__ == "__main__":
    main()
