"""How long a cohort will take, by what earlier ones took."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from maestro.analysis.study.run_folders import Standing
from maestro.config import RunConfig, exploiter_budget
from maestro.runs import folder as run_folder
from maestro.runs import sessions

SAFETY = 1.1  # no two sessions take equally long


@dataclass(frozen=True)
class Pace:
    """How fast a session went, on what device."""

    config: RunConfig
    device: str
    seconds_per_step: float


def steps(config: RunConfig, updates: int) -> int:
    """Steps of the game that the students of so many updates, and their exploiters, learn from."""
    schedule = config.schedule
    share = 0 if schedule.exploiters == "none" else exploiter_budget(schedule) / schedule.interval
    return round(updates * (1 + share)) * config.seeds * config.ppo.workers * config.ppo.rollout_length


def paces(standings: Iterable[Standing]) -> list[Pace]:
    """Of all sessions whose time is known."""
    found = []
    for standing in standings:
        config = standing.planned.config
        for session in sessions.before(run_folder.read_json(standing.folder.about)):
            taken, made = numbers(session)
            if taken > 0 and made > 0:
                found.append(Pace(config, str(session.get("device")), taken / steps(config, made)))
    return found


def numbers(session: Any) -> tuple[float, int]:
    """(seconds, updates) of a session; nothing where it was killed before it could say."""
    told = session if isinstance(session, dict) else {}
    seconds, updates = told.get("seconds"), told.get("updates")
    if isinstance(seconds, int | float) and isinstance(updates, int):
        return float(seconds), updates
    return 0.0, 0


def seconds(standing: Standing, known: list[Pace], device: str) -> float | None:
    """What is left of a cohort, roughly, by the slowest of the sessions most like it; None: no idea."""
    config = standing.planned.config
    here = [pace for pace in known if pace.device == device]
    like = [pace for pace in here if common(pace.config) == common(config)]
    same = [pace for pace in like if pace.config.method == config.method]
    slowest = max((pace.seconds_per_step for pace in same or like or here), default=None)
    return None if slowest is None else SAFETY * slowest * steps(config, standing.left)


def common(config: RunConfig) -> Any:
    """What decides about the time of a step, but for the method."""
    return config.game, config.environment, config.agent, config.ppo, config.curriculum, config.schedule.kind


def spent(standings: Iterable[Standing]) -> float:
    """Seconds that all sessions took, as far as they could say."""
    abouts = [run_folder.read_json(standing.folder.about) for standing in standings]
    return sum((numbers(session)[0] for about in abouts for session in sessions.before(about)), 0.0)
