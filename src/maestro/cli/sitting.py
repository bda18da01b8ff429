"""One sitting of a study: train what fits into the time, make what can be made of it, say what is left."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import jax

from maestro.analysis.study import after, pace, run_folders
from maestro.analysis.study.plan import Study
from maestro.analysis.study.run_folders import BEGUN, DONE, NEW, Standing
from maestro.analysis.study.steps import MADE, Step
from maestro.cli import launch
from maestro.cli import study_report as report
from maestro.cli.arguments import Mistake, unusable
from maestro.cli.making import Making
from maestro.cli.output import say
from maestro.cli.progress import Progress
from maestro.runs import folder as run_folder
from maestro.runs import lock
from maestro.runs.deadline import LEFT, Clock, Deadline
from maestro.runs.folder import RunFolder
from maestro.runs.lock import Locked
from maestro.runs.trainer import Stopped
from maestro.settings import SettingsError

FAILED = 1


def halt(job: launch.Job, folder: RunFolder, progress: Progress, stopped: Stopped) -> NoReturn:
    """A cohort that is stopped ends neither the study nor the process by itself."""
    raise stopped


@dataclass
class Sitting:
    """A study in a folder, until a moment of a clock."""

    study: Study
    out: Path
    only: tuple[str, ...] = ()
    origin: str = ""  # how the game was named, if not by a name that is known here
    until: float = float("inf")
    clock: Clock = time.monotonic
    failed: dict[str, str] = field(default_factory=dict)  # why, by name
    trained: int = 0  # cohorts that were worked on
    training: bool = True  # or only what comes after

    def standings(self) -> list[Standing]:
        """How far every cohort is that is asked for."""
        try:
            found = run_folders.standings(self.study, self.out)
        except SettingsError as error:
            raise Mistake("\n  ".join(["these runs do not belong to the study:", *error.problems])) from None
        return [one for one in found if not self.only or one.planned.name in self.only]

    def run(self) -> int:
        """Do all that is left and fits; returns the exit code."""
        try:
            if self.training:
                self.train()
            Making(self.steps(), self.out, self.deadline, self.fail).run(self.done)
            code = 0
        except Stopped as stopped:  # by a signal, or because the time is over
            say(f"maestro: {stopped}; the same command goes on", error=True)
            code = stopped.code
        return self.tell(code)

    def train(self) -> None:
        """One cohort after another, as long as another one fits."""
        while (chosen := self.choose(self.standings())) is not None:
            self.trained += 1
            self.work(chosen)
        for one in self.standings():
            if one.state == DONE and not self.study.top.keep_checkpoints and one.folder.checkpoints.exists():
                self.keep(one)

    def choose(self, standings: list[Standing]) -> Standing | None:
        """The next cohort that fits; if none does, but nothing was done yet, the next: it goes on later."""
        todo = [one for one in standings if one.state != DONE and one.planned.name not in self.failed]
        todo = [one for one in todo if not lock.is_held(one.folder.path)]
        todo.sort(key=lambda one: (has_failed(one), one.state != BEGUN))
        known, device, left = pace.paces(standings), jax.devices()[0].device_kind, self.until - self.clock()
        for one in todo if left > 0 else []:
            need = pace.seconds(one, known, device)
            if need is None or need <= left:
                return one
        return todo[0] if todo and left > 0 and not self.trained else None

    def work(self, one: Standing) -> None:
        """Train one cohort; one that fails is noted, and leaves the others their turn."""
        names = [cohort.name for cohort in self.study.cohorts]
        name, config = one.planned.name, one.planned.config
        say(f"cohort {names.index(name) + 1} of {len(names)}: {name}")
        job = launch.Job(self.study.game, config, one.planned.method, self.origin)
        try:
            launch.launch(job, one.folder.path, one.state == NEW, self.deadline(), halt)
        except launch.Taken:
            return  # another process was quicker: what is free is looked up again
        except Stopped as stopped:
            if stopped.code != FAILED:
                raise
            self.fail(name, str(stopped))
        except (Mistake, SettingsError) as error:
            if one.state == BEGUN or not one.folder.config.exists():  # else another process has begun it
                self.fail(name, unusable(error) if isinstance(error, SettingsError) else str(error))
        except jax.errors.JaxRuntimeError as error:
            self.fail(name, str(error))
        else:
            if not run_folder.is_finished(one.folder, config.seeds):  # whoever holds it now: to tidy up
                return self.fail(name, f"{one.folder.path} lacks students, or the last comparison")
            self.keep(one)

    def fail(self, name: str, why: str) -> None:
        """Note that something has failed."""
        self.failed[name] = why
        say(f"maestro: {name} failed: {why}", error=True)

    def keep(self, one: Standing) -> None:
        """What is left of a finished cohort is a piece."""
        if not self.study.top.keep_checkpoints:
            try:
                for line in run_folders.make_piece(one.folder):
                    say(f"maestro: {line}", error=True)
            except Locked as error:
                self.fail(one.planned.name, str(error))

    def steps(self) -> list[Step]:
        """What comes after training."""
        return [] if self.only else after.steps(self.study, self.out)

    def done(self) -> set[str]:
        """The names of the cohorts that are there."""
        return {one.planned.name for one in self.standings() if one.state == DONE}

    def deadline(self) -> Deadline:
        """What hears signals and the end of the time."""
        return Deadline(self.until, self.clock, launch.answer)

    def left(self) -> tuple[list[Standing], list[Step]]:
        """(cohorts, steps) that are not done."""
        cohorts = [one for one in self.standings() if one.state != DONE]
        return cohorts, [step for step in self.steps() if not step.is_done(self.out)]

    def tell(self, code: int) -> int:
        """Say what is left and what has failed; returns the exit code."""
        cohorts, steps = self.left()
        if not cohorts and not steps:
            say(f"all is done: {self.out}")
            return code
        known, maker = pace.paces(self.standings()), lock.holder(self.out / MADE)
        say("\n".join(["left:", *report.left(cohorts, steps, known, self.failed, maker)]))
        waiting = [one for one in cohorts if one.planned.name not in self.failed]
        return code or (LEFT if waiting or not self.failed else FAILED)

    def overview(self) -> list[str]:
        """What there is to do, and what of it is done."""
        return report.overview(self.standings(), self.steps(), self.out)


def has_failed(one: Standing) -> bool:
    """Whether an earlier sitting had to give it up."""
    return run_folder.read_json(one.folder.status).get("state") == "failed"
