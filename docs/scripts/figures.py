"""Draw the examples of docs/figures.md, from a study that is made up: nobody has played these games."""

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import safetensors.numpy
from PIL import Image

from maestro import games, toml
from maestro.analysis import landscape_file
from maestro.analysis.landscapes import Survey
from maestro.config import FAST
from maestro.evaluation import table
from maestro.evaluation.landscape import Landscape
from maestro.methods import METHODS
from maestro.runs import versions
from maestro.runs.checkpoint import flatten
from maestro.runs.served import Sample

IMAGES = Path(__file__).parent.parent / "images" / "figures"
GAME = games.known(games.DEFAULT)
LEVELS = GAME.splits["test"].levels
SPECIALISTS = ("dr-sp@FourRooms", "dr-fsp@FourRooms", "dr-sp@Ruins", "dr-fsp@Ruins")
SKILL = dict(zip(METHODS, (-0.5, -0.6, -0.45, -0.1, 0.3, 0.55, 0.7, 0.2, 0.4), strict=True))
TOTAL, POINTS, SLOTS = 500, 100, 6
GAMES = 5  # of each pair from each seat


def made_up_table(entrants, levels, updates=(0,), seed=0):
    """Games of everyone against everyone; `entrants` are numbers of seeds by label."""
    dice = np.random.default_rng(seed)
    strength = {
        (label, s): SKILL.get(label.partition("@")[0], 0.0) + 0.5 * ("@" in label) + 0.25 * dice.normal()
        for label, seeds in entrants.items()
        for s in range(seeds)
    }
    taste = {key: 0.4 * dice.normal(size=len(levels)) for key in strength}
    labels = list(entrants)
    columns = {name: [] for name in table.COLUMNS}
    for at in updates:
        grown = 1 - np.exp(-3 * at / TOTAL) if at or len(updates) > 1 else 1.0
        for i, a in enumerate(labels):
            for b in labels[i + 1 :]:
                for x, y in ((x, y) for x in range(entrants[a]) for y in range(entrants[b])):
                    gap = strength[a, x] - strength[b, y] + taste[a, x] - taste[b, y]
                    won = 1 / (1 + np.exp(-grown * gap))
                    drawn = 0.05 + 0.3 * dice.random(len(levels))
                    for k, level in enumerate(levels):
                        for seat in (0, 1):
                            chances = np.array([won[k], 0, 1 - won[k]]) * (1 - drawn[k]) + [0, drawn[k], 0]
                            wins, draws, losses = dice.multinomial(GAMES, chances)
                            mean = (wins - losses) / GAMES
                            row = (at, a, x, b, y, level, seat, GAMES, wins, draws, losses, mean, -mean)
                            for name, value in zip(columns, (*row, dice.uniform(20, 200)), strict=True):
                                columns[name].append(value)
    return table.of(columns)


def write_crossplay(folder, entrants, levels, split="test", **more):
    """A folder of games that nobody has played."""
    folder.mkdir(parents=True)
    known = {name: {str(s): "digest" for s in range(seeds)} for name, seeds in entrants.items()}
    when = {str(updates): known for updates in more.get("updates", (0,))}
    plan = {"format": 1, "game": GAME.name, "levels": split, "entrants": {**when, "against": {}}}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "table.csv").write_text(table.to_csv(made_up_table(entrants, levels, **more)))


