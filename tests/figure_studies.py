"""A small study that was never trained or played: folders of every kind that figures are made of."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import safetensors.numpy

import probes
from maestro import games, toml
from maestro.analysis import landscape_file
from maestro.analysis.landscapes import Survey
from maestro.evaluation import table
from maestro.evaluation.landscape import Landscape
from maestro.games import Drawing, Game
from maestro.runs import versions
from maestro.runs.checkpoint import flatten
from maestro.runs.served import Sample

SEEDS = {"dr-sp": 2, "plr-fsp": 3, "maestro": 3, "maestro-r": 2, "maestro-p": 2}
EXPERTS = {"dr-sp@one": 2, "dr-fsp@two": 2}
LEVELS = ("one", "two", "three")
POINTS = (0, 4, 8)
TOTAL = 8


def picture(level, state, scale):
    """A square whose brightness is the level's number."""
    return np.full((2 * scale, 2 * scale, 3), 5 * int(level.number), np.uint8)


DRAWN = Game(
    "drawn-race",
    probes.Race,
    probes.SmallAgent,
    {"tiny": replace(probes.SMALL, game="", environment=None)},
    draw=Drawing(picture=picture),
)
WHERE = "figure_studies:DRAWN"


def random_games(seeds, levels=LEVELS, updates=(0,), dice=0):
    """Games of everyone against everyone, with a number of the game's own."""
    draw = np.random.default_rng(dice)
    rows = []
    for at in updates:
        for i, a in enumerate(seeds):
            for b in list(seeds)[i + 1 :]:
                for x, y in np.ndindex(seeds[a], seeds[b]):
                    for level in levels:
                        for seat in (0, 1):
                            counts = draw.multinomial(4, [0.4, 0.3, 0.3]).tolist()
                            rows.append((at, a, x, b, y, level, seat, 4, *counts, *draw.normal(size=5)))
    names = (*table.COLUMNS, "a_grass", "b_grass")
    return table.of(dict(zip(names, zip(*rows, strict=True), strict=True)))


def write_crossplay(folder, games_played, seeds, split="test", scripted=(), updates=(0,)):
    """A folder of games, with a plan that tells who was trained."""
    folder.mkdir(parents=True)
    digests = {n: {str(s): "" if n in scripted else "abc" for s in range(k)} for n, k in seeds.items()}
    entrants = {str(at): digests for at in updates} | {"against": {}}
    plan = {"format": 1, "game": DRAWN.name, "levels": split, "entrants": entrants}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "table.csv").write_text(table.to_csv(games_played))


def write_run(folder, method, seeds=2, first=0, **changes):
    """A run without checkpoints: its settings, its log and the levels it was served."""
    folder.mkdir(parents=True)
    config = probes.with_changes(DRAWN.presets["tiny"], method=method, seeds=seeds, seed=first, **changes)
    (folder / "config.toml").write_text(f"format = {versions.FORMAT}\n{toml.to_toml(config)}")
    replays = not method.startswith("dr")
    lines = [record(at, np.arange(first, first + seeds), replays) for at in range(1, TOTAL + 1)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "levels").mkdir()
    for at in POINTS:
        content = safetensors.numpy.save(flatten(sample(at, seeds, replays)))
        (folder / "levels" / f"{at:09d}.safetensors").write_bytes(content)


def record(at, seeds, replays):
    """A line of a log whose numbers tell seed, updates and kind; three slots of co-players."""
    old = (100 + at + 10 * seeds).tolist() if replays and at > 2 else [None] * len(seeds)
    fill = [[0.0, at / TOTAL, max(0, at - 4) / TOTAL]] * len(seeds)
    none = [[None]] * len(seeds)
    return {
        "updates": at,
        "replayed.levels.number": old,
        "new.levels.number": (at + 10 * seeds).tolist(),
        "chosen": [[0.0, 1.0, 0.0] if at <= 4 else [0.0, 0.25, 0.75]] * len(seeds),
        "buffer_fill": fill if replays else none,
        "max_score": [[None, 0.5, 0.1 * at]] * len(seeds) if replays else none,
    }


def sample(at, seeds, replays, count=10):
    """What was served after so many updates: levels whose numbers go on from there."""
    numbers = np.tile(np.arange(at, at + count, dtype=np.int32), (seeds, 1))
    zeros = np.zeros((seeds, 3), np.float32)
    return Sample(
        probes.Level(numbers, np.full_like(numbers, 5)),
        coplayer=np.full((seeds, count), 2, np.int32),
        score=np.full((seeds, count), 0.5 if replays else np.nan, np.float32),
        replayed=np.full((seeds, count), replays),
        members=np.full(seeds, 2, np.int32),
        weights=zeros,
        win_rate=zeros,
        fill=zeros,
        scores=np.zeros((seeds, 3, 9), np.float32),
    )


def write_landscape(folder, rollouts=2):
    """The landscape of one seed."""
    folder.mkdir(parents=True)
    scores = np.random.default_rng(1).random((2, 4))
    members = ("update 0", "update 4")
    seed = Landscape("update 8", members, ("x",) * 4, scores, np.stack([scores] * 2), np.ones((2, 4), int))
    told = {"run": "maestro", "game": DRAWN.name, "method": "maestro", "score": "max_mc"}
    landscape_file.write(folder, Survey({**told, "dice": 0, "rollouts": rollouts, "steps": 8}, {0: seed}))


def write_study(folder: Path):
    """Runs, games at the end, games of milestones, games of specialists, a landscape."""
    games.find(WHERE)
    for method in ("dr-sp", "maestro"):
        write_run(folder / "runs" / method, method)
    plays = folder / "crossplay"
    write_crossplay(plays / "test", random_games(SEEDS), SEEDS)
    early = random_games(SEEDS, updates=POINTS, dice=1)
    write_crossplay(plays / "milestones", early, SEEDS, updates=POINTS)
    everyone = {**SEEDS, **EXPERTS, "hunter": 1}
    special = random_games(everyone, LEVELS[:2], dice=2)
    write_crossplay(plays / "special", special, everyone, "one,two", scripted=("hunter",))
    write_landscape(folder / "landscape" / "maestro")
    return folder
