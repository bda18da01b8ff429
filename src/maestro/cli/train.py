"""`maestro train`: a new run."""

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import tyro

from maestro import settings
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig
from maestro.limits import nearest
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
    preset: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """paper (the paper's table), fast (one accelerator, minutes) or tiny (a CPU, two minutes);
    fast, unless FILE says otherwise."""
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
    own, given, problems = split(Options, arguments)
    options = tyro.cli(Options, prog="maestro train", args=own)
    if options.game not in GAMES:
        raise Mistake(f"game: {options.game!r} is unknown; allowed: {', '.join(GAMES)}")
    config = resolve(options, given, problems)
    if options.dry_run:
        return dry_run(config)
    from maestro.cli.conduct import new_run

    new_run(options.out or default_folder(config), config, options.wandb)


def resolve(options: Options, given: list[tuple[str, str]], problems: list[str]) -> RunConfig:
    """The settings in force: preset, file, options."""
    named = {name: getattr(options, name) for name in ("preset", "method", "seeds", "seed")}
    named["game.level"] = options.level
    given = [(name, value) for name, value in named.items() if value is not None] + given
    try:
        changes = settings.read(options.config) if options.config else {}
        return settings.resolve("fast", settings.merge(changes, settings.nested(given)), problems)
    except SettingsError as error:
        raise Mistake("these settings cannot be used:\n  " + "\n  ".join(error.problems)) from None


def split(options: type, arguments: list[str]) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """(the command's own arguments, (name, value) of each setting, what is wrong with these)."""
    own, given, problems = [], [], []
    names = [field.name.replace("_", "-") for field in fields(options)]
    groups, words = [field.name for field in fields(RunConfig)], list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name.replace("_", "-") in ("help", *names):
            own.append(word)
            continue
        if not equals and words and not words[0].startswith("--"):
            equals, value = "=", words.pop(0)
        if name.replace("-", "_").partition(".")[0] not in groups:
            problems.append(f"--{name}: unknown option; {nearest(name, names + groups)}")
        elif not equals:
            problems.append(f"--{name}: the value is missing")
        else:
            given.append((name, value))
    return own, given, problems


def default_folder(config: RunConfig) -> Path:
    """A new folder below runs/."""
    base = Path("runs") / f"{config.method}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [base, *(base.with_name(f"{base.name}-{i}") for i in range(2, 1000))]
    return next(path for path in names if not path.exists())


def dry_run(config: RunConfig) -> None:
    """Print what a run would be, and refuse what cannot fit."""
    from maestro import experiment
    from maestro.cli.conduct import checked_memory, device_memory

    need, have = checked_memory(config), device_memory()
    print(settings.to_toml(config))
    print(f"# parameters of one agent: {experiment.parameter_count(config):,}")
    print(f"# memory on the device, about: {need / 1e9:.2f} GB of {have / 1e9:.1f} GB")
    if need > have:
        raise Mistake(f"about {need / 1e9:.1f} GB are needed, and the device has {have / 1e9:.1f} GB")
