"""Cross-plays: each against each as a matrix, the standings as a table, and a game of each pair to watch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maestro.analysis.figures import style
from maestro.analysis.figures.played import Folder, everyone, opened, summarized
from maestro.analysis.figures.source import FigureError
from maestro.analysis.figures.versus import against
from maestro.analysis.report.games import Recorder
from maestro.analysis.report.numbers import short
from maestro.analysis.report.people import People
from maestro.analysis.standings import standings
from maestro.envs.base import Environment
from maestro.envs.levels import LevelError
from maestro.evaluation import level_sets, round_robin, table
from maestro.evaluation.round_robin import Cube
from maestro.evaluation.table import SHARES, Table
from maestro.runs.folder import read_json

COLUMNS = ["method", "seeds", "return", "95 % from", "to", *SHARES, "normalized"]


@dataclass(frozen=True)
class Played:
    """The games of a cross-play after the most updates."""

    folder: Folder
    games: Table
    cube: Cube
    names: list[str]  # in the order in which they are shown

    @property
    def updates(self) -> int:
        """After how many updates they were played; 0 where that is not told."""
        return int(self.games["updates"].max())

    @property
    def count(self) -> int:
        """How many games these are."""
        return int(self.games["episodes"].sum())

    @property
    def methods(self) -> list[str]:
        """Those who were trained on all levels: no scripts, no specialists."""
        return [name for name in self.names if name not in self.folder.scripted and "@" not in name]

    @property
    def met(self) -> int:
        """The games of these methods against others; those against themselves compare nothing."""
        a, b = self.games["a"], self.games["b"]
        own = np.isin(a, self.methods) | np.isin(b, self.methods)
        return int(self.games["episodes"][own & (a != b)].sum())


def read(path: Path, methods: tuple[str, ...]) -> Played:
    """The games in a folder, of these methods if any are named."""
    folder = opened(path)
    games = folder.read()
    games = table.select(games, updates=int(games["updates"].max()))
    names = [name for name in everyone(games) if not methods or name in methods]
    games = table.select(games, a=names, b=names)
    if not len(games["a"]):
        raise FigureError(f"{path}: nobody of {', '.join(methods)} has played there")
    cube = round_robin.cube(games)
    return Played(folder, games, cube, [name for name in names if name in cube.methods])


def matrix(played: Played) -> dict[str, Any]:
    """The return of each against each, with the interval over the row's seeds."""
    cells = [[summarized(against(played.cube, a, b)) for b in played.names] for a in played.names]
    numbers = {"mean": "mean", "low": "low_95", "high": "high_95"}
    own = {name: [[short(cell[key]) for cell in row] for row in cells] for name, key in numbers.items()}
    names = list(played.names)
    told = f"{played.folder.split} ({len(played.cube.levels)} levels)"
    after = f", after {played.updates} updates" * (played.updates > 0)
    nobody = [[None for _ in names] for _ in names]
    about = {"name": f"{played.folder.path.resolve().name}{after}", "levels": told}
    return {**about, "rows": names, "columns": names, **own, "games": nobody}


def standing(played: Played) -> dict[str, Any]:
    """The round robin, best first: the numbers that `maestro crossplay` prints."""
    keys = ("method", "seeds", "return", "low", "high", *SHARES, "normalized")
    rows = [[tell(row[key]) for key in keys] for row in standings(played.games)]
    note = (
        f"Mean over all others, then over seeds; {played.count:,} games on {len(played.cube.levels)} levels"
        f" ({played.folder.split})" + f", after {played.updates} updates" * (played.updates > 0) + "."
    )
    return {"title": f"Round robin: {played.folder.split}", "note": note, "columns": COLUMNS, "rows": rows}


def tell(value: Any) -> Any:
    """A cell of a table."""
    return short(value) if isinstance(value, float) else value


def record(played: Played, shown: dict[str, Any], env: Environment, recorder: Recorder) -> None:
    """Add a game to each cell whose two players can be found; the row sits in the first seat."""
    people = recorder.people
    plan = read_json(played.folder.path / "plan.json")
    seeds = groups(plan, played.updates)
    who = {name: people.entrant(name, seeds.get(name, {}), played.updates) for name in played.names}
    levels = levels_of(plan, env, people)
    for i, a in enumerate(played.names):
        for j, b in enumerate(played.names):
            if who[a] is None or who[b] is None or shown["mean"][i][j] is None or not levels:
                continue
            turn = (i * len(played.names) + j) % len(levels)
            order = levels[turn:] + levels[:turn]
            shown["games"][i][j] = recorder.record(env, (a, who[a]), (b, who[b]), order)


def groups(plan: dict[str, Any], updates: int) -> dict[str, dict[str, str]]:
    """Of everyone the seeds and the digests of their parameters."""
    told: Any = plan.get("entrants")
    parts = [told.get(str(updates)), told.get("against")] if isinstance(told, dict) else []
    found = {name: own for part in parts if isinstance(part, dict) for name, own in part.items()}
    return {
        name: {str(seed): str(digest) for seed, digest in own.items() if str(seed).isdecimal()}
        for name, own in found.items()
        if isinstance(own, dict)
    }


def levels_of(plan: dict[str, Any], env: Environment, people: People) -> list[tuple[str, Any]]:
    """The levels that were played on, with their names; none if they cannot be found again."""
    import jax

    seed = plan.get("seed")
    try:
        found = level_sets.find(people.game, str(plan.get("levels")), env, seed if type(seed) is int else 0)
    except (LevelError, OSError):
        return []
    levels = jax.device_get(found.levels)
    return [(name, jax.tree.map(lambda x, i=i: x[i], levels)) for i, name in enumerate(found.names)]


def ordered(played: list[Played]) -> list[str]:
    """All methods, the best of the first cross-play first."""
    best = [row["method"] for play in played[:1] for row in standings(play.games)]
    return [*best, *style.ordered(name for play in played for name in play.names if name not in best)]
