"""A student and the population that it has trained with, from what its run folder keeps."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.agents.base import Agent
from maestro.config import RunConfig, ScheduleConfig
from maestro.evaluation.opponents import Trained
from maestro.exploiters import Newcomer, newcomers
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
    members: dict[str, Any] = field(hash=False)  # by name, "update 100" or "exploiter of update 100"
    reward_scale: float | None = None  # what the student's rewards were divided by


def load(folder: RunFolder, game: Game, config: RunConfig, agent: Agent, seed: int) -> Crowd:
    """The exported student of a seed, or else the newest that was kept; and all who had joined by then."""
    try:
        path, student = newest(folder, game, seed)
        updates, scale = told_by(path, config)
        joined = joined_by(config.schedule, updates)
        players = {
            str(who): milestones.load(folder, game, who.updates, seed, who.exploiter) for who in joined
        }
    except AgentError as error:
        raise RunError(str(error)) from None
    if not joined:
        raise RunError(f"{folder.path}: nobody had joined the population by update {updates}")
    if any(player.agent != agent for player in (student, *players.values())):
        raise RunError(f"{folder.path}: an agent there has another network than config.toml says")
    members = {name: player.params for name, player in players.items()}
    return Crowd(seed, updates, student.params, members, scale)


def newest(folder: RunFolder, game: Game, seed: int) -> tuple[Path, Trained]:
    """(file, student) of a seed."""
    path = folder.agents / f"student-{seed}{agent_file.ENDING}"
    if path.is_file():
        return path, agent_file.load(path, game)
    known = milestones.points(folder)
    if not known:
        raise RunError(f"{folder.path}: no student in agents/ nor in milestones/; maestro export writes some")
    return milestones.path(folder, known[-1], seed), milestones.load(folder, game, known[-1], seed)


def told_by(path: Path, config: RunConfig) -> tuple[int, float | None]:
    """(updates, what rewards were divided by) of a student as its card says."""
    card = agent_file.read_card(path.with_suffix(".json"))
    updates, scale = card.get("updates"), card.get("reward_scale")
    if type(updates) is not int:
        raise AgentError(f"{path}: its card does not say after how many updates it was written")
    if config.ppo.normalize_returns and type(scale) is not float:
        raise AgentError(f"{path}: its card does not say what its rewards were divided by")
    return updates, scale if config.ppo.normalize_returns else None


def joined_by(schedule: ScheduleConfig, updates: int) -> list[Newcomer]:
    """Who has joined until now; an exploiter is still to be trained when its student is kept."""
    return [who for who in newcomers(schedule) if who.updates + who.exploiter <= updates]
