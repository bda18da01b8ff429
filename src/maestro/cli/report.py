"""`maestro report`: one page that shows and explains runs, games and landscapes."""

import os
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.cli.arguments import Mistake, check_output, check_range, find_game, parse, use_cache, writing
from maestro.cli.options import OwnOption
from maestro.cli.output import say
from maestro.runs.reporter import Reporter

USUAL = Path("report.html")
MAX_PORT = 65_535
VARIABLE = "MAESTRO_REPORT"


def main(arguments: list[str]) -> None:
    """Run `maestro report`."""
    parse(report, "report", arguments)


def report(
    paths: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FOLDER")],
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", aliases=["-o"], help_behavior_hint="")] = None,
    title: Annotated[str, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")] = "",
    methods: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = (),
    games: bool = True,
    game: OwnOption = "",
    live: tyro.conf.FlagCreatePairsOff[bool] = False,
    port: Annotated[int, tyro.conf.arg(metavar="INT", help_behavior_hint="")] = 0,
) -> Callable[[], None]:
    """Write one page about what is in some folders: runs, cross-plays, landscapes, or whole studies.

    The page is one file that opens from the disk and asks nothing of any other machine: the answer in three
    sentences, tables, figures, the curriculum along training, games to watch, and, where the game has it,
    agents to play against.

    For example:

    maestro report runs/maestro -o report.html

    maestro report my-study --title "Nine methods" -o nine.html

    maestro report --live runs/maestro

    Args:
        paths: Folders of runs, of `maestro crossplay`, of `maestro landscape`, or of studies.
        out: Where the page goes, a .html; by default report.html in this folder.
        title: Above the page; by default the names of the folders.
        methods: Only these.
        games: Record games to watch; without them the page is made sooner.
        game: Where the runs' game is, if it is one of your own.
        live: Serve the page on this machine only, and follow runs while they train.
        port: Of --live; by default any that is free.
    """
    from maestro.analysis.report.choice import Choice

    choice = Choice(title, methods, games=games, live=live)
    if live:
        return follow(paths, choice, out, game, port)
    if port:
        raise Mistake("--port: only --live has one")
    if game:
        find_game("--game", game)
    target = out or USUAL
    check_output("--out", target, (".html",))
    use_cache()
    return partial(write, target, collected(paths, choice))


def follow(
    paths: tuple[Path, ...], choice: Any, out: Path | None, game: str, port: int
) -> Callable[[], None]:
    """Serve the page until it is interrupted."""
    import jax

    from maestro.cli import live

    if out is not None:
        raise Mistake("--out: with --live nothing is written; leave one of them out")
    check_range("--port", port, 0, MAX_PORT)
    jax.config.update("jax_platforms", "cpu")  # the accelerator is the training's
    if game:
        find_game("--game", game)
    return live.follow(paths, choice, port)


def collected(paths: tuple[Path, ...], choice: Any) -> dict[str, Any]:
    """The data of the page, with progress."""
    from maestro.analysis import report
    from maestro.analysis.figures import FigureError
    from maestro.cli.progress import Progress

    try:
        with Progress() as progress:
            return report.collect(paths, choice, progress)
    except FigureError as problem:
        raise Mistake(str(problem)) from None


def at_the_end(run: Path, reporter: Reporter) -> Path | None:
    """The page about a run that has just been trained, unless nobody wants one; a run is no worse without."""
    from maestro.analysis import report

    if os.environ.get(VARIABLE) == "no":
        return None
    reporter.show({"doing": "the report"})
    try:
        report.write(run / USUAL, report.collect([run], reporter=reporter))
    except Exception as error:  # whatever it is: the run itself is complete
        why, again = str(error) or type(error).__name__, f"maestro report {shlex.quote(str(run))}"
        reporter.say(f"no report: {why}; {again} tries again")
        return None
    return run / USUAL


def write(out: Path, data: dict[str, Any]) -> None:
    """Write the page, and say where it is and what it has not."""
    from maestro.analysis import report

    with writing("--out", out):
        size = report.write(out, data)
    for told in data["left_out"]:
        say(f"not shown: {told}")
    say(f"{out}  {size / 1e6:.1f} MB; open it in a browser")
