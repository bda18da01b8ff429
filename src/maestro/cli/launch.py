"""What `train`, `resume` and `study` share: build once, lock once, train, and tell how it ended."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

from maestro import imports, settings, toml
from maestro.agents.lstm import Form
from maestro.analysis import curves
from maestro.analysis.film import film_student
from maestro.cli import report
from maestro.cli.arguments import Mistake, use_cache
from maestro.cli.company import answer
from maestro.cli.origin import Begin, begun, told
from maestro.cli.output import Errors, clean, say
from maestro.cli.progress import Progress, roughly
from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.curriculum import Method
from maestro.games import Game
from maestro.runs import agent_file, beginning, build, chunks, cost, lock, sessions, summary
from maestro.runs import folder as run_folder
from maestro.runs.beginning import Beginning
from maestro.runs.crew import STANDS, Gone
from maestro.runs.first import First
from maestro.runs.folder import RunError, RunFolder
from maestro.runs.lock import InUse, Locked
from maestro.runs.place import Place
from maestro.runs.reporter import Reporter
from maestro.runs.signals import Signals
from maestro.runs.trainer import Stopped, Trainer
from maestro.sharding import Layout
from maestro.train import Experiment

LONG = 600.0  # seconds of training without an accelerator that are worth a word
ONE = "1x1"  # the layout of a single device
LAST = 8  # the last comparison is at most so many evaluations long


class Taken(Mistake):
    """Another process works on the run, or has finished it in the meantime."""


@dataclass(frozen=True)
class Job:
    """What is to be trained."""

    game: Game
    config: RunConfig
    method: Method | None = None  # of the user's own
    origin: str = ""  # how the game was named, if not by a name that is known here
    wandb: bool = False
    remark: str = ""  # to be said at the start
    begin: Begin | None = None  # what makes the first state, if the run does not begin with nothing
    layout: Layout | None = None  # how it is spread over devices; None: on one
    crew: First | None = None  # the other processes that take part; None: there are none
    page: bool = True  # whether it ends with a report; the cohorts of a study share one

    @property
    def typed(self) -> str:
        """What must be typed again to resume it."""
        parts = [f" --game {self.origin}"] if self.origin else []
        parts += [f" --method {self.config.method}"] if imports.is_path(self.config.method) else []
        return "".join(parts)


Ending = Callable[[Job, RunFolder, Progress, Stopped], None]  # what becomes of a run that is stopped


def program() -> str:
    """How this program can be called again: by its name, or as it was called if that is not on the path."""
    called = Path(sys.argv[0])
    known = called.name != "maestro" or shutil.which("maestro") is not None
    return "maestro" if known else shlex.quote(str(called))


def device_memory() -> int:
    """Bytes that the first device may use."""
    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit") or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def too_large(need: int, have: int) -> Mistake:
    """What does not fit onto a device is refused before anything is begun."""
    return Mistake(f"about {need / 1e9:.1f} GB are needed, and the device has {have / 1e9:.1f} GB")


def dry_run(job: Job) -> None:
    """Print what a run would be, and refuse what cannot fit."""
    experiment = build.experiment(job.game, job.config, job.method)
    build.lstm_form(experiment, job.layout)
    chunks.form(experiment, job.layout)
    need, have = cost.memory(job.config, experiment, job.layout), device_memory()
    say(toml.to_toml(job.config))
    say(f"# parameters of one agent: {build.parameter_count(experiment):,}")
    where = "the device"
    if job.layout is not None:
        where = f"each of {job.layout.devices} devices"
        say(f"# mesh: {job.layout}, seeds x environments")
    say(f"# memory on {where}, about: {need / 1e9:.2f} GB of {have / 1e9:.1f} GB")
    if jax.default_backend() == "cpu":
        say(f"# time without an accelerator, about: {roughly(cost.seconds(job.config, experiment))}")
    if need > have:
        raise too_large(need, have)
    if job.begin is not None:
        say(f"# {told(begun(job.begin, experiment, Errors()))}")


def launch(
    job: Job, path: Path, new: bool, signals: Signals | None = None, end: Ending | None = None
) -> None:
    """Train a run to its end, under its lock; if it is stopped, the process ends here, or as `end` says."""
    use_cache()
    job = replace(job, page=job.page and end is None)
    experiment = build.experiment(job.game, job.config, job.method)
    form = build.lstm_form(experiment, job.layout)
    chunks.form(experiment, job.layout)  # one that cannot be is refused before anything is begun
    if new and (need := cost.memory(job.config, experiment, job.layout)) > (have := device_memory()):
        raise too_large(need, have)
    wandb = import_wandb() if job.wandb else None
    start = begun(job.begin, experiment, Errors()) if job.begin is not None else None
    try:
        folder = RunFolder(path)
        if new:
            run_folder.refuse_used(folder)
        with lock.hold(path), signals or Signals(answer) as signals, Progress() as progress:
            if not new and run_folder.is_finished(folder, job.config.seeds):
                raise InUse(f"{path} was finished by another process")
            if new:
                plant = partial(beginning.plant, folder, job.config, start, progress) if start else None
                run_folder.begin(folder, job.config, plant)
                foretell(job, experiment, start, progress)
            try:
                work(job, folder, experiment, form, progress, signals, wandb)
            except Stopped as stopped:
                (end or leave)(job, folder, progress, stopped)
    except (Locked, RunError) as error:
        kind = Taken if isinstance(error, InUse) else Mistake
        raise kind(f"--out: {error}" if new else str(error)) from None


def foretell(job: Job, experiment: Experiment, start: Beginning | None, reporter: Reporter) -> None:
    """Say what a new run begins with, and how long it may take where there is no accelerator."""
    if job.remark:
        reporter.say(job.remark)
    if start is not None:
        reporter.say(told(start))
    if jax.default_backend() != "cpu":
        return
    done = int(start.state.updates) if start is not None else 0
    need = cost.seconds(job.config, experiment) * (1 - done / job.config.schedule.total_updates)
    if need > LONG:
        less = "; for less: --preset tiny" * ("tiny" in job.game.presets)
        reporter.say(f"without an accelerator this takes about {roughly(need)}{less}")


def work(
    job: Job,
    folder: RunFolder,
    experiment: Experiment,
    form: Form | None,
    progress: Progress,
    signals: Signals,
    wandb: Any,
) -> None:
    """The run itself; `Stopped` if it ends early."""
    device, config, began = jax.devices()[0].device_kind, job.config, time.monotonic()
    where = device if job.layout is None else f"{job.layout.devices} x {device} ({job.layout})"
    progress.say(f"{config.method} on {config.game}, {config.seeds} seed(s), on {where}: {folder.path}")
    if form is not None and jax.default_backend() != "cpu":
        progress.say(form.told)
    try:
        if job.crew is not None:
            brief(job.crew, job)
        place = Place(job.layout, job.crew)
        trainer = Trainer(folder, job.game, config, experiment, progress, signals, place)
        chunk, layout = chunks.form(experiment, job.layout), str(job.layout or ONE)
        now = sessions.this_one(device, form.name if form else "", layout, chunk)
        changed = run_folder.begin_session(folder, config, now, job.origin)
        if changed:
            progress.say(f"{changed}: what is trained from here on is not what it would have been before")
        if wandb is not None:
            trainer.log.listeners.append(wandb_listener(wandb, folder, config))
        try:
            state = trainer.run()
            end = signals.begin(partial(export_and_compare, job, folder, experiment, state, progress))
            trainer.interruptible(end, "training is complete, only the last comparison is missing")
        finally:
            with suppress(OSError):  # only informs
                made = trainer.updates - trainer.began_after
                run_folder.end_session(folder, time.monotonic() - began, made)
    except OSError as error:
        raise Stopped(1, f"{error.filename or folder.path}: {error.strerror or error}") from None
    except Gone as gone:
        raise Stopped(1, f"{gone}; {STANDS}") from None


def brief(crew: First, job: Job) -> None:
    """Tell the other processes what is to be trained, and how it is spread."""
    count, layout = jax.device_count(), job.layout
    if layout is None or layout.devices != count:
        used = "1 device" if layout is None else f"{layout.devices} devices ({layout})"
        raise Mistake(f"--mesh: {used} of the {count} that all processes have; they must take part in full")
    named = {"game": job.origin or job.config.game, "method": job.config.method * (job.method is not None)}
    spread = {"seeds": layout.seeds, "envs": layout.envs}
    crew.order("begin", **named, config=toml.to_toml(job.config), layout=spread)


def export_and_compare(
    job: Job, folder: RunFolder, experiment: Experiment, state: Cohort, reporter: Reporter
) -> None:
    """Export, compare, draw, film, report, and say where to look."""
    reporter.show({"doing": "the last comparison"})
    agents = agent_file.save_students(job.config, state, folder.agents)
    most = LAST * job.config.evaluation.levels
    games = summary.summarize(folder, experiment, state, job.config.seed, most)
    low, high = games["won_95"]
    seeds = f" of {games['seeds']} seeds" * (games["seeds"] > 1)
    look_at = [f"{folder.metrics}  what happened in training"]
    if curves.draw(folder.path / "curves.png", folder):
        look_at.insert(0, f"{folder.path / 'curves.png'}  how it learned")
    if job.game.draw.picture is not None:
        film_student(folder.path / "film.gif", experiment, job.game.draw, state)
        red = f" ({job.game.draw.seats[0]}: the student)" if job.game.draw.seats else ""
        look_at.insert(0, f"{folder.path / 'film.gif'}  one of its games{red}")
    if job.page and (page := report.at_the_end(folder.path, reporter)):
        look_at.insert(0, f"{page}  all of it on one page, for a browser")
    options = f" --game {job.origin}" if job.origin else ""
    players = f"--a {shlex.quote(str(agents[0]))} --b {list(job.game.players)[-1]}"
    look_at.append(f"{program()} duel random{options} {players}")
    lines = [
        "",
        f"The trained student against its own first co-player, on {games['games']} unseen games{seeds}:",
        f"  won {games['won']}, drawn {games['drawn']}, lost {games['lost']}"
        f" (won {games['won'] / games['games']:.0%}: {low:.0%} to {high:.0%}, 95 % confidence)",
        *budget(games),
        "Look at:",
        *(f"  {line}" for line in look_at),
    ]
    reporter.say("\n".join(lines))


def budget(summary: dict[str, Any]) -> list[str]:
    """A line on who made how many updates, where not the students alone."""
    if "exploiter_updates" not in summary:
        return []
    own, others = summary["updates"], summary["exploiter_updates"]
    return [f"  after {own} updates, and {others} of its exploiters: {own + others} in all"]


def leave(job: Job, folder: RunFolder, progress: Progress, stopped: Stopped) -> None:
    """End at once: work that was given up may still run in another thread."""
    progress.__exit__()
    again = f"; resume with: {program()} resume {shlex.quote(str(folder.path))}{job.typed}"
    message = f"maestro: {stopped}{again * stopped.resumable}\n"
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody may be listening
            stream.write(clean(message) if stream is sys.stderr else "")
            stream.flush()
    if job.crew is not None:
        job.crew.end(stopped.code, str(stopped))
    os._exit(stopped.code)


def import_wandb() -> Any:
    """The package, before anything is made for it."""
    try:
        import wandb
    except ImportError:
        raise Mistake("--wandb: needs the package; pip install 'maestro-ued[wandb]'") from None
    return wandb


def wandb_listener(wandb: Any, folder: RunFolder, config: RunConfig) -> Any:
    """What sends each line of metrics to Weights & Biases."""
    run = wandb.init(project="maestro", name=folder.path.name, config=settings.as_dict(config))
    return lambda record: run.log(record, step=record["updates"])
