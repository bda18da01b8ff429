"""`maestro train --from`: what a new run begins with, as it was typed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro import imports
from maestro.cli.arguments import Mistake
from maestro.cli.company import value_of
from maestro.cli.opening import open_run
from maestro.config import RunConfig
from maestro.games import Game, shipped
from maestro.runs import beginning, build
from maestro.runs.agent_file import AgentError
from maestro.runs.beginning import Beginning
from maestro.runs.folder import RunError, RunFolder, read_settings
from maestro.runs.reporter import Reporter
from maestro.settings import SettingsError
from maestro.train import Experiment

Begin = Callable[[Experiment, Reporter], Beginning]


@dataclass(frozen=True)
class OtherRun:
    """The run that a new one goes on from."""

    path: Path
    game: Game
    config: RunConfig
    method: Any  # the user's own, if it is one


def open_other(words: list[str], typed_game: str) -> OtherRun | None:
    """The run whose folder was typed, None if it is no folder; Python that it names must be typed again."""
    source, typed_method = value_of("--from", words), value_of("--method", words)
    path = Path(source)
    if not source or not path.is_dir():
        return None
    try:
        own = str(read_settings(path)[1].get("method"))
        return OtherRun(path, *open_run(path, typed_game, typed_method if imports.is_path(own) else ""))
    except RunError as error:
        raise Mistake(f"--from: {error}") from None
    except Mistake as mistake:
        reason = str(mistake).removeprefix("--game: ").replace("--game module", "maestro train module")
        raise Mistake(f"--from: {reason}") from None


def beginning_of(typed: str, game: Game, config: RunConfig, other: OtherRun | None) -> Begin:
    """What makes the first state of a run that begins with an agent or another run, once it is built."""
    file = Path(typed)
    if other is None and not file.exists():
        file = shipped.find(game.name, typed) or file
        if not file.exists():
            raise Mistake(f"--from: {typed!r} is neither an agent nor a run: there is nothing of that name")

    def make(experiment: Experiment, reporter: Reporter) -> Beginning:
        if other is None:
            return beginning.of_agent(file, game, config, experiment)
        before = build.experiment(game, other.config, other.method)
        source = beginning.Other(RunFolder(other.path), other.config, before)
        return beginning.of_run(source, config, experiment, reporter)

    def begin(experiment: Experiment, reporter: Reporter) -> Beginning:
        # In another thread, as an interrupt must never unwind a compiler.
        return ThreadPoolExecutor(1).submit(make, experiment, reporter).result()

    return begin


def begun(begin: Begin, experiment: Experiment, reporter: Reporter) -> Beginning:
    """The first state; what is wrong with where it comes from is the user's to fix."""
    try:
        return begin(experiment, reporter)
    except SettingsError as error:
        lines = "\n  ".join(error.problems)
        raise Mistake(f"--from: these settings do not go with it:\n  {lines}") from None
    except (AgentError, RunError) as error:
        raise Mistake(f"--from: {error}") from None


def told(start: Beginning) -> str:
    """In a line, what a run begins with."""
    about = start.about
    if "agent" in about:
        return f"begins with the parameters of {about['agent']}"
    changed = "; ".join(about["changed"])
    return f"goes on from update {about['update']} of {about['run']}; changed: {changed or 'nothing'}"
