"""Small folders that a report is made of: students who were never trained, but play; made-up measurements."""

import json
from dataclasses import replace

import jax
import numpy as np
import safetensors.numpy

from figure_studies import random_games, write_crossplay
from maestro import toml
from maestro.analysis import landscape_file
from maestro.analysis.landscapes import Survey
from maestro.evaluation import table
from maestro.evaluation.landscape import Landscape
from maestro.games.lasertag import GAME
from maestro.runs import agent_file, milestones, versions
from maestro.runs.checkpoint import flatten
from maestro.runs.folder import RunFolder
from maestro.runs.served import Sample
from probes import with_changes

TINY = GAME.presets["tiny"]
CONFIG = replace(
    TINY,
    seeds=2,
    agent=replace(TINY.agent, hidden=8, filters=2, heads=(8,)),
    schedule=replace(TINY.schedule, total_updates=4, interval=2),
)
JOINED, POINTS = (0, 2), (0, 2, 4)  # updates
SERVED = 5  # levels of a moment and seed


def network(config):
    """The network of a run's agents."""
    card = {"agent": vars(config.agent), "environment": vars(config.environment)}
    known = {name: value for name, value in card["agent"].items() if name not in ("action", "view")}
    return agent_file.network({"agent": known, "environment": card["environment"]}, GAME)


def write_student(path, config, seed, updates, dice, half=False):
    """An agent with random parameters, larger than they are at first: it does not act at random."""
    params = network(config).init(jax.random.key(dice))
    params = jax.tree.map(lambda x: 3 * x, params)
    agent_file.save(path, config, jax.device_get(params), {"seed": seed, "updates": updates}, half=half)


def sample(config, dice):
    """What was served at a moment: levels of the generator, some of them replayed."""
    seeds, slots = config.seeds, len(JOINED) + 1
    draw = np.random.default_rng(dice)
    keys = jax.random.split(jax.random.key(dice), seeds * SERVED)
    levels = jax.device_get(jax.jit(jax.vmap(config.environment.sample_level))(keys))
    levels = jax.tree.map(lambda x: x.reshape(seeds, SERVED, *x.shape[1:]), levels)
    scores = draw.random((seeds, SERVED)).astype(np.float32)
    return Sample(
        levels,
        coplayer=draw.integers(0, slots, (seeds, SERVED)).astype(np.int32),
        score=np.where(np.arange(SERVED)[None] < 2, np.nan, scores),
        replayed=np.tile(np.arange(SERVED) >= 2, (seeds, 1)),
        members=np.full(seeds, len(JOINED), np.int32),
        weights=np.full((seeds, slots + 2), 1 / slots, np.float32),
        win_rate=np.full((seeds, slots + 2), np.nan, np.float32),
        fill=np.full((seeds, slots), 0.5, np.float32),
        scores=np.full((seeds, slots, 9), np.nan, np.float32),
    )


def write_log(folder, config):
    """What a run has logged."""
    lines = [
        {"updates": at, "losses.entropy": [1.5 - at / 10] * config.seeds, "new.regret": [None] * config.seeds}
        for at in range(1, 5)
    ]
    folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    games = [
        {
            "updates": at,
            "won_95": {"first": [0.1, 0.3 + at / 10]},
            "won_drawn_lost": {"first": [[0.1 + at / 10, 0.5, 0.4 - at / 10]] * config.seeds},
        }
        for at in (2, 4)
    ]
    folder.evaluation.write_text("".join(json.dumps(line) + "\n" for line in games))


def write_end(folder, config):
    """What a run leaves when it is finished."""
    folder.status.write_text(json.dumps({"state": "finished", "updates": 4, "time": 100.0}))
    won = {"games": 200, "won": 120, "drawn": 60, "lost": 20, "won_95": [0.5, 0.7]}
    (folder.path / "summary.json").write_text(json.dumps(won))
    session = {"device": "cpu", "seconds": 90.0, "updates": 4}
    (folder.path / "about.json").write_text(json.dumps({"sessions": [session]}))


def write_run(path, method="maestro", finished=True, dice=0, **changes):
    """A run of LaserTag with all that is kept; one in the middle of training has no students yet."""
    config = with_changes(CONFIG, method=method, **changes)
    folder = RunFolder(path)
    for part in (folder.agents, folder.milestones, folder.levels):
        part.mkdir(parents=True)
    folder.config.write_text(f"format = {versions.FORMAT}\n{toml.to_toml(config)}")
    for number, at in enumerate(POINTS):
        content = safetensors.numpy.save(flatten(sample(config, number)))
        (folder.levels / f"{at:09d}.safetensors").write_bytes(content)
    for seed in range(config.seed, config.seed + config.seeds):
        for at in JOINED:
            write_student(milestones.path(folder, at, seed), config, seed, at, dice + 10 * seed + at, True)
        if finished:
            write_student(
                folder.agents / f"student-{seed}.safetensors", config, seed, 4, dice + 10 * seed + 4
            )
    write_log(folder, config)
    if finished:
        write_end(folder, config)
    return folder


def write_play(path, runs, levels=("Empty", "Ruins")):
    """A cross-play of runs' students, whose plan knows their digests, and of a script."""
    seeds = {name: 2 for name in runs} | {"Random": 1}
    games = random_games(seeds, levels)
    games = {name: column for name, column in games.items() if not name.endswith("_grass")}
    write_crossplay(path, table.of(games), seeds, ",".join(levels), ("Random",))
    plan = json.loads((path / "plan.json").read_text())
    for name, folder in runs.items():
        cards = [json.loads(path.read_text()) for path in sorted(folder.agents.glob("student-*.json"))]
        plan["entrants"]["0"][name] = {str(card["seed"]): card["sha256"] for card in cards}
    (path / "plan.json").write_text(json.dumps(plan | {"game": GAME.name, "seed": 0}))


def write_landscape(path, texts=None, run="maestro"):
    """The landscapes of both seeds, each on three levels; a cell of the first is unknown."""
    path.mkdir(parents=True)
    names = ("Empty", "Cross", "Ruins")
    texts = texts or tuple(dict(GAME.levels.named)[name] for name in names)
    scores = np.random.default_rng(1).random((2, len(JOINED), len(texts)))
    scores[0, 1, -1] = np.nan
    seeds = {
        seed: Landscape(
            "update 4",
            tuple(f"update {at}" for at in JOINED),
            texts,
            own,
            np.stack([own, own]),
            np.where(np.isnan(own), 0, 3),
        )
        for seed, own in enumerate(scores)
    }
    told = {"run": run, "game": GAME.name, "method": "maestro", "score": "max_mc"}
    landscape_file.write(path, Survey({**told, "dice": 0, "rollouts": 2, "steps": 8}, seeds))
    return scores


def write_study(path):
    """Two runs, their games and a landscape."""
    methods = {"maestro": 0, "dr-sp": 100}
    runs = {name: write_run(path / "runs" / name, name, dice=dice) for name, dice in methods.items()}
    write_play(path / "crossplay" / "some", runs)
    write_landscape(path / "landscape" / "maestro")
    return path
