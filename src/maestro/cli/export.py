"""`maestro export`: the students of a run as files that stand alone."""

import json
from pathlib import Path
from typing import Annotated

import tyro

from maestro.cli.arguments import Mistake, make_folder, parse
from maestro.cli.options import JsonFlag, OwnOption
from maestro.cli.output import Errors, say


def main(arguments: list[str]) -> None:
    """Run `maestro export`."""
    parse(export, "export", arguments)


def export(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")],
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None,
    game: OwnOption = "",
    method: OwnOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Write the students of a run's newest checkpoint as safetensors, each with a JSON card.

    They play in `maestro duel LEVEL --a FILE --b PLAYER`.

    For example:

    maestro export runs/maestro-20230501-120000 --out agents

    Args:
        run: The folder of the run.
        out: Where the files go; the run's own folder agents/ by default.
        game: Where the run's game is, if it is one of your own.
        method: Where the run's method is, if it is one of your own.
    """
    from maestro.cli.opening import open_run
    from maestro.runs import build
    from maestro.runs.folder import RunError, RunFolder
    from maestro.runs.summary import export_newest

    folder = RunFolder(run)
    try:
        found, config, own = open_run(run, game, method)
        if out is not None:
            make_folder("--out", out)
        experiment = build.experiment(found, config, own)
        paths = export_newest(folder, config, experiment, out or folder.agents, Errors())
    except RunError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{out or folder.agents}: cannot be written ({error.strerror})") from None
    say(json.dumps([str(path) for path in paths], indent=1) if as_json else "\n".join(map(str, paths)))
