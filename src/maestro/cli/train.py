"""`maestro train`: a new run."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import settings
from maestro.cli.arguments import Mistake, find_game, find_method
from maestro.cli.options import HELP, Training, layout_of, read_file, split, together
from maestro.config import RunConfig
from maestro.games import DEFAULT, LEVELS, TABLE, Game
from maestro.settings import shown

PROG = "maestro train"
USUAL, SMALL = "fast", "tiny"  # the presets that are used if none is asked for: with an accelerator, without

TOLD = f"no accelerator here, hence preset {SMALL}; for as much as on an accelerator: --preset {USUAL}"


@dataclass(frozen=True)
class NewRun:
    """What only a new run can be told."""

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = ""
    """The game: one that is known, or a game of your own as module:NAME."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = ""
    """A set of defaults: paper (the paper's table), fast (one accelerator, minutes) or tiny (a CPU, two
    minutes), unless the game has others; the usual one is what FILE says, else fast where there is an
    accelerator and tiny where there is none."""
    config: Annotated[str, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = ""
    """A TOML file with settings; options win over it."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = ""
    """Where the run goes; a new folder below runs/ by default."""
    from_: Annotated[str, tyro.conf.arg(name="from", metavar="AGENT|RUN", help_behavior_hint="")] = ""
    """An agent to begin with, by its file or its name in the package, or a run's folder to go on from (up to
    --schedule.total-updates)."""
    dry_run: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the settings in force, the network's size and the memory needed; train nothing."""


@dataclass(frozen=True)
class Options(Training, NewRun):  # in this order their options are shown the other way round
    """Train students by a method, several seeds at once, into a folder that explains itself.

    Every setting can be given as an option, or stand in a TOML file; the defaults shown are those of the
    preset. `--dry-run` lists the values in force.
    """


Options.__doc__ = f"""{Options.__doc__}
    For example:

    maestro train {DEFAULT} --preset tiny

    maestro train {DEFAULT} --method maestro --preset fast --seeds 10

    maestro train {DEFAULT} --method dr-sp --level {LEVELS[0]} --out runs/specialist

    maestro train my_package.my_game:GAME --preset tiny

    maestro train --from runs/specialist --schedule.total-updates 1000
    """


def main(arguments: list[str]) -> None:
    """Run `maestro train`; options it does not name itself are settings."""
    words = [word for word in arguments if word not in HELP]
    names = {word.partition("=")[0] for word in words}
    if "--game" in names:
        raise Mistake(f"--game: here the game stands by itself, {PROG} GAME")
    typed: str | None
    if words and not words[0].startswith("-"):
        typed = words[0]
    else:  # the word that no option takes; what cannot be parsed is said before anyone is waited for
        typed = tyro.cli(Options, prog=PROG, args=split(Options, words, RunConfig())[0]).game or None
    work = partial(begin, arguments, words, typed)
    if "--dry-run" in words or len(words) < len(arguments):
        return work()
    return together(words, work)


def begin(arguments: list[str], words: list[str], typed: str | None, crew: Any = None) -> None:
    """What was typed, as a run; with other processes, or alone."""
    other = None
    if any(word.partition("=")[0] == "--from" for word in words):
        from maestro.cli.origin import open_other

        other = open_other(words, typed or "")
    game = other.game if other else find_game("game", DEFAULT if typed is None else typed)
    base = other.config if other else game.presets[usual_preset(game)]
    own, changes, problems = split(Options, words, base, typed or "")
    options = tyro.cli(Options, prog=PROG, args=own)
    if len(words) < len(arguments):
        from maestro.cli.settings_help import show_help

        asked = options.preset in game.presets
        return show_help(Options, PROG, game, options.preset if asked else usual_preset(game))
    config, method, remark = resolve(game, options, changes, problems, other)
    from maestro.cli import launch, origin

    start = origin.beginning_of(options.from_, game, config, other) if options.from_ else None
    path = "" if game.name in TABLE else typed or ""
    layout = layout_of(options.devices, options.mesh, config, options.dry_run)
    job = launch.Job(game, config, method, path, options.wandb, remark, start, layout, crew)
    if options.dry_run:
        return launch.dry_run(job)
    launch.launch(job, Path(options.out) if options.out else default_folder(config), new=True)


def usual_preset(game: Game) -> str:
    """The preset of a game that is used if none is asked for."""
    import jax

    usual = SMALL if jax.default_backend() == "cpu" else USUAL
    return usual if usual in game.presets else next(iter(game.presets))


def resolve(
    game: Game, options: Options, changes: dict[str, Any], problems: list[str], other: Any
) -> tuple[RunConfig, Any, str]:
    """(settings in force: preset or another run's, file, options; an own method; a word on the preset)."""
    from maestro.runs import build

    method, own_method = other.method if other else None, changes.get("method", "")
    if ":" in own_method:
        method = find_method(own_method) or method
    if options.config:
        changes = settings.merge(read_file(options.config), changes)
    told = changes.pop("preset", None)
    preset = options.preset or told
    if other is not None:
        if preset is not None:
            problems.append(f"preset: {shown(preset)} is not allowed; the settings are those of --from")
        return build.configure(game, other.config, changes, method, problems), method, ""
    usual = usual_preset(game)
    if preset is not None and (not isinstance(preset, str) or preset not in game.presets):
        allowed = ", ".join(game.presets)
        problems.append(f"preset: {shown(preset)} is not allowed; allowed: {allowed}")
        preset = usual
    config = build.configure(game, game.presets[preset or usual], changes, method, problems)
    return config, method, "" if preset or usual == USUAL or USUAL not in game.presets else TOLD


def default_folder(config: RunConfig) -> Path:
    """A new folder below runs/."""
    method = config.method.rpartition(":")[2]
    base = Path("runs") / f"{method}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [base, *(base.with_name(f"{base.name}-{i}") for i in range(2, 1000))]
    return next(path for path in names if not path.exists())
