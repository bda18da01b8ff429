"""`maestro train`: a new run."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import imports, settings
from maestro.cli.arguments import Mistake, find_game, refuse
from maestro.cli.options import HELP, read_file, split
from maestro.config import RunConfig
from maestro.games import DEFAULT, TABLE, Game
from maestro.settings import SettingsError, shown

PROG = "maestro train"
USUAL = "fast"  # the preset that is used if none is asked for and the game has it


@dataclass(frozen=True)
class Options:
    """Train students by a method, several seeds at once, into a folder that explains itself.

    Every setting can be given as an option, or stand in a TOML file; the defaults shown are those of the
    preset. `--dry-run` lists the values in force.
    """

    game: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="GAME")] = DEFAULT
    """The game: one that is known, or a game of your own as module:NAME."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = ""
    """A set of defaults: paper (the paper's table), fast (one accelerator, minutes) or tiny (a CPU, two
    minutes), unless the game has others; the usual one is fast, or what FILE says."""
    config: Annotated[str, tyro.conf.arg(metavar="FILE")] = ""
    """A TOML file with settings; options win over it."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = ""
    """Where the run goes; a new folder below runs/ by default."""
    dry_run: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the settings in force, the network's size and the memory needed; train nothing."""
    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Also log to Weights & Biases (needs the extra of that name)."""


Options.__doc__ = f"""{Options.__doc__}
    For example:

    maestro train {DEFAULT} --preset tiny

    maestro train {DEFAULT} --method maestro --preset fast --seeds 10

    maestro train {DEFAULT} --method dr-sp --level FourRooms --out runs/specialist

    maestro train my_package.my_game:GAME --preset tiny
    """


def main(arguments: list[str]) -> None:
    """Run `maestro train`; options it does not name itself are settings."""
    words = [word for word in arguments if word not in HELP]
    typed = typed_game(words)
    game = find_game("game", typed)
    own, given, problems = split(Options, words, game.presets[usual_preset(game)], typed)
    options = tyro.cli(Options, prog=PROG, args=own)
    if len(words) < len(arguments):
        from maestro.cli.settings_help import show_help

        asked = options.preset in game.presets
        return show_help(Options, PROG, game, options.preset if asked else usual_preset(game))
    method = find_method(dict(given).get("method", ""))
    config = resolve(game, options, given, method, problems)
    from maestro.cli import launch

    origin = "" if game.name in TABLE else typed
    job = launch.Job(game, config, method, origin, options.wandb)
    if options.dry_run:
        return launch.dry_run(job)
    launch.launch(job, Path(options.out) if options.out else default_folder(config), new=True)


def typed_game(words: list[str]) -> str:
    """The game: the first word, or the one that no option takes; the default if there is none."""
    if any(word.partition("=")[0] == "--game" for word in words):
        raise Mistake(f"--game: here the game stands by itself, {PROG} GAME")
    if words and not words[0].startswith("-"):
        return words[0]
    return tyro.cli(Options, prog=PROG, args=split(Options, words, RunConfig())[0]).game


def usual_preset(game: Game) -> str:
    """The preset of a game that is used if none is asked for."""
    return USUAL if USUAL in game.presets else next(iter(game.presets))


def find_method(typed: str) -> Any:
    """A method of the user's own, if that is what was typed."""
    if not imports.is_path(typed):
        return None
    from maestro.curriculum import Method

    try:
        return imports.load_typed(typed, Method)
    except imports.NotFound as error:
        raise Mistake(f"--method: {error}") from None


def resolve(
    game: Game, options: Options, given: list[tuple[str, str]], method: Any, problems: list[str]
) -> RunConfig:
    """The settings in force: preset, file, options."""
    from maestro.runs import build

    try:
        changes = settings.merge(read_file(options.config) if options.config else {}, settings.nested(given))
        told = changes.pop("preset", usual_preset(game))
        preset = options.preset or told
        if not isinstance(preset, str) or preset not in game.presets:
            allowed = ", ".join(game.presets)
            problems.append(f"preset: {shown(preset)} is not allowed; allowed: {allowed}")
            preset = usual_preset(game)
        return build.configure(game, game.presets[preset], changes, method, problems)
    except SettingsError as error:
        refuse(error)


def default_folder(config: RunConfig) -> Path:
    """A new folder below runs/."""
    method = config.method.rpartition(":")[2]
    base = Path("runs") / f"{method}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [base, *(base.with_name(f"{base.name}-{i}") for i in range(2, 1000))]
    return next(path for path in names if not path.exists())
