"""A page that is not too large: what is dropped first, and how that is told."""

from collections.abc import Callable
from typing import Any

from maestro.analysis.report.numbers import to_json

MOST = 10_000_000  # bytes of a page
Data = dict[str, Any]


def bounded(data: Data, room: int) -> Data:
    """The data in at most so many bytes: fewer games, then levels, then agents, then figures."""
    said: dict[str, str] = {}
    for drop in (fewer_games, fewer_levels, fewer_agents, fewer_figures):
        while size(data) > room:
            told = drop(data)
            if not told:
                break
            said[drop.__name__] = told
            prune(data)
    data["left_out"] += list(said.values())
    return data


def size(data: Data) -> int:
    """Bytes of the data in the page."""
    return len(to_json(data).encode())


def cells(data: Data) -> list[tuple[list[Any], int]]:
    """All places that point to a game: (a row, its column)."""
    tables = [table["games"] for table in (*data["landscapes"], *data["crossplays"])]
    return [(row, j) for table in tables for row in table for j, game in enumerate(row) if game is not None]


def fewer_games(data: Data) -> str:
    """Every second recorded game is forgotten."""
    there = cells(data)
    for row, j in there[1::2] if len(there) > 1 else there:
        row[j] = None
    left = len(cells(data))
    return f"Recorded games: {left} are kept, so that the page stays small." if there else ""


def fewer_levels(data: Data) -> str:
    """Half of the levels of each moment are forgotten."""
    served = [
        seed
        for run in data["runs"]
        for moment in (run["curriculum"] or {"moments": []})["moments"]
        for seed in moment["seeds"]
    ]
    most = max((len(seed["levels"]) for seed in served), default=0)
    for seed in served:
        seed["levels"] = seed["levels"][: most // 2]
    return f"Levels served: {most // 2} of each moment and seed are kept, likewise." if most else ""


def fewer_agents(data: Data) -> str:
    """The last agent is forgotten."""
    agents = (data["play"] or {"agents": []})["agents"]
    if not agents:
        return ""
    agents.pop()
    if not agents:
        data["play"] = None
    return f"Agents to play against: {len(agents)} are kept, likewise."


def fewer_figures(data: Data) -> str:
    """The largest figure is forgotten."""
    if not data["figures"]:
        return ""
    data["figures"].remove(max(data["figures"], key=lambda figure: len(figure["image"])))
    return f"Figures: {len(data['figures'])} are kept, likewise."


def prune(data: Data) -> None:
    """Forget games and scenes that nothing points to any more, and number the others anew."""
    used = {row[j]: None for row, j in cells(data)}
    renumber(data, "games", used, lambda place: [(row, j) for row, j in cells(data)])
    holders = scene_holders(data)
    shared = {scene["bodies"]["same"] for scene in data["scenes"] if isinstance(scene["bodies"], dict)}
    kept = dict.fromkeys([*sorted(shared), *(holder[key] for holder, key in holders)])
    renumber(data, "scenes", kept, lambda place: scene_holders(data))
    same = [scene["bodies"] for scene in data["scenes"] if isinstance(scene["bodies"], dict)]
    order = {old: new for new, old in enumerate(kept)}
    for bodies in same:
        bodies["same"] = order[bodies["same"]]


def renumber(data: Data, name: str, kept: dict[int, None], holders: Callable[[str], Any]) -> None:
    """Keep some of a list, and let all that point into it follow."""
    order = {old: new for new, old in enumerate(kept)}
    for holder, key in holders(name):
        holder[key] = order[holder[key]]
    data[name] = [data[name][old] for old in kept]


def scene_holders(data: Data) -> list[tuple[Any, Any]]:
    """All places that point to a scene."""
    found: list[tuple[Any, Any]] = [(game, "scene") for game in data["games"]]
    found += [(own["levels"], i) for own in data["landscapes"] for i in range(len(own["levels"]))]
    for run in data["runs"]:
        for moment in (run["curriculum"] or {"moments": []})["moments"]:
            found += [(level, "scene") for seed in moment["seeds"] for level in seed["levels"]]
    return found
