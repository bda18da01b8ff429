"""The end of a run: its students as files, and a last comparison on unseen levels."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from maestro import cohort
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.evaluation.opponents import first_members, sample_levels, trained
from maestro.evaluation.play import both_seats, step_bound
from maestro.evaluation.statistics import interval
from maestro.runs import agent_file, checkpoints
from maestro.runs.checkpoint import CheckpointError
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.files import write_file
from maestro.runs.folder import RunError, RunFolder
from maestro.runs.reporter import Reporter
from maestro.train import Experiment

LAST_KEY = 2**31 - 2  # for levels that neither training nor evaluation has used
LAST_LEVELS = 500


def last_games(experiment: Experiment, state: Cohort) -> dict[str, int]:
    """Games of all students against their own first co-player on unseen levels, counted."""
    key = jax.random.key(LAST_KEY)
    levels = sample_levels(key, experiment, LAST_LEVELS)
    steps = step_bound(levels)

    def one(params: Any, first: Any) -> Any:
        student, opponent = trained(experiment.agent, params), trained(experiment.agent, first)
        return both_seats(key, experiment.env, student, opponent, levels, steps)

    outcome = np.asarray(jax.jit(jax.vmap(one))(state.seeds.learner.params, first_members(state)))
    return {
        "won": int((outcome > 0).sum()),
        "drawn": int((outcome == 0).sum()),
        "lost": int((outcome < 0).sum()),
    }


def summarize(folder: RunFolder, experiment: Experiment, state: Cohort) -> dict[str, Any]:
    """Compare the students with their first co-players, and keep the result in the run's folder."""
    games = last_games(experiment, state)
    count = sum(games.values())
    summary = {
        "against": "first co-player, unseen generated levels",
        "games": count,
        **games,
        "won_95": list(interval(games["won"], count)),
    }
    write_file(folder.path / "summary.json", json.dumps(summary, indent=1).encode())
    return summary


def export_newest(
    folder: RunFolder, config: RunConfig, experiment: Experiment, out: Path, reporter: Reporter
) -> list[Path]:
    """The students of the newest good checkpoint as files; what is wrong with newer ones is told."""
    like = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
    checkpointer, remarks = Checkpointer(folder.checkpoints, config, reporter), []
    for path in reversed(checkpoints.found(folder.checkpoints)):
        try:
            state, _ = checkpointer.load(path, like)
        except CheckpointError as error:
            remarks.append(f"checkpoint {path.name}: {error}")
            reporter.say(remarks[-1])
            continue
        out.mkdir(parents=True, exist_ok=True)
        return agent_file.save_students(config, state, out)
    raise RunError(f"{folder.path} has no usable checkpoint" + "".join(f"\n  {line}" for line in remarks))
