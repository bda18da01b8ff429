"""`maestro train`: a new run."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import settings
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig
from maestro.settings import SettingsError

GAMES = ("lasertag",)


@dataclass(frozen=True)
class Options:
    """Train students by a method, several seeds at once, into a folder that explains itself.

    Every setting can be given as an option too: --ppo.learning-rate 3e-4, --schedule.total-updates
    1000, --curriculum.empty optimistic. `--dry-run` lists all of them with the values in force.

    For example:

    maestro train lasertag --preset tiny

    maestro train lasertag --method maestro --preset fast --seeds 10

    maestro train lasertag --method dr-sp --level FourRooms --out runs/specialist
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = "lasertag"
    """The game; lasertag."""
    method: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """dr-sp, dr-fsp, dr-pfsp, plr-sp, plr-fsp, plr-pfsp, maestro, maestro-r or maestro-p."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "fast"
    """paper (the paper's table), fast (one accelerator, minutes) or tiny (a CPU, two minutes)."""
    seeds: Annotated[str | None, tyro.conf.arg(metavar="N")] = None
    """Runs side by side."""
    seed: Annotated[str | None, tyro.conf.arg(metavar="N")] = None
    """The first seed."""
    level: Annotated[str | None, tyro.conf.arg(metavar="NAME|FILE")] = None
    """Train on this one level: a specialist."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A TOML file with settings; options win over it."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where the run goes; a new folder below runs/ by default."""
    dry_run: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the settings in force, the network's size and the memory needed; train nothing."""
    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Also log to Weights & Biases (needs the extra of that name)."""


def main(arguments: list[str]) -> None:
    """Run `maestro train`; options it does not name itself are settings."""
    options, rest = tyro.cli(Options, prog="maestro train", args=arguments, return_unknown_args=True)
    if options.game not in GAMES:
        raise Mistake(f"game: {options.game!r} is unknown; allowed: {', '.join(GAMES)}")
    config = resolve(options, rest)
    if options.dry_run:
        return dry_run(config)
    from maestro.cli.conduct import new_run

    new_run(options.out or default_folder(config), config, options.wandb)


def resolve(options: Options, rest: list[str]) -> RunConfig:
    """The settings in force: preset, file, options."""
    try:
        changes = settings.read(options.config) if options.config else {}
        named = {name: getattr(options, name) for name in ("method", "seeds", "seed")}
        given: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        if options.level is not None:
            given["game"] = {"level": options.level}
        changes = settings.merge(changes, settings.merge(given, settings.nested(pairs(rest))))
        return settings.resolve(options.preset, changes)
    except SettingsError as error:
        raise Mistake("these settings cannot be used:\n  " + "\n  ".join(error.problems)) from None


def pairs(rest: list[str]) -> list[tuple[str, str]]:
    """`--name value` and `--name=value`, as pairs."""
    found, words = [], list(rest)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if not name.startswith("--"):
            raise Mistake(f"{name!r} is no option; settings are given as --name value")
        if not equals and not words:
            raise Mistake(f"{name}: the value is missing")
        found.append((name[2:], value if equals else words.pop(0)))
    return found


def default_folder(config: RunConfig) -> Path:
    """A new folder below runs/."""
    base = Path("runs") / f"{config.method}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [base, *(base.with_name(f"{base.name}-{i}") for i in range(2, 1000))]
    return next(path for path in names if not path.exists())


def dry_run(config: RunConfig) -> None:
    """Print what a run would be, and refuse what cannot fit."""
    from maestro import experiment
    from maestro.cli.conduct import device_memory

    need, have = experiment.memory_estimate(config), device_memory()
    print(settings.to_toml(config))
    print(f"# parameters of one agent: {experiment.parameter_count(config):,}")
    print(f"# memory on the device, about: {need / 1e9:.2f} GB of {have / 1e9:.1f} GB")
    if need > have:
        raise Mistake(f"about {need / 1e9:.1f} GB are needed, and the device has {have / 1e9:.1f} GB")
