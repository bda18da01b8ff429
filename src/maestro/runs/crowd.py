"""A student and the population that it has trained with, from what its run folder keeps."""

from dataclasses import dataclass, field
from typing import Any

from maestro.agents.base import Agent
from maestro.config import RunConfig, ScheduleConfig
from maestro.evaluation.opponents import Trained
from maestro.games import Game
from maestro.runs import agent_file, milestones
from maestro.runs.agent_file import AgentError
from maestro.runs.folder import RunError, RunFolder


@dataclass(frozen=True)
class Crowd:
    """The student of one seed and the members of its population, as parameters."""

    seed: int
    updates: int  # that the student has made
    student: Any = field(hash=False)
    members: dict[int, Any] = field(hash=False)  # by the update at which each has joined


def load(folder: RunFolder, game: Game, config: RunConfig, agent: Agent, seed: int) -> Crowd:
    """The exported student of a seed, or else the newest that was kept; and all who had joined by then."""
    try:
        updates, student = newest(folder, game, seed)
        joined = joined_by(config.schedule, updates)
        players = {at: milestones.load(folder, game, at, seed) for at in joined}
    except AgentError as error:
        raise RunError(str(error)) from None
    if not joined:
        raise RunError(f"{folder.path}: nobody had joined the population by update {updates}")
    if any(player.agent != agent for player in (student, *players.values())):
        raise RunError(f"{folder.path}: an agent there has another network than config.toml says")
    return Crowd(seed, updates, student.params, {at: player.params for at, player in players.items()})


def newest(folder: RunFolder, game: Game, seed: int) -> tuple[int, Trained]:
    """(updates, the student) of a seed."""
    path = folder.agents / f"student-{seed}{agent_file.ENDING}"
    if path.is_file():
        updates = agent_file.read_card(path.with_suffix(".json")).get("updates")
        if type(updates) is not int:
            raise AgentError(f"{path}: its card does not say after how many updates it was written")
        return updates, agent_file.load(path, game)
    known = milestones.points(folder)
    if not known:
        raise RunError(f"{folder.path}: no student in agents/ nor in milestones/; maestro export writes some")
    return known[-1], milestones.load(folder, game, known[-1], seed)


def joined_by(schedule: ScheduleConfig, updates: int) -> list[int]:
    """The updates at which copies have joined, until now; none joins at the very end."""
    last = min(updates, schedule.total_updates - 1)
    return list(range(schedule.warmup, last + 1, schedule.interval))
