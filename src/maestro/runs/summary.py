"""The end of a run: its students as files, and a last comparison on unseen levels."""

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.evaluation.opponents import against, sample_levels, seed_keys
from maestro.evaluation.play import step_bound
from maestro.evaluation.statistics import interval
from maestro.runs import agent_file
from maestro.runs.beginning import newest_state
from maestro.runs.files import write_file
from maestro.runs.folder import RunFolder
from maestro.runs.reporter import Reporter
from maestro.train import Experiment

LAST_KEY = 2**31 - 2  # for levels that neither training nor evaluation has used
LAST_LEVELS = 500


def last_games(
    experiment: Experiment, state: Cohort, seed: int, most: int = LAST_LEVELS
) -> Int[np.ndarray, "S L"]:
    """Each student, from `seed` on, against its own first co-player on unseen levels: the outcomes."""
    keys = seed_keys(jax.random.key(LAST_KEY), seed, state.seeds.key.shape[0])
    level_keys, play_keys = jax.vmap(jax.random.split, out_axes=1)(keys)
    levels = sample_levels(level_keys, experiment, min(most, LAST_LEVELS))
    steps = step_bound(levels)
    play = jax.jit(lambda state, levels: against(play_keys, experiment, state, None, levels, steps))
    return np.asarray(play(state, levels))


def summarize(
    folder: RunFolder, experiment: Experiment, state: Cohort, seed: int, most: int = LAST_LEVELS
) -> dict[str, Any]:
    """Compare the students with their first co-players, and keep the result in the run's folder."""
    outcome = last_games(experiment, state, seed, most)
    won = (outcome > 0).mean(axis=1)
    summary = {
        "against": "first co-player, unseen generated levels",
        "seeds": len(outcome),
        "games": outcome.size,
        "won": int((outcome > 0).sum()),
        "drawn": int((outcome == 0).sum()),
        "lost": int((outcome < 0).sum()),
        "won_by_seed": won.tolist(),
        "won_95": interval(won, outcome.shape[1]).tolist(),
    }
    if state.exploiters is not None:
        summary |= {"updates": int(state.updates), "exploiter_updates": int(state.exploiters.updates)}
    write_file(folder.path / "summary.json", json.dumps(summary, indent=1).encode())
    return summary


def export_newest(
    folder: RunFolder, config: RunConfig, experiment: Experiment, out: Path, reporter: Reporter
) -> list[Path]:
    """The students of the newest good checkpoint as files; what is wrong with newer ones is told."""
    _, state, _ = newest_state(folder, config, experiment, reporter)
    out.mkdir(parents=True, exist_ok=True)
    return agent_file.save_students(config, state, out)
