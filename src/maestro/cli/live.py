"""`maestro report --live`: the page of runs that still train, for the browser of this machine."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maestro.cli.arguments import Mistake
from maestro.cli.output import say

if TYPE_CHECKING:
    from maestro.analysis.report import Choice

PORTS = (1024, 65_535)
MODEST = 10  # how far this process steps back behind the one that trains


def follow(paths: Sequence[Path], choice: "Choice", port: int = 0) -> Callable[[], None]:
    """A server of the report that listens already; what is returned serves until it is interrupted."""
    import jax

    from maestro.analysis import report
    from maestro.analysis.report.follow import Follower
    from maestro.analysis.report.live import Server

    if not paths:
        raise Mistake("no folder is named: a run that trains, or one that will")
    if port and not PORTS[0] <= port <= PORTS[1]:
        raise Mistake(f"--port: {port} is neither 0 (any) nor between {PORTS[0]} and {PORTS[1]}")
    jax.config.update("jax_platforms", "cpu")  # the device belongs to the training
    now = partial(report.collect, list(paths), replace(choice, live=True))
    follower = Follower(paths, now, report.page)
    try:
        return partial(serve, Server(port, follower.newest), follower)
    except OSError as error:
        raise Mistake(f"--port: {port} cannot be had ({error.strerror})") from None


def serve(server: Any, follower: Any) -> None:
    """Tell the address, and answer until an interrupt comes."""
    with suppress(OSError):
        os.nice(MODEST)
    with server, follower:
        say(f"{server.address}  follows {', '.join(map(str, follower.paths))}; Ctrl-C ends it")
        server.serve_forever()
