"""`maestro figure`: the figures and tables of the paper, drawn from runs and games."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from maestro.cli.arguments import Mistake, check_output, find_game, parse, use_cache, writing
from maestro.cli.options import JsonFlag, OwnOption
from maestro.cli.output import say

Texts = tuple[str, ...]
Text = Annotated[str, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]
Several = Annotated[Texts, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]


def main(arguments: list[str]) -> None:
    """Run `maestro figure`."""
    if "--list" in arguments:
        return say(listed())
    parse(figure, "figure", arguments)


def listed() -> str:
    """All figures, each with a sentence."""
    from maestro.analysis.figures import KINDS

    width = max(map(len, KINDS))
    return "\n".join(f"{name:<{width}}  {kind.about}" for name, kind in KINDS.items())


def figure(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="FIGURE")],
    paths: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FOLDER")],
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    title: Annotated[str, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")] = "",
    of: Text = "",
    methods: Several = (),
    levels: Several = (),
    quantity: Text = "",
    split: Text = "",
    updates: Annotated[int | None, tyro.conf.arg(metavar="INT", help_behavior_hint="")] = None,
    error: Literal["standard-error", "95"] = "standard-error",
    game: OwnOption = "",
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Draw a figure of what is in some folders: runs, cross-plays, landscapes, or whole studies.

    `maestro figure --list` names all figures. Each is written as a vector picture (.pdf or .svg) and as a
    .png, a table as .md and .tex; beside it its data as .csv.

    For example:

    maestro figure round-robin round-robin --out figures/round-robin

    maestro figure one-to-one my-study --of maestro --error 95

    maestro figure emergent runs/maestro runs/plr-fsp runs/dr-sp --out emergent.svg

    Args:
        name: Which one.
        paths: Folders of runs, of `maestro crossplay`, of `maestro landscape`, or of studies.
        out: Where it goes; without an ending: .pdf and .png. By default its name, in this folder.
        title: Above the picture.
        of: The method that a figure is about (one-to-one, specialists, pairs, gallery, ...).
        methods: Only these.
        levels: Only on these.
        quantity: return, win_rate, won, drawn, lost, length, normalized, a game's own; a statistic of levels.
        split: The levels that were played on, where there are several sets: test, generated:64, ...
        updates: After so many, where milestones have played; by default the last.
        error: Standard errors as in the paper, or intervals of 95 % confidence.
        game: Where the runs' game is, if it is one of your own.
    """
    from maestro.analysis import figures
    from maestro.analysis.figures import FigureError, Options

    if game:
        find_game("--game", game)
    use_cache()
    try:
        files = figures.files(name, out)
        for file in files:
            check_output("--out", file, (file.suffix,))
        options = Options(title, of, methods, levels, quantity, split, updates, error)
        made = figures.make(name, paths, options)
    except FigureError as problem:
        raise Mistake(str(problem)) from None
    return partial(write, made, files, as_json)


def write(made: Any, files: list[Path], as_json: bool) -> None:
    """Write the files, and say where they are."""
    from maestro.analysis import figures

    with writing("--out", files[0]):
        figures.write(made, files)
    say(json.dumps([str(file) for file in files], indent=1) if as_json else "\n".join(map(str, files)))
