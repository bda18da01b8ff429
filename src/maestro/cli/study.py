"""`maestro study`: train, evaluate and draw all that one file lists, in as many sittings as it takes."""

import os
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro import toml
from maestro.cli.arguments import Mistake, find_game, find_method, make_folder, use_cache
from maestro.cli.options import OwnOption
from maestro.cli.output import say
from maestro.settings import SettingsError, nearest, shown

PROG = "maestro study"
FILE = "study.toml"
DAY = 1440.0
Several = tyro.conf.UseAppendAction[tuple[str, ...]]


@dataclass(frozen=True)
class Options:
    """Train every cohort that a file lists, let them play, measure them, draw the figures.

    What is done is skipped, what was begun goes on: the same command again, after whatever has ended it.
    Several processes may work on one folder: each takes cohorts that no other holds. Without a folder that
    they share, each trains a part, and the parts are merged.

    Exit codes: 0 all is done, 3 something is left (--minutes), 1 something failed, 2 a mistake.

    For example:

    maestro study studies/tiny.toml

    maestro study studies/first.toml --out runs/first --minutes 9

    maestro study studies/first.toml --dry-run

    maestro study studies/first.toml --part 3/8 --out part-3

    maestro study studies/first.toml --out first --merge part-1 part-2 part-3
    """

    file: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FILE.toml")]
    """The study; or the folder of one, to continue it."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = ""
    """Where everything goes; runs/ and the file's name by default."""
    minutes: Annotated[float, tyro.conf.arg(metavar="M", help_behavior_hint="")] = DAY * 365
    """Start nothing that would not fit into so many minutes, and stop in good order when they are over."""
    only: Annotated[Several, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = ()
    """Train this cohort and do nothing else; may be given several times."""
    part: Annotated[str, tyro.conf.arg(metavar="I/N", help_behavior_hint="")] = ""
    """Train the cohorts of one of N parts and do nothing else: on each of N machines another one."""
    merge: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = ()
    """Take in the finished cohorts of these folders; train nothing, and do what comes after."""
    game: OwnOption = ""
    """Where the game is, if it is one of your own."""
    method: Annotated[Several, tyro.conf.arg(metavar="module:NAME", help_behavior_hint="")] = ()
    """Where a method of your own is; may be given several times."""
    dry_run: tyro.conf.FlagCreatePairsOff[bool] = False
    """List what there is to do, and do nothing."""


def main(arguments: list[str]) -> None:
    """Run `maestro study`."""
    began = time.monotonic()
    options = tyro.cli(Options, prog=PROG, args=arguments)
    if not 0 < options.minutes <= DAY * 365:
        raise Mistake(f"--minutes: {options.minutes} is not between 0 and {DAY * 365:,.0f}")
    study, out = opened(options)
    only = chosen(options, study)
    from maestro.cli.sitting import Sitting

    use_cache()
    until = began + 60 * options.minutes
    sitting = Sitting(study, out, only, options.game, until, training=not options.merge)
    if options.dry_run:
        return say("\n".join(sitting.overview()))
    code = sit(options, sitting)
    if code:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)  # what was given up may still go on in another thread


def sit(options: Options, sitting: Any) -> int:
    """Do what was asked for; returns the exit code."""
    from maestro.cli import merging

    arrived = merging.arrivals(sitting, options.merge) if options.merge else []
    furnish(options, sitting.study, sitting.out)
    if options.part and not sitting.only:
        count = len(sitting.study.cohorts)
        say(f"nothing to do: the study has {count} cohort(s), and none is left for part {options.part}")
        return 0
    if arrived:
        merging.take(sitting, arrived)
    return int(sitting.run())


def opened(options: Options) -> tuple[Any, Path]:
    """(the study, its folder)."""
    from maestro.analysis.study import plan

    path = Path(options.file)
    file = path / FILE if path.is_dir() else path
    try:
        content = toml.read(file)
        name = content.get("game")
        game = find_game("--game", options.game) if options.game else known_game(name)
        own = {typed: find_method(typed) for typed in options.method}
        if missing := [typed for typed, method in own.items() if method is None]:
            raise Mistake(f"--method: {missing[0]!r} is no method of your own, module:NAME")
        study = plan.read(content, game, own)
    except SettingsError as error:
        raise Mistake(f"{file}: this study cannot be done:\n  " + "\n  ".join(error.problems)) from None
    out = Path(options.out) if options.out else path if path.is_dir() else Path("runs") / file.stem
    return study, out


def chosen(options: Options, study: Any) -> tuple[str, ...]:
    """The names of the cohorts that are to be trained; none are named if all are."""
    from maestro.analysis.study import parts

    typed = [f"--{name}" for name in ("only", "part", "merge") if getattr(options, name)]
    if len(typed) > 1:
        raise Mistake(f"{' and '.join(typed)} exclude each other")
    names = [cohort.name for cohort in study.cohorts]
    for name in options.only:
        if name not in names:
            raise Mistake(f"--only: {shown(name)} is no cohort of the study; {nearest(name, names)}")
    try:
        return parts.part(study, options.part) if options.part else options.only
    except ValueError as error:
        raise Mistake(f"--part: {error}") from None


def known_game(name: Any) -> Any:
    """The game that a file names: nothing in it causes an import."""
    from maestro import games

    if not isinstance(name, str) or not name:
        raise Mistake(f"game: {shown(name)} is no name of a game; the study needs one: game = ...")
    try:
        return games.known(name)
    except games.NotFound as error:
        raise Mistake(f"game: {error}") from None


def furnish(options: Options, study: Any, out: Path) -> None:
    """Keep a copy of the file; one by which less or other cohorts were to be trained is refused."""
    from maestro.analysis.study import plan, run_folders
    from maestro.runs.files import replacing, sync

    copy = out / FILE
    source = Path(options.file) / FILE if Path(options.file).is_dir() else Path(options.file)
    if copy.exists():
        before = plan.read(toml.read(copy), study.game, {p: find_method(p) for p in options.method})
        if changed := run_folders.changes(before, study):
            lines = "\n  ".join(changed)
            raise Mistake(f"{out} holds a study with other cohorts; choose another --out:\n  {lines}")
    elif out.is_dir() and [p for p in out.iterdir() if p.name != "runs" and not p.name.startswith(FILE)]:
        raise Mistake(f"--out: {out} is not empty, and holds no study")
    make_folder("--out", out)
    content = source.read_bytes()
    if not copy.exists() or copy.read_bytes() != content:
        with replacing(copy, f"{FILE}.{uuid.uuid4().hex}") as new:  # others may write theirs at this moment
            new.write_bytes(content)
            sync(new)
