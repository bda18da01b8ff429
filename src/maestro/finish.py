"""The end of a run: agents as files, a last comparison on unseen levels, and something to look at."""

import json
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from maestro import checkpoint, evaluate, experiment, export, settings, shelf, train, video
from maestro.checkpoint import CheckpointError
from maestro.config import RunConfig
from maestro.duel import duel
from maestro.envs.lasertag.draw import draw
from maestro.envs.lasertag.levels import TIME_LIMIT
from maestro.files import write_file
from maestro.progress import Progress
from maestro.runs import RunError, RunFolder, program
from maestro.train import Experiment, TrainState

LAST_KEY = 2**31 - 2  # for levels that neither training nor evaluation has used
LAST_LEVELS = 500


def students(state: TrainState) -> list[Any]:
    """The parameters of each seed's student."""
    seeds = jax.tree.leaves(state.runs.learner.params)[0].shape[0]
    return [jax.tree.map(lambda x, i=i: x[i], state.runs.learner.params) for i in range(seeds)]


def export_all(config: RunConfig, state: TrainState, out: Path) -> list[Path]:
    """Each student as a file."""
    paths = []
    for i, params in enumerate(students(state)):
        path = out / f"student-{config.seed + i}.safetensors"
        export.save(path, config, params, {"seed": config.seed + i, "updates": int(state.updates)})
        paths.append(path)
    return paths


def export_newest(folder: RunFolder, config: RunConfig, out: Path) -> tuple[list[Path], list[str]]:
    """The students of the newest good checkpoint, as files; and what was wrong with newer ones."""
    like = jax.eval_shape(partial(train.init, experiment.build(config), config.seed, config.seeds))
    remarks: list[str] = []
    for path in reversed(shelf.found(folder.checkpoints)):
        try:
            state = checkpoint.load(path, like, settings.digest(config))[0]
        except CheckpointError as error:
            remarks.append(f"checkpoint {path.name}: {error}")
            continue
        out.mkdir(parents=True, exist_ok=True)
        return export_all(config, state, out), remarks
    raise RunError(f"{folder.path} has no usable checkpoint" + "".join(f"\n  {line}" for line in remarks))


def last_games(run: Experiment, state: TrainState) -> dict[str, int]:
    """Games of all students against their own first co-player on unseen levels, counted."""
    key = jax.random.key(LAST_KEY)
    levels = jax.vmap(run.env.sample_level)(jax.random.split(key, LAST_LEVELS))

    def one(params: Any, first: Any) -> Any:
        student, opponent = evaluate.trained(run.agent, params), evaluate.trained(run.agent, first)
        return evaluate.outcomes(key, run.env, student, opponent, levels, TIME_LIMIT)

    first = evaluate.first_coplayers(state)
    outcome = np.asarray(jax.jit(jax.vmap(one))(state.runs.learner.params, first))
    return {
        "won": int((outcome > 0).sum()),
        "drawn": int((outcome == 0).sum()),
        "lost": int((outcome < 0).sum()),
    }


def film(path: Path, run: Experiment, state: TrainState) -> None:
    """The first student against its first co-player, the longest of a few decided games."""
    student = evaluate.trained(run.agent, students(state)[0])
    first = jax.tree.map(lambda x: x[0], evaluate.first_coplayers(state))
    opponent = evaluate.trained(run.agent, first)
    games = []
    for i in range(8):
        key = jax.random.fold_in(jax.random.key(LAST_KEY), i)
        level = run.env.sample_level(key)
        games.append((level, duel(key, run.env, level, student, opponent)))
    level, game = max(games, key=lambda g: (int(g[1].outcome) > 0, min(60, int(g[1].length))))
    states = jax.device_get(game.states)
    frames = [draw(level, jax.tree.map(lambda x, t=t: x[t], states), 24) for t in range(int(game.length) + 1)]
    video.write(path, frames + frames[-1:] * 10)


def finish(
    folder: RunFolder, config: RunConfig, run: Experiment, state: TrainState, progress: Progress
) -> None:
    """Export, compare, film, and say where to look."""
    agents = export_all(config, state, folder.agents)
    games = last_games(run, state)
    count = sum(games.values())
    low, high = evaluate.wilson(games["won"], count)
    summary = {
        "against": "first co-player, unseen generated levels",
        "games": count,
        **games,
        "won_95": [low, high],
    }
    write_file(folder.path / "summary.json", json.dumps(summary, indent=1).encode())
    film(folder.path / "film.gif", run, state)
    lines = [
        "",
        f"The trained student against its own first co-player, on {count} unseen games:",
        f"  won {games['won']}, drawn {games['drawn']}, lost {games['lost']}"
        f" (won {low:.0%} to {high:.0%}, 95 % confidence)",
        "Look at:",
        f"  {folder.path / 'film.gif'}  a game of theirs",
        f"  {folder.metrics}  what happened in training",
        f"  {program()} duel random --a {shlex.quote(str(agents[0]))} --b hunter",
    ]
    progress.say("\n".join(lines))
