"""Students along training, in half precision: before it, whenever a copy joined the population, at the end.

The members of the population are exactly these students, but the last.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.evaluation.opponents import Trained
from maestro.games import Game
from maestro.runs import agent_file
from maestro.runs.agent_file import ENDING, AgentError
from maestro.runs.folder import RunFolder

CARD = re.compile(r"(\d{9,})-student-(\d+)\.json")  # updates and seed


def path(folder: RunFolder, updates: int, seed: int) -> Path:
    """The file of a seed's student after so many updates."""
    return folder.milestones / f"{updates:09d}-student-{seed}{ENDING}"


def is_there(file: Path) -> bool:
    """Whether a student was kept: the card is written last."""
    return file.is_file() and file.with_suffix(".json").is_file()


def points(folder: RunFolder) -> list[int]:
    """After how many updates the students of all seeds were kept, in order."""
    cards = folder.milestones.iterdir() if folder.milestones.is_dir() else []
    named = [match for card in cards if (match := CARD.fullmatch(card.name))]
    count = Counter(int(m[1]) for m in named if is_there(path(folder, int(m[1]), int(m[2]))))
    return sorted(updates for updates in count if count[updates] == max(count.values()))


def load(folder: RunFolder, game: Game, updates: int, seed: int) -> Trained:
    """A student as it was after so many updates, as a player."""
    file = path(folder, updates, seed)
    if not is_there(file):
        known = ", ".join(map(str, points(folder))) or "none"
        told = f"no student of seed {seed} was kept at update {updates}; updates with students: {known}"
        raise AgentError(f"{folder.path}: {told}")
    return agent_file.load(file, game)


def keep(folder: RunFolder, config: RunConfig, state: Cohort, anew: bool) -> None:
    """Write the students of now if they are due, `anew` or if missing; and those members that are missing."""
    schedule, now = config.schedule, int(state.updates)
    members = int(state.seeds.curriculum.population.size[0])
    joined = [schedule.warmup + i * schedule.interval for i in range(members)]
    missing = [i for i, at in enumerate(joined) if at < now and not is_complete(folder, config, at)]
    for i in missing:  # of a run that began with another's state, or under an older version
        frozen = state.seeds.curriculum.population.params
        write(folder, config, joined[i], jax.tree.map(lambda x, slot=i + 1: x[:, slot], frozen))
    if now in (0, schedule.total_updates, *joined) and (anew or not is_complete(folder, config, now)):
        units = [agent_file.units(state, i) for i in range(config.seeds)]
        write(folder, config, now, state.seeds.learner.params, units)


def is_complete(folder: RunFolder, config: RunConfig, updates: int) -> bool:
    """Whether each seed's student was kept."""
    seeds = range(config.seed, config.seed + config.seeds)
    return all(is_there(path(folder, updates, seed)) for seed in seeds)


def write(
    folder: RunFolder,
    config: RunConfig,
    updates: int,
    students: Any,
    units: Sequence[dict[str, float]] = (),
) -> None:
    """The students of all seeds, leaves [S, ...], each with its card; `units` of their rewards, if known."""
    folder.milestones.mkdir(exist_ok=True)
    students = jax.device_get(students)
    for i in range(config.seeds):
        seed, params = config.seed + i, jax.tree.map(lambda x, i=i: x[i], students)
        about = {"seed": seed, "updates": updates, **(units[i] if units else {})}
        agent_file.save(path(folder, updates, seed), config, params, about, half=True)
