"""A game to watch for each cell of a page whose players were kept."""

from typing import Any

from maestro.analysis.report import crossplays, landscapes, students
from maestro.analysis.report.games import Recorder
from maestro.analysis.report.opened import Found
from maestro.envs.base import Environment
from maestro.runs import entrants
from maestro.runs.folder import RunError

Data = dict[str, Any]


def record(found: Found, matrices: list[Data], maps: list[landscapes.Map], recorder: Recorder) -> None:
    """Record the games of cross-plays and landscapes; a run alone meets its own co-players."""
    try:
        env = environment(found)
        for played, shown in zip(found.played, matrices, strict=True):
            crossplays.record(played, shown, env, recorder)
        for one in maps:
            if one.run is not None:
                landscapes.record(one, recorder)
        if len(found.runs) == 1:
            own = students.matrix(found.runs[0], recorder)
            matrices += [own] if own else []
    except RunError as error:
        found.left_out.append(f"Recorded games: {error}.")
    found.left_out += without(matrices, maps)


def environment(found: Found) -> Environment:
    """The game as the first run has it set up; only games of two are recorded."""
    own = [entrants.open_run(run.folder.path, found.game).environment for run in found.runs[:1]]
    env = own[0] if own else found.game.environment()
    if env.num_agents != 2:
        raise RunError(f"{found.game.name} has {env.num_agents} players")
    return env


def without(matrices: list[Data], maps: list[landscapes.Map]) -> list[str]:
    """That some cells have no game to watch, if so; nobody is missed where nobody has played."""
    played = [
        game
        for shown in matrices
        for games, means in zip(shown["games"], shown["mean"], strict=True)
        for game, mean in zip(games, means, strict=True)
        if mean is not None
    ]
    cells = played + [game for one in maps for row in one.shown["games"] for game in row]
    missing = sum(game is None for game in cells)
    if not missing:
        return []
    why = "their players were not kept as files (agents/, milestones/), or are not those that were measured"
    return [f"{missing} of {len(cells)} cells have no game to watch: {why}."]
