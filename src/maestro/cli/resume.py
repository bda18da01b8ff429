"""`maestro resume`: go on with a run that was stopped."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from maestro import runs, settings
from maestro.cli.arguments import Mistake
from maestro.cli.train import split
from maestro.config import PRESETS, RunConfig
from maestro.runs import RunError
from maestro.settings import SettingsError


@dataclass(frozen=True)
class Options:
    """Go on with a run from its newest good checkpoint, exactly as if it had never stopped.

    For example:

    maestro resume runs/maestro-20230501-120000
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Settings that the run is believed to have; differences are refused."""
    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Also log to Weights & Biases (needs the extra of that name)."""


def main(arguments: list[str]) -> None:
    """Run `maestro resume`."""
    own, given, problems = split(Options, arguments)
    options = tyro.cli(Options, prog="maestro resume", args=own)
    try:
        folder, config = runs.open_run(options.run)
        changes = settings.read(options.config) if options.config else {}
        refuse_difference(config, settings.merge(changes, settings.nested(given)), problems)
    except RunError as error:
        raise Mistake(str(error)) from None
    except SettingsError as error:
        raise Mistake("these settings cannot be used:\n  " + "\n  ".join(error.problems)) from None
    from maestro.cli.conduct import conduct

    conduct(folder, config, options.wandb)


def refuse_difference(config: RunConfig, changes: dict, problems: list[str]) -> None:
    """A run keeps its settings; what would change is told field by field."""
    base = PRESETS.get(str(changes.pop("preset", None)), config)
    wanted = settings.with_level(settings.apply(base, changes, problems), problems)
    if problems:
        raise SettingsError(problems)
    different = settings.difference(config, wanted)
    if different:
        lines = "\n  ".join(different)
        raise Mistake(f"a run keeps its settings; these are different:\n  {lines}")