def write_run(folder, method, seeds=5, base=FAST, statistics=("wall_share", "size")):
    """A run that nobody has trained, with what it would have logged."""
    folder.mkdir(parents=True)
    config = games.fill(GAME, replace(base, method=method, seeds=seeds))
    (folder / "config.toml").write_text(f"format = {versions.FORMAT}\n{toml.to_toml(config)}")
    dice = np.random.default_rng(len(method) + 7)
    replays = not method.startswith("dr")
    lines = [record(dice, method, replays, at, seeds, statistics) for at in np.linspace(5, TOTAL, POINTS)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_levels(folder / "levels", replays)


def write_levels(folder, replays, count=8):
    """Levels that nobody has served; more and more walls, where they are replayed."""
    folder.mkdir()
    env = GAME.environment()
    many = jax.device_get(jax.vmap(env.sample_level)(jax.random.split(jax.random.key(0), 64)))
    walls = np.asarray(jax.vmap(env.statistics)(many)["wall_share"])
    for point in (0, TOTAL // 2, TOTAL):
        first = 28 * replays * point // TOTAL
        who = np.argsort(walls)[first : first + 32][:: 32 // count]
        sample = Sample(
            jax.tree.map(lambda x, who=who: x[who][None], many),
            coplayer=np.ones((1, count), np.int32),
            score=np.full((1, count), 0.5 if replays else np.nan, np.float32),
            replayed=np.full((1, count), replays),
            members=np.ones(1, np.int32),
            weights=np.ones((1, 2), np.float32),
            win_rate=np.ones((1, 2), np.float32),
            fill=np.ones((1, 0), np.float32),
            scores=np.ones((1, 0, 9), np.float32),
        )
        (folder / f"{point:09d}.safetensors").write_bytes(safetensors.numpy.save(flatten(sample)))


def write_landscape(folder):
    """Regret that nobody has felt."""
    folder.mkdir(parents=True)
    dice = np.random.default_rng(0)
    scores = dice.gamma(2, 0.1, (5, 16))
    scores[4, 12] = np.nan
    members = tuple(f"update {at}" for at in range(0, 500, 100))
    episodes = np.where(np.isnan(scores), 0, 20)
    seed = Landscape("update 500", members, ("",) * 16, scores, np.stack([scores] * 2), episodes)
    told = {"run": "maestro", "game": GAME.name, "method": "maestro", "score": "max_mc"}
    landscape_file.write(folder, Survey({**told, "dice": 0, "rollouts": 8, "steps": 256}, {0: seed}))


def record(dice, method, replays, at, seeds, statistics):
    """A line of a log."""
    at = int(at)
    grown = SKILL[method] * (1 - np.exp(-3 * at / TOTAL)) * replays
    line = {"updates": at, "cycles": 5}
    for i, name in enumerate(statistics):
        value = (24 + 6 * grown if i == 0 else 10 + grown) + 0.3 * dice.normal(size=seeds)
        value = value / 100 if name == "wall_share" else value
        line[f"new.levels.{name}"] = value.round(4).tolist()
        line[f"replayed.levels.{name}"] = value.round(4).tolist() if replays and at > 30 else [None] * seeds
    members = 1 + (at - 1) // 100
    who = np.zeros((seeds, SLOTS))
    who[:, 0] = method.endswith("-sp")
    if not method.endswith("-sp"):
        who[:, 1 : 1 + members] = dice.dirichlet(np.ones(members), seeds)
    line["chosen"] = who.round(4).tolist()
    own = SLOTS if method.startswith("maestro") else 1
    age = np.maximum(0, at - 100 * np.arange(-1, own - 1)) * (1.0 if own > 1 else 1.5)
    fill, score = np.minimum(1, age / 150), 0.3 + 0.4 * age / (age + 120)
    known = fill > 0
    line["buffer_fill"] = [fill.round(4).tolist() if replays else [None]] * seeds
    line["max_score"] = [
        [round(float(x), 4) if k else None for x, k in zip(score, known, strict=True)] if replays else [None]
    ] * seeds
    return line


def write_study(folder, methods=tuple(METHODS), seeds=5, levels=LEVELS, points=(0, 100, 200, 300, 400, 500)):
    """A study of runs that nobody has trained."""
    for method in methods:
        write_run(folder / "runs" / method, method, seeds)
    write_landscape(folder / "landscape" / "maestro")
    who = dict.fromkeys(methods, seeds)
    write_crossplay(folder / "crossplay" / "test", who, levels)
    write_crossplay(folder / "crossplay" / "milestones", who, levels, updates=points)
    experts = dict.fromkeys((*methods, *SPECIALISTS), 3)
    write_crossplay(folder / "crossplay" / "specialists", experts, ("FourRooms", "Ruins"), "FourRooms,Ruins")


FEW = {"pairs": ("plr-fsp", "maestro"), "gallery": ("dr-sp", "plr-fsp", "maestro")}  # methods that are shown


def main():
    """Write the pictures of the page."""
    from maestro.analysis import figures
    from maestro.analysis.figures import Options, style

    style.DOTS = 120
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "study"
        write_study(study)
        for name, kind in figures.KINDS.items():
            if kind.endings != style.ENDINGS or (sys.argv[1:] and name not in sys.argv[1:]):
                continue
            options = Options(methods=FEW.get(name, ()), title="Invented numbers")
            _, picture, _ = figures.draw(name, [study], Path(folder) / name, options)
            with Image.open(picture) as image:  # of few colors: a small file
                image.convert("RGB").quantize(96).save(IMAGES / picture.name, optimize=True)


if __name__ == "__main__":
    main()
