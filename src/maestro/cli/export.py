"""`maestro export`: the students of a run as files that stand alone."""

import sys
from pathlib import Path
from typing import Annotated

import tyro

from maestro import runs
from maestro.cli.arguments import Mistake, make_folder, parse
from maestro.runs import RunError


def main(arguments: list[str]) -> None:
    """Run `maestro export`."""
    parse(export, "export", arguments)


def export(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")],
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None,
) -> None:
    """Write the students of a run's newest checkpoint as safetensors, each with a JSON card.

    They play in `maestro duel LEVEL --a FILE --b hunter`.

    Args:
        run: The folder of the run.
        out: Where to; the run's own folder agents/ by default.
    """
    from maestro.finish import export_newest

    try:
        folder, config = runs.open_run(run)
        if out is not None:
            make_folder("--out", out)
        paths, remarks = export_newest(folder, config, out or folder.agents)
    except RunError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{out or folder.agents}: cannot be written ({error.strerror})") from None
    for remark in remarks:
        print(f"maestro: {remark}", file=sys.stderr)
    for path in paths:
        print(path)
