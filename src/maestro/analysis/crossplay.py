"""Cross-play as a folder: a plan, the games of each pair of methods as they are played, and one table."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from maestro.evaluation import table
from maestro.evaluation.cross_play import Entrant, Play, cross_play
from maestro.evaluation.table import Table
from maestro.runs import lock
from maestro.runs.entrants import Groups
from maestro.runs.files import write_file

PLAN, TABLE, PARTS = "plan.json", "table.csv", "parts"
Report = Callable[[str, int, int], None]  # (what is played, games played, of how many)


class PlanError(ValueError):
    """Why a folder cannot take these games."""


@dataclass(frozen=True)
class Block:
    """The games of two methods, or of one with itself."""

    updates: int
    a: Sequence[Entrant]
    b: Sequence[Entrant]
    once: bool = False  # of one with itself: each pair of its seeds once

    @property
    def name(self) -> str:
        return f"{self.a[0].label} - {self.b[0].label}" + f" after {self.updates} updates" * (
            self.updates > 0
        )

    def table(self, play: Play, report: Callable[[int, int], None] | None = None) -> Table:
        """Its games, played."""
        return cross_play(play, self.a, None if self.once else self.b, self.updates, report)


@dataclass(frozen=True)
class CrossPlay:
    """Who plays whom, and what."""

    game: str
    play: Play
    groups: dict[int, Groups]  # by the number of updates; 0 where that is not told
    against: Groups | None = None  # all against these only
    itself: bool = False  # whether each method plays itself, too

    @property
    def blocks(self) -> list[Block]:
        """Every pair of methods once."""
        return [block for updates, groups in self.groups.items() for block in self.blocks_of(updates, groups)]

    def blocks_of(self, updates: int, groups: Groups) -> list[Block]:
        """The pairs after so many updates."""
        if self.against is not None:
            return [Block(updates, a, b) for a in groups.values() for b in self.against.values()]
        own = [Block(updates, a, a, once=True) for a in groups.values()] if self.itself else []
        return own + [Block(updates, a, b) for a, b in combinations(groups.values(), 2)]

    @property
    def plan(self) -> dict[str, Any]:
        """What decides the games, for the folder."""
        play = self.play
        everyone = {**{f"{u}": g for u, g in self.groups.items()}, "against": self.against or {}}
        return {
            "format": 1,
            "game": self.game,
            "levels": play.levels.name,
            "level_digests": {
                name: digest.hex()[:16]
                for name, digest in zip(play.levels.names, play.levels.digests, strict=True)
            },
            "episodes": play.episodes,
            "seats": 2,
            "seed": play.seed,
            "itself": self.itself,
            "entrants": {
                when: {label: {str(e.seed): e.digest for e in group} for label, group in groups.items()}
                for when, groups in everyone.items()
            },
        }


def run(folder: Path, what: CrossPlay, report: Report | None = None) -> Table:
    """Play what is not there yet, pair by pair, and make the table of all."""
    folder.mkdir(parents=True, exist_ok=True)
    with lock.hold(folder):
        claim(folder, what.plan)
        tables = [block_table(folder, i, what, block, report) for i, block in enumerate(what.blocks)]
        whole = table.concatenate(tables)
        write_file(folder / TABLE, table.to_csv(whole).encode())
    return whole


def claim(folder: Path, plan: dict[str, Any]) -> None:
    """Write the plan; a folder with another plan, or with something else, is refused."""
    try:
        known = json.loads((folder / PLAN).read_bytes())
    except FileNotFoundError:
        if {path.name for path in folder.iterdir()} - {"lock"}:
            raise PlanError(f"{folder} is not empty; choose another folder") from None
        (folder / PARTS).mkdir(exist_ok=True)
        write_file(folder / PLAN, json.dumps(plan, indent=1).encode())
        return
    except ValueError as error:
        raise PlanError(f"{folder / PLAN} is damaged: {error}") from None
    other = [name for name in {**plan, **known} if known.get(name) != plan.get(name)]
    if other:
        raise PlanError(f"{folder} holds other games (different: {', '.join(other)}); choose another folder")


def block_table(folder: Path, number: int, what: CrossPlay, block: Block, report: Report | None) -> Table:
    """The games of one pair of methods: read if they were played, else played and kept."""
    path = folder / PARTS / f"{number:05d}.csv"
    if path.exists():
        return table.read(path)
    told = None if report is None else lambda done, total: report(block.name, done, total)
    found = block.table(what.play, told)
    path.parent.mkdir(exist_ok=True)
    write_file(path, table.to_csv(found).encode())
    return found


def read(folder: Path) -> tuple[dict[str, Any], Table]:
    """(the plan, the table) of a folder whose games are all played."""
    try:
        plan = json.loads((folder / PLAN).read_bytes())
    except (OSError, ValueError):
        raise PlanError(f"{folder} is no folder of cross-play: it has no {PLAN} that can be read") from None
    if not (folder / TABLE).is_file():
        raise PlanError(f"{folder}: its games are not all played; the same command goes on")
    return plan, table.read(folder / TABLE)
