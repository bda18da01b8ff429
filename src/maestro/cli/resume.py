"""`maestro resume`: continue a run that was stopped."""

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import imports, settings
from maestro.cli.arguments import Mistake
from maestro.cli.opening import open_run
from maestro.cli.options import OwnOption, Training, layout_of, read_file, split, together
from maestro.cli.output import say
from maestro.config import RunConfig
from maestro.games import Game
from maestro.runs import folder as run_folder
from maestro.runs import lock
from maestro.runs.folder import RunError, RunFolder
from maestro.settings import SettingsError, shown


@dataclass(frozen=True)
class OldRun:
    """What only a run that exists can be told."""

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    game: OwnOption = ""
    """Where the run's game is, if it is one of your own."""
    method: OwnOption = ""
    """Where the run's method is, if it is one of your own."""
    config: Annotated[str, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = ""
    """Settings that the run is believed to have; differences are refused."""


@dataclass(frozen=True)
class Options(Training, OldRun):  # in this order their options are shown the other way round
    """Resume a run from its newest good checkpoint, exactly as if it had never stopped.

    For example:

    maestro resume runs/maestro-20230501-120000
    """


def main(arguments: list[str]) -> None:
    """Run `maestro resume`; options it does not name itself are settings, which must be those of the run."""
    own, _, _ = split(Options, arguments, RunConfig())
    options = tyro.cli(Options, prog="maestro resume", args=own)
    together(arguments, partial(resume, arguments, options))


def resume(arguments: list[str], options: Options, crew: Any = None) -> None:
    """The run that was typed; with other processes, or alone."""
    from maestro.cli import launch

    own_method = options.method if imports.is_path(options.method) else ""
    try:
        game, config, method = open_run(Path(options.run), options.game, own_method)
        _, changes, problems = split(Options, arguments, config, options.run)
        changes |= {"method": options.method} if options.method else {}
        refuse_difference(game, config, options.config, changes, problems)
    except RunError as error:
        raise Mistake(str(error)) from None
    if is_finished(RunFolder(Path(options.run)), config):
        own = f" --method {own_method}" * bool(own_method)
        more = f"maestro train{' ' * bool(options.game)}{options.game} --from {shlex.quote(options.run)}{own}"
        done = f"{options.run} is finished: all {config.schedule.total_updates} updates are made"
        return say(f"{done}, its students are in agents/; for more: {more} --schedule.total-updates N")
    layout = layout_of(options.devices, options.mesh, config)
    job = launch.Job(game, config, method, options.game, options.wandb, layout=layout, crew=crew)
    launch.launch(job, Path(options.run), new=False)


def is_finished(folder: RunFolder, config: RunConfig) -> bool:
    """Whether nothing is left to be done of a run, which nobody works on."""
    return run_folder.is_finished(folder, config.seeds) and not lock.is_held(folder.path)


def refuse_difference(
    game: Game, config: RunConfig, file: str, changes: dict[str, Any], problems: list[str]
) -> None:
    """A run keeps its settings; what would change is told field by field."""
    from maestro.runs import build

    changes = settings.merge(read_file(file) if file else {}, changes)
    preset = changes.pop("preset", None)
    if preset is not None and preset not in list(game.presets):
        problems.append(f"preset: {shown(preset)} is not allowed; allowed: {', '.join(game.presets)}")
        preset = None
    wanted = settings.apply(config if preset is None else game.presets[preset], changes, problems)
    if wanted.level != config.level:
        level = build.settled_level(game, wanted.level, problems)
        wanted = settings.apply(wanted, {"level": level}, problems)
    if problems:
        raise SettingsError(problems)
    different = settings.difference(config, wanted)
    if different:
        lines = "\n  ".join(different)
        raise Mistake(f"a run keeps its settings; these are different:\n  {lines}")
