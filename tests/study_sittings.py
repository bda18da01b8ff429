"""Sittings of a small study in this process: programs compile once, and tests decide the time."""

import jax
import jax.numpy as jnp

from maestro import cohort, games
from maestro.cli import launch
from maestro.cli.sitting import Sitting
from maestro.runs import summary
from maestro.runs.trainer import Trainer
from probes import QUICK
from study_helpers import GAME, study

COHORTS = ({"method": "dr-sp"}, {"method": "dr-fsp"})
FILE = """\
game = "hands"
preset = "tiny"

[settings]
ppo = {rollout_length = 4, workers = 4, epochs = 1}
curriculum = {min_fill = 0.25, buffer_size = 8, member_buffer_size = 4, playlist = 2}
schedule = {total_updates = 4, interval = 2}
evaluation = {times = 0, keep_levels = 0}

[[cohort]]
methods = ["dr-sp", "dr-fsp"]
"""
CROSSPLAY = '\n[[crossplay]]\nlevels = "test"\nepisodes = 1\n'
PROGRAMS = {}  # compiled chunks by method
NOW = [0.0]  # the time


class QuickTrainer(Trainer):
    """A trainer that compiles once per process, and tells the time by its updates."""

    def compile(self):
        steps = jax.jit(lambda *x: cohort.train_steps(self.experiment, cohort.LENGTH, *x))
        if self.config.method not in PROGRAMS:
            nothing = jnp.int32(0)
            PROGRAMS[self.config.method] = steps.lower(self.state, nothing, nothing).compile(QUICK)
        return PROGRAMS[self.config.method]

    def pause(self):
        NOW[0] += self.updates
        super().pause()


def be_quick(patch):
    """Let studies be trained by quick trainers, with a short last comparison."""
    patch.setattr(launch, "Trainer", QuickTrainer)
    patch.setattr(summary, "LAST_LEVELS", 2)
    patch.setitem(games._found, GAME.name, GAME)


def sitting(out, until=float("inf"), only=(), **more):
    """A sitting of the small study whose time is that of the trainer."""
    return Sitting(study(*COHORTS, **more), out, only, until=until, clock=lambda: NOW[0])


def content(path):
    """All that a finished cohort is judged by, as bytes."""
    files = [file for kind in ("agents", "milestones") for file in sorted((path / kind).iterdir())]
    return {str(file.relative_to(path)): file.read_bytes() for file in [*files, path / "metrics.jsonl"]}
