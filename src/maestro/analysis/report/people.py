"""The players behind labels: students of the runs, by the files that their folders keep."""

from typing import Any

from maestro.analysis.figures.source import Run, method_of
from maestro.exploiters import Newcomer
from maestro.games import Game
from maestro.runs import agent_file, crowd, entrants, milestones, players
from maestro.runs.agent_file import ENDING, AgentError
from maestro.runs.folder import RunError


class People:
    """Finds players, each read once."""

    def __init__(self, game: Game, runs: list[Run]) -> None:
        self.game, self.runs = game, runs
        self.read: dict[Any, Any] = {}

    def runs_of(self, label: str) -> list[Run]:
        """The runs that a label can mean: those of a folder of that name, then those of the method."""
        named = [run for run in self.runs if run.folder.path.resolve().name == label]
        return named + [run for run in self.runs if label in (run.label, method_of(run)) and run not in named]

    def entrant(self, label: str, seeds: dict[str, Any], updates: int) -> Any:
        """Who took part in games under a label: the first seed's student, or a script; None if unknown."""
        scripted = {player.name.lower(): player for player in self.game.players.values()}
        if not any(seeds.values()):
            return scripted.get(label.lower())
        seed = min(map(int, seeds))
        files = [
            milestones.path(run.folder, updates, seed) if updates else student(run, seed)
            for run in self.runs_of(label)
        ]
        fitting = (self.load(path, seeds[str(seed)]) for path in files)
        return next((player for player in fitting if player is not None), None)

    def at(self, run: Run, seed: int, updates: int) -> Any:
        """A student of a run as it was after so many updates; None if it was not kept."""
        path = student(run, seed)
        if updates_of(path) != updates:
            path = milestones.path(run.folder, updates, seed)
        return self.load(path)

    def member(self, run: Run, seed: int, who: Newcomer) -> Any:
        """A member of a run's population; None if it was not kept."""
        if who.exploiter:
            return self.load(milestones.path(run.folder, who.updates, seed, exploiter=True))
        return self.at(run, seed, who.updates)

    def newest(self, run: Run, seed: int) -> tuple[int, Any] | None:
        """(updates, player) of the newest student of a seed."""
        try:
            path, player = crowd.newest(run.folder, self.game, seed)
        except (RunError, AgentError):
            return None
        return updates_of(path) or 0, player

    def load(self, path: Any, digest: str = "") -> Any:
        """A player by its file, if it is the one that is meant; None if it cannot be read."""
        if path not in self.read:
            try:
                self.read[path] = agent_file.load(path, self.game), entrants.digest_of(path)
            except AgentError:
                self.read[path] = None, ""
        player, own = self.read[path]
        return player if not digest or digest == own else None


def student(run: Run, seed: int) -> Any:
    """The file of a run's student at the end."""
    return run.folder.agents / f"student-{seed}{ENDING}"


def updates_of(path: Any) -> int | None:
    """After how many updates a student was written."""
    try:
        told = agent_file.read_card(path.with_suffix(".json")).get("updates")
    except AgentError:
        return None
    return told if type(told) is int else None


def kept(run: Run) -> list[int]:
    """The seeds whose students a run has as files, in agents/ or in milestones/."""
    return players.seeds_of(run.folder) or (run.seeds if milestones.points(run.folder) else [])
