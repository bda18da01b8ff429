"""`python -m held COMMAND ...` is `maestro COMMAND ...`, held or killed where its environment says.

CHECKPOINT_SECONDS, GRACE: what these are; WINDOW: updates in a line of an endless run's metrics;
HELD_AT: the updates after which no chunk ends; HELD_COMPILING: compiling never ends;
DIES_AT: how often it may change the files of its checkpoints before it is killed;
NO_COMPARISON: a run that is trained to its end is not compared, drawn or filmed;
WAIT: seconds in which the processes of a run must find each other;
RESTORED: a file for the digests of the state that training begins or goes on with, as the devices hold it.
"""

import itertools
import json
import os
import signal
import sys
import threading
from pathlib import Path

from maestro import __main__, cohort
from maestro.cli import launch
from maestro.runs import checkpoint, crew, metrics_log, summary, trainer
from maestro.runs.trainer import Trainer
from tracing import roomy, roomy_threads, spare

TOLD = os.environ


def hold(file):
    """Go no further, and let a file say so."""
    file.touch()
    threading.Event().wait()


class HeldTrainer(Trainer):
    """A trainer that compiles for ever, or whose chunk never ends; the file `held` says when it is so."""

    def run(self):
        if "RESTORED" in TOLD:
            self.fetched = None
            arrays = checkpoint.flatten(self.whole)
            digests = {name: checkpoint.describe(array)["sha256"] for name, array in arrays.items()}
            Path(TOLD["RESTORED"]).write_text(json.dumps(digests))
        return super().run()

    def foresee(self):
        if "HELD_COMPILING" in TOLD:
            cohort.train_steps = lambda *_: hold(self.folder.path / "held")
        return super().foresee()

    def compile(self):
        chunk = super().compile()

        def held(state, *limits):
            if state.updates >= float(TOLD.get("HELD_AT", "inf")):
                hold(self.folder.path / "held")
            return chunk(state, *limits)

        return held


def die_at(number):
    """Let this process be killed right before it changes the files of its checkpoints so many times."""
    changes = itertools.count(1)

    def hook(event, arguments):
        if event in ("open", "os.rename", "os.remove") and isinstance(arguments[0], str | os.PathLike):
            path = Path(arguments[0])
            changed = path.suffix == ".part" or event == "os.remove"
            if changed and path.parent.name == "checkpoints" and next(changes) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def main():
    """The command line, with a short last comparison."""
    spare()
    roomy_threads()
    trainer.CHECKPOINT_SECONDS = float(TOLD.get("CHECKPOINT_SECONDS", trainer.CHECKPOINT_SECONDS))
    trainer.GRACE = float(TOLD.get("GRACE", trainer.GRACE))
    summary.LAST_LEVELS = 2
    launch.Trainer = HeldTrainer
    if "NO_COMPARISON" in TOLD:
        launch.export_and_compare = lambda *_: None
    crew.WAIT = float(TOLD.get("WAIT", crew.WAIT))
    if "WINDOW" in TOLD:
        from runs_helpers import ENDLESS  # loads JAX's devices, which several processes must do together

        metrics_log.LINES = ENDLESS["total_updates"] // int(TOLD["WINDOW"])
    if "DIES_AT" in TOLD:
        die_at(int(TOLD["DIES_AT"]))
    sys.exit(roomy(__main__.main))


if __name__ == "__main__":
    main()
