"""What comes after the training of a study, made by one process at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import jax

from maestro.analysis.study.steps import MADE, Step
from maestro.cli import study_report as report
from maestro.cli.arguments import make_folder
from maestro.cli.progress import Progress
from maestro.runs import lock
from maestro.runs.deadline import Deadline
from maestro.runs.folder import RunError
from maestro.runs.lock import InUse, Locked
from maestro.runs.signals import Interrupted
from maestro.runs.trainer import Stopped


@dataclass
class Making:
    """The steps of a study in a folder."""

    steps: list[Step]
    out: Path
    deadline: Callable[[], Deadline]
    fail: Callable[[str, str], None]  # told what failed, and why
    tried: set[str] = field(default_factory=set)

    def run(self, done: Callable[[], set[str]]) -> None:
        """Make all that is ready, unless another process does.

        It is looked again after the lock was given back: whoever was turned away has left its share to us.
        """
        while ready := self.ready(done()):
            make_folder("--out", self.out / MADE)
            try:
                with lock.hold(self.out / MADE):
                    for step in ready:
                        self.make(step)
            except InUse:
                return
            except Locked as error:
                return self.fail(ready[0].name, str(error))

    def ready(self, done: set[str]) -> list[Step]:
        """Every step that is not done, whose cohorts are, and whose sources are there."""
        return [
            step
            for step in self.steps
            if step.name not in self.tried
            and all(cohort.name in done for cohort in step.cohorts)
            and all(path.exists() for path in step.sources)
            and not step.is_done(self.out)
        ]

    def make(self, step: Step) -> None:
        """One step, in another thread, so that a signal and the end of the time are heard."""
        self.tried.add(step.name)
        with self.deadline() as signals, Progress() as progress:
            try:
                if signals.received is not None:
                    raise Interrupted
                if step.is_done(self.out):  # by another process in the meantime
                    return
                progress.say(step.name)
                signals.run(lambda: step.run(self.out, lambda told: progress.show({"doing": told})))
            except Interrupted:
                raise Stopped(signals.exit_code, f"stopped before the end of {step.name}") from None
            except (ValueError, OSError, RunError, Locked, jax.errors.JaxRuntimeError) as error:
                self.fail(step.name, str(error))
            else:
                for line in report.result(step):
                    progress.say(line)
