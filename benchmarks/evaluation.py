"""An evaluation as large as the paper's, timed with compilation and without.

    python benchmarks/evaluation.py [--methods 7] [--seeds 10] [--episodes 5] [--batch 32768]

So many methods with so many seeds, every pair of methods on the 13 test levels from both seats. The
networks are the paper's, untrained: their games last longest. The aim on an H200: 273,000 episodes (the
default) in under a minute without compilation.
"""

import argparse
import json
import time
from itertools import combinations

import jax
import numpy as np

from maestro.config import PAPER
from maestro.envs.base import observation_shape
from maestro.evaluation import level_sets
from maestro.evaluation.cross_play import Entrant, Play, cross_play, default_batch
from maestro.evaluation.opponents import trained
from maestro.games.lasertag import GAME


def entrants(methods: int, seeds: int) -> list[list[Entrant]]:
    """Untrained networks, each with parameters of its own."""
    env = GAME.environment()
    agent = GAME.presets["paper"].agent.fitted(observation_shape(env), env.action)
    fresh = jax.jit(lambda key: trained(agent, agent.init(key)))
    return [
        [Entrant(f"method {m}", s, fresh(jax.random.key(m * seeds + s))) for s in range(seeds)]
        for m in range(methods)
    ]


def timed(play: Play, groups: list[list[Entrant]]) -> tuple[float, int, int]:
    """(seconds, episodes, environment steps) of every method against every other."""
    began, tables = time.perf_counter(), []
    for a, b in combinations(groups, 2):
        tables.append(cross_play(play, a, b))
    seconds = time.perf_counter() - began
    episodes = sum(int(t["episodes"].sum()) for t in tables)
    steps = sum(float(np.sum(t["length"] * t["episodes"])) for t in tables)
    return seconds, episodes, int(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=PAPER.seeds)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--batch", type=int, default=0)
    options = parser.parse_args()
    groups = entrants(options.methods, options.seeds)
    levels = level_sets.find(GAME, "test")
    play = Play(GAME.environment(), levels, options.episodes, batch=options.batch or default_batch())
    device = jax.devices()[0].device_kind
    for name in ("with compilation", "without"):
        seconds, episodes, steps = timed(play, groups)
        told = {"device": device, "run": name, "seconds": round(seconds, 2), "episodes": episodes}
        print(json.dumps({**told, "steps": steps, "steps_per_second": round(steps / seconds)}), flush=True)


if __name__ == "__main__":
    main()
