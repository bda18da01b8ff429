"""The regret landscapes of a run's seeds, and what they say in the mean."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro.config import RunConfig
from maestro.evaluation import landscape
from maestro.evaluation.landscape import Landscape
from maestro.evaluation.opponents import seed_keys
from maestro.evaluation.resampling import student_interval
from maestro.evaluation.round_robin import mean_error
from maestro.games import Game
from maestro.runs.crowd import Crowd
from maestro.runs.entrants import label_of
from maestro.train import Experiment


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    levels: int = landscape.LEVELS
    rollouts: int = landscape.ROLLOUTS


@dataclass(frozen=True)
class Survey:
    """The landscapes of some seeds of a run."""

    about: dict[str, Any] = field(hash=False)  # how they were measured; see `about`
    seeds: dict[int, Landscape] = field(hash=False)


def about(name: str, game: Game, config: RunConfig, size: Size, dice: int) -> dict[str, Any]:
    """Of whom landscapes are, and how they were measured."""
    label = label_of({"method": config.method, "level": config.level})
    made = {"run": name, "game": game.name, "method": label, "score": config.curriculum.score}
    return {**made, "dice": dice, "rollouts": size.rollouts, "steps": config.ppo.rollout_length}


def measure(
    game: Game, experiment: Experiment, size: Size, dice: int, crowds: Iterable[Crowd]
) -> dict[int, Landscape]:
    """The landscape of each seed, on levels and with dice of its own."""

    def survey(key: Any, student: Any, members: Any, scale: Any) -> Any:
        return landscape.survey(key, experiment, student, members, size.levels, size.rollouts, scale)

    program, found = jax.jit(survey), {}
    for crowd in crowds:
        key = seed_keys(jax.random.key(dice), crowd.seed, 1)[0]
        members = jax.tree.map(lambda *x: jnp.stack(x), *crowd.members.values())
        scale = None if crowd.reward_scale is None else jnp.float32(crowd.reward_scale)
        levels, cells = jax.device_get(program(key, crowd.student, members, scale))
        texts = [text_of(game, levels, i, f"{crowd.seed}-{i + 1}") for i in range(size.levels)]
        numbers = cells.scores, cells.halves, cells.episodes
        found[crowd.seed] = Landscape(f"update {crowd.updates}", tuple(crowd.members), tuple(texts), *numbers)
    return found


def text_of(game: Game, levels: Any, number: int, name: str) -> str:
    """One of several levels as its text."""
    return game.levels.to_text(jax.tree.map(lambda x: x[number], levels), name)


def regrets(seed: Landscape) -> dict[str, float]:
    """Independent and joint regret and their gap, as they are and split-half; NaN if unknown."""
    return {name: float(value) for name, value in landscape.numbers(seed).items()}


def averages(seeds: Iterable[Landscape]) -> dict[str, dict[str, Any]]:
    """Means over seeds of each number, with Student's 95 % interval; unknown numbers count for nobody."""
    each = [regrets(seed) for seed in seeds]
    values = np.array([[seed[name] for seed in each] for name in each[0]])
    (means, _, counts), (lows, highs) = mean_error(values), student_interval(values)
    found = {}
    for name, mean, low, high, count in zip(each[0], means, lows, highs, counts, strict=True):
        found[name] = {"mean": float(mean), "low_95": float(low), "high_95": float(high), "seeds": int(count)}
    return found


def places(seed: Landscape) -> dict[str, tuple[int, int]]:
    """(member, level) of the two cells that are marked."""
    at = jax.device_get(landscape.marks(seed.scores))
    return {name: (int(cell[0]), int(cell[1])) for name, cell in vars(at).items()}
