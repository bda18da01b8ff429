"""The host's side of a run: compiled chunks of cycles, and what happens between them."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any, NoReturn

import jax
import numpy as np

from maestro import cohort
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.games import Game
from maestro.metrics import Metrics
from maestro.runs import beginning, evaluation_log, milestones, programs, served, vain
from maestro.runs import folder as run_folder
from maestro.runs.agent_file import AgentError
from maestro.runs.checkpointer import Checkpointer, Poisoned
from maestro.runs.crew import STANDS, Gone
from maestro.runs.evaluation_log import evaluation_points
from maestro.runs.evaluations import Evaluations
from maestro.runs.folder import RunFolder
from maestro.runs.metrics_log import MetricsLog, Position
from maestro.runs.place import Place
from maestro.runs.reporter import Reporter
from maestro.runs.signals import FOR_EVER, GRACE, Interrupted, Signals
from maestro.runs.status import expected, measured
from maestro.runs.vain import A_WORD, THE_END
from maestro.train import Experiment

ALONE = Place()
CHECKPOINT_SECONDS = 60.0
TRACING = 5.0  # seconds that all else waits, at most, until what takes longest is traced
COMPILING = "compiling (once; the result is cached): usually ten seconds to two minutes, from the cache a few"
DROPPED = "the chunk in progress took too long and is dropped"
MAX_SKIPPED = 10  # updates in a row that may be not finite


class Stopped(Exception):
    """The run ended early: the exit code, what to tell the user, and whether it can be resumed as it is."""

    def __init__(self, code: int, message: str, resumable: bool = True) -> None:
        self.code, self.resumable = code, resumable
        super().__init__(message)


class Trainer:
    """One run folder, from its newest checkpoint or its start to its end."""

    def __init__(
        self,
        folder: RunFolder,
        game: Game,
        config: RunConfig,
        experiment: Experiment,
        reporter: Reporter,
        signals: Signals,
        place: Place = ALONE,
    ) -> None:
        self.folder, self.game, self.config, self.experiment = folder, game, config, experiment
        self.reporter, self.signals, self.place = reporter, signals, place
        if place.crew is not None:
            place.crew.attend(signals.ask)
            signals.heed(place.crew.check)
        self.checkpointer = Checkpointer(folder.checkpoints, config, reporter)
        self.evaluations = Evaluations(config, experiment, game)
        self.status: dict[str, Any] = {"total": config.schedule.total_updates}
        if config.schedule.exploiters != "none":
            self.status |= expected(config.schedule)
        self.like = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
        found = self.restored()
        self.foreseen = self.foresee() if found is None else None
        own, position = found or (self.begun(), Position())
        self.state = own if place.layout is None else self.together(lambda: place.put(own))
        self.fetched: Cohort | None = own if place.layout else None  # the state, if it is known as a whole
        self.log = MetricsLog(folder.metrics, folder.evaluation, config.schedule.total_updates, position)
        for line in self.log.lost:
            reporter.say(line)
        self.began_after, self.saved_at, self.saved_after = self.updates, time.monotonic(), -1
        self.warned, self.kept_after, self.until = False, -1, self.updates

    @property
    def updates(self) -> int:
        """Student updates so far."""
        return int(self.state.updates)

    @property
    def exploited(self) -> dict[str, Any]:
        """What is told of exploiters: their updates so far, each seed's; nothing where there are none."""
        known = self.state.exploiters
        return {} if known is None else {"exploiter_updates": int(known.updates)}

    def foresee(self) -> Future[Any] | None:
        """The program under way while the first state is made; on a mesh it waits for where that lies.

        What takes longest is traced before all else, as only one thread can trace at a time; but nobody
        waits for it for ever.
        """
        if self.place.layout is not None:
            return None
        begun = Event()
        work = programs.ahead(self.place.compiled, self.experiment, self.like, begun)
        work.add_done_callback(lambda _: begun.set())
        until = time.monotonic() + TRACING
        while not begun.wait(0.02) and self.signals.received is None and time.monotonic() < until:
            pass
        return work

    def begun(self) -> Cohort:
        """The first state; meanwhile what draws the levels that are kept of it is compiled."""
        first = beginning.fresh(self.experiment, self.config.seed, self.like)
        if self.config.evaluation.keep_levels:
            served.begin(self.config, self.experiment, self.like)
        return first.result()

    def restored(self) -> tuple[Cohort, Position] | None:
        """Where the run goes on; None if from the first update, logs of a lost run being kept aside."""
        found = None
        if any(self.folder.checkpoints.iterdir()):
            found = self.checkpointer.restore(self.like)
        known = run_folder.read_json(self.folder.status).get("checkpoint")
        if found is not None:
            if type(known) is int and known > found[1].updates:
                self.reporter.say(f"the checkpoint of update {known} is gone")
            self.reporter.say(f"resuming at update {found[1].updates}")
            return found
        began_with = run_folder.read_json(self.folder.about).get("from")
        if isinstance(began_with, dict):
            raise beginning.lost(self.folder, began_with)
        if known is not None or any(self.folder.checkpoints.glob("*.bad")):
            self.reporter.say("no checkpoint can be used: starting again at update 0")
            for log in (self.folder.metrics, self.folder.evaluation):
                if log.exists():
                    log.replace(log.with_name(log.name + ".bad"))
        return None

    @property
    def whole(self) -> Cohort:
        """The state as this process alone can use it, asked for once."""
        if self.place.layout is None:
            return self.state
        if self.fetched is None:
            self.fetched = self.together(lambda: self.place.whole(self.state))
        return self.fetched

    def together(self, work: Any) -> Any:
        """The result of what all processes do at once; no stop gives it up, the end of one of them does."""
        return work() if self.place.crew is None else self.signals.run(work, FOR_EVER)

    def run(self) -> Cohort:
        """Train to the end; `Stopped` if that is not possible now."""
        try:
            self.loop()
            self.save()
            self.checkpointer.finish()
            self.tell("finished")
        except Gone as gone:
            self.checkpointer.finish()
            self.tell("stopped")
            raise Stopped(1, f"{gone}; {self.standing}") from None
        except OSError as error:
            self.fail(f"{self.folder.path}: {error.strerror or error}; {self.standing}", resumable=True)
        except Poisoned:
            self.fail(f"the state holds numbers that are not finite; {self.standing}")
        return self.whole

    @property
    def standing(self) -> str:
        """What is left if the run ends now."""
        known = self.checkpointer.saved is not None
        return STANDS if known else "there is no complete checkpoint"

    def loop(self) -> None:
        """Chunk after chunk, each of as many cycles as fit into a short time."""
        self.save()
        self.pause()
        if self.updates >= self.config.schedule.total_updates:
            return
        chunk = self.compile()
        self.doing("the first cycle")
        going: Future[Any] | None = self.begin(chunk, 1)
        while going is not None:
            before = int(self.state.cycles)
            self.state, metrics, seconds = self.interruptible(going, DROPPED, GRACE)
            self.fetched = None
            cycles = cohort.fitting(seconds / max(1, int(self.state.cycles) - before))
            going = None if self.is_due else self.begin(chunk, cycles)
            self.report(jax.device_get(metrics), seconds)  # while the next is under way
            self.pause()
            if going is None and self.updates < self.config.schedule.total_updates:
                going = self.begin(chunk, cycles)

    def begin(self, chunk: Any, cycles: int) -> Future[Any]:
        """A chunk under way: its state, its metrics, and the seconds that it took."""
        self.until = self.next_stop()
        limits = np.int32(self.until), np.int32(cycles)

        def work(state: Cohort = self.state) -> tuple[Cohort, Any, float]:
            began = time.monotonic()
            state, metrics = jax.block_until_ready(chunk(state, *limits))
            return state, metrics, time.monotonic() - began

        return self.signals.begin(work)

    @property
    def is_due(self) -> bool:
        """Whether the next chunk has to wait for what is done between two; on a mesh it always does."""
        return self.place.layout is not None or self.updates >= self.until

    def compile(self) -> Any:
        """The compiled chunk."""
        self.reporter.say(COMPILING)
        self.doing("compiling")
        known = partial(self.place.compiled, self.experiment, self.state)
        return self.interruptible(self.foreseen or self.signals.begin(known))

    def interruptible(self, work: Future[Any], remark: str = "", grace: float = 0.0) -> Any:
        """The result of work under way, which a stop gives up, without loss, after its grace."""
        try:
            return self.signals.result(work, grace)
        except Interrupted:
            self.stop(remark, given_up=True)

    def next_stop(self) -> int:
        """Where a chunk must not go beyond: an evaluation, a milestone, a copy that joins, or the end."""
        updates, schedule = self.updates, self.config.schedule
        points = [p for p in evaluation_points(self.config) if p > updates]
        starts = [0, schedule.warmup]  # a warm-up need not be a number of intervals
        steps = [(updates - start) // schedule.interval + 1 for start in starts]
        every = [start + max(0, n) * schedule.interval for start, n in zip(starts, steps, strict=True)]
        return min([*points[:1], *every, schedule.total_updates])

    def pause(self) -> None:
        """What is due between two chunks: a stop, an evaluation, a checkpoint."""
        self.checkpointer.check()
        self.guard()
        self.watch()
        if self.signals.received is not None:
            self.stop()
        if self.updates != self.kept_after and self.updates >= self.until:
            self.keep()
        if self.updates in evaluation_points(self.config) and self.updates > self.log.evaluated:
            self.evaluate()
        due = time.monotonic() - self.saved_at > CHECKPOINT_SECONDS
        if due or (self.updates % self.config.schedule.interval == 0 and self.updates != self.saved_after):
            self.save()

    def keep(self) -> None:
        """Keep what is due of the students and of what they are served; what was kept before stands."""
        self.kept_after, anew = self.updates, self.updates > self.began_after
        of_run, state = (self.folder, self.config), self.whole
        self.interruptible(self.signals.begin(lambda: served.keep(*of_run, self.experiment, state, anew)))
        if self.config.evaluation.keep_students:
            try:
                milestones.keep(*of_run, state, anew)
            except AgentError as error:
                self.reporter.say(f"the student at update {self.updates} is not kept: {error}")

    def guard(self) -> None:
        """Stop after too many updates that were not finite; the student is still the last good one.

        A resumed run gets as many attempts again.
        """
        attempts = self.updates - self.began_after
        if min(attempts, self.status.get("skipped", attempts)) < MAX_SKIPPED:
            return
        if np.max(jax.device_get(self.whole.seeds.learner.skipped_in_a_row)) >= MAX_SKIPPED:
            self.save()
            self.checkpointer.finish()
            kept = f"{self.folder.path} keeps the last good state"
            self.fail(f"{MAX_SKIPPED} updates in a row were not finite; {kept}")

    def watch(self) -> None:
        """Say so if a run has got nowhere for long; stop if that goes on."""
        trouble = vain.found(self.config, self.experiment.teacher, self.log.rows)
        if trouble.so_far >= THE_END:
            self.save()
            self.checkpointer.finish()
            self.fail(f"{trouble}; {trouble.cure}")
        if trouble.so_far >= A_WORD and not self.warned:
            self.reporter.say(f"{trouble}; this goes on to {THE_END * trouble.patience:.0f} at most")
        self.warned = trouble.so_far >= A_WORD

    def save(self) -> None:
        """Start writing a checkpoint."""
        self.checkpointer.save(self.whole, self.log)
        self.saved_at, self.saved_after = time.monotonic(), self.updates

    def stop(self, remark: str = "", given_up: bool = False) -> NoReturn:
        """Save what there is, and end.

        Processes that still work on what was given up cannot be asked for their parts of the state.
        """
        known = self.place.crew is None or self.fetched is not None
        if known or not given_up:
            self.save()
        self.checkpointer.finish()
        self.tell("stopped")
        updates = self.updates if known or not given_up else self.checkpointer.saved
        message = "; ".join(filter(None, (f"stopped at update {updates}", remark)))
        raise Stopped(self.signals.exit_code, message)

    def fail(self, message: str, resumable: bool = False) -> NoReturn:
        """Note that the run cannot go on by itself, if that can still be written."""
        with suppress(OSError):
            self.tell("failed")
        raise Stopped(1, message, resumable)

    def report(self, metrics: Metrics, seconds: float) -> None:
        """Log a chunk, and tell how it goes."""
        self.log.add(metrics)
        self.status |= measured(self.config.ppo, metrics, seconds) | self.exploited
        self.reporter.show(self.status | {"updates": self.updates})
        self.tell("running", pid=os.getpid())

    def doing(self, what: str) -> None:
        """Tell what goes on until there is something to tell."""
        self.reporter.show({**self.status, **self.exploited, "updates": self.updates, "doing": what})

    def tell(self, state: str, **more: Any) -> None:
        """Note in the folder how far the run is."""
        more |= {"updates": self.updates, "checkpoint": self.checkpointer.saved, **self.exploited}
        run_folder.write_status(self.folder, **{**self.status, **more, "state": state})

    def evaluate(self) -> None:
        """Games against fixed opponents, and the regret landscape if that is wanted."""
        result = self.measure("games against fixed opponents", lambda state: self.evaluations.games(state))
        regret = {}
        if self.config.evaluation.landscape:
            regret = self.measure("the regret landscape", lambda state: self.evaluations.landscape(state))
        self.reporter.say(evaluation_log.add(self.log, self.config, self.updates, result, regret))

    def measure(self, what: str, of_state: Callable[[Cohort], Any]) -> Any:
        """What is measured of the students as they are now."""
        self.doing(what)
        state = self.whole
        return self.interruptible(self.signals.begin(lambda: jax.device_get(of_state(state))))
