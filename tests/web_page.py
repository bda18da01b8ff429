"""A report with LaserTag in it and nothing else, in a browser: what the tests of its scripts share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser
from maestro.analysis.report import join
from maestro.games.lasertag import GAME

EMPTY: dict[str, Any] = {
    **{name: "" for name in ("title", "made", "version", "question")},
    **{name: [] for name in ("answer", "tables", "figures", "scenes", "games", "runs", "left_out")},
    **{"format": 1, "live": False, "landscapes": [], "crossplays": []},
    **{"game": GAME.name, "seats": list(GAME.draw.seats), "seat_colors": list(GAME.draw.colors)},
}
DUEL = """\
time limit: 40
A faces: right
B faces: down
A....
####.
B....
"""


@contextmanager
def opened(chromium: Any, folder: Path, play: dict[str, Any], **settings: Any) -> Iterator[browser.Watched]:
    """The page with these agents and levels; nothing may go wrong on it."""
    file = folder / "play.html"
    file.write_text(join.page({**EMPTY, "play": play}, GAME.page))
    with browser.opened(chromium, file.as_uri(), **settings) as watched:
        yield watched
        watched.check()


@contextmanager
def scripts(folder: Path) -> Iterator[Any]:
    """A page whose rules and networks are called by tests."""
    with browser.launched() as chromium, opened(chromium, folder, {"agents": [], "levels": []}) as watched:
        yield watched.page
