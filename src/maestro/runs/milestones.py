"""Students along training, in half precision: before it, whenever someone joined the population, at the end.

The members of the population are these students, but the last, and the exploiters that are kept beside them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import jax

from maestro.cohort import Cohort
from maestro.config import RunConfig, exploiter_budget
from maestro.evaluation.opponents import Trained
from maestro.exploiters import Newcomer, newcomers
from maestro.games import Game
from maestro.runs import agent_file
from maestro.runs.agent_file import ENDING, AgentError
from maestro.runs.folder import RunFolder

CARD = re.compile(r"(\d{9,})-student-(\d+)\.json")  # updates and seed


def path(folder: RunFolder, updates: int, seed: int, exploiter: bool = False) -> Path:
    """The file of a seed's student after so many updates, or of its exploiter."""
    who = "exploiter" if exploiter else "student"
    return folder.milestones / f"{updates:09d}-{who}-{seed}{ENDING}"


def is_there(file: Path) -> bool:
    """Whether a student was kept: the card is written last."""
    return file.is_file() and file.with_suffix(".json").is_file()


def points(folder: RunFolder) -> list[int]:
    """After how many updates the students of all seeds were kept, in order."""
    cards = folder.milestones.iterdir() if folder.milestones.is_dir() else []
    named = [match for card in cards if (match := CARD.fullmatch(card.name))]
    count = Counter(int(m[1]) for m in named if is_there(path(folder, int(m[1]), int(m[2]))))
    return sorted(updates for updates in count if count[updates] == max(count.values()))


def load(folder: RunFolder, game: Game, updates: int, seed: int, exploiter: bool = False) -> Trained:
    """A student as it was after so many updates, or the exploiter of it, as a player."""
    file = path(folder, updates, seed, exploiter)
    if exploiter and not is_there(file):
        raise AgentError(f"{folder.path}: no exploiter of seed {seed} was kept of update {updates}")
    if not is_there(file):
        known = ", ".join(map(str, points(folder))) or "none"
        told = f"no student of seed {seed} was kept at update {updates}; updates with students: {known}"
        raise AgentError(f"{folder.path}: {told}")
    return agent_file.load(file, game)


def keep(folder: RunFolder, config: RunConfig, state: Cohort, anew: bool) -> None:
    """Write the students of now if they are due, `anew` or if missing; and those members that are missing."""
    keep_members(folder, config, state)
    schedule, now = config.schedule, int(state.updates)
    due = now >= schedule.warmup and (now - schedule.warmup) % schedule.interval == 0
    if not due and now not in (0, schedule.total_updates):
        return
    if anew or not is_complete(folder, config, Newcomer(now)):
        units = [agent_file.units(state, i) for i in range(config.seeds)]
        write(folder, config, Newcomer(now), state.seeds.learner.params, units)
    if anew:
        forget(folder, config, now)


def keep_members(folder: RunFolder, config: RunConfig, state: Cohort) -> None:
    """Write those members that are missing: exploiters that have joined since the last time, and copies.

    A copy is missing if the run began with another's state, or under an older version.
    """
    now, everyone = int(state.updates), state.seeds.curriculum.population
    members = islice(newcomers(config.schedule), int(jax.device_get(everyone.size)[0]))
    for slot, who in enumerate(members, 1):
        if (who.updates < now or who.exploiter) and not is_complete(folder, config, who):
            write(folder, config, who, jax.tree.map(lambda x, slot=slot: x[:, slot], everyone.params))


def forget(folder: RunFolder, config: RunConfig, updates: int) -> None:
    """Remove what a lost session has kept of exploiters that are yet to be trained."""
    for seed in range(config.seed, config.seed + config.seeds):
        file = path(folder, updates, seed, exploiter=True)
        file.with_suffix(".json").unlink(missing_ok=True)
        file.unlink(missing_ok=True)


def is_complete(folder: RunFolder, config: RunConfig, who: Newcomer) -> bool:
    """Whether this one was kept of each seed."""
    seeds = range(config.seed, config.seed + config.seeds)
    return all(is_there(path(folder, who.updates, seed, who.exploiter)) for seed in seeds)


def write(
    folder: RunFolder,
    config: RunConfig,
    who: Newcomer,
    students: Any,
    units: Sequence[dict[str, float]] = (),
) -> None:
    """The one of each seed, leaves [S, ...], each with its card; `units` of their rewards, if known."""
    folder.milestones.mkdir(exist_ok=True)
    students = jax.device_get(students)
    trained = {"exploiter_updates": exploiter_budget(config.schedule)} if who.exploiter else {}
    for i in range(config.seeds):
        seed, params = config.seed + i, jax.tree.map(lambda x, i=i: x[i], students)
        about = {"seed": seed, "updates": who.updates, **trained, **(units[i] if units else {})}
        agent_file.save(path(folder, who.updates, seed, who.exploiter), config, params, about, half=True)
