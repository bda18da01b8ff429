"""What values settings may have, one by one and together."""

import difflib
import math
from typing import Any

from maestro.config import RunConfig, leaves, population_size

METHODS = (
    "dr-sp",
    "dr-fsp",
    "dr-pfsp",
    "plr-sp",
    "plr-fsp",
    "plr-pfsp",
    "maestro",
    "maestro-r",
    "maestro-p",
)  # the names of `maestro.methods`, which cannot be imported without loading jax
BIG = 1_000_000_000

RANGES: dict[str, tuple[float, float]] = {
    "seeds": (1, 10_000),
    "seed": (0, 2**31 - 1 - 10_000),
    "game.min_size": (2, 15),
    "game.max_size": (2, 15),
    "agent.filters": (1, 4096),
    "agent.hidden": (1, 65_536),
    "agent.heads": (1, 65_536),
    "ppo.gamma": (0, 1),
    "ppo.gae_lambda": (0, 1),
    "ppo.rollout_length": (1, 1_000_000),
    "ppo.workers": (1, 10_000_000),
    "ppo.epochs": (1, 1000),
    "ppo.minibatches": (1, 100_000),
    "ppo.clip": (0, 10),
    "ppo.learning_rate": (0, 10),
    "ppo.adam_eps": (0, 1),
    "ppo.max_grad_norm": (0, BIG),
    "ppo.value_coef": (0, BIG),
    "ppo.entropy_coef": (0, BIG),
    "curriculum.replay_rate": (0, 1),
    "curriculum.buffer_size": (1, 10_000_000),
    "curriculum.member_buffer_size": (1, 10_000_000),
    "curriculum.temperature": (1e-3, 1e6),
    "curriculum.staleness": (0, 1),
    "curriculum.min_fill": (0, 1),
    "curriculum.playlist": (1, 10_000),
    "curriculum.exploration": (0, 1),
    "curriculum.hard_power": (0, 100),
    "curriculum.smoothing": (0, BIG),
    "schedule.total_updates": (1, BIG),
    "schedule.interval": (1, BIG),
    "schedule.warmup": (0, BIG),
    "evaluation.times": (0, 100_000),
    "evaluation.levels": (2, 1_000_000),
}
OPPONENTS = ("first", "random", "turret", "wall-follower", "hunter")
MAX_MEMBERS = 10_000


def nearest(name: str, names: list[str]) -> str:
    """A hint at the name that was probably meant."""
    close = difflib.get_close_matches(name, names, 1, 0.5)
    return f"did you mean {close[0]}?" if close else f"allowed: {', '.join(names)}"


def problems_of(config: RunConfig) -> list[str]:
    """All that is wrong with the values, a line each."""
    values = dict(leaves(config))
    problems = [line for path, value in values.items() for line in out_of_range(path, value)]
    if config.method not in METHODS:
        problems.append(f"method: {config.method!r} is unknown; {nearest(config.method, list(METHODS))}")
    for name in config.evaluation.opponents:
        if name not in OPPONENTS:
            problems.append(f"evaluation.opponents: {name!r} is unknown; {nearest(name, list(OPPONENTS))}")
    if config.ppo.minibatches >= 1 and config.schedule.interval >= 1:
        problems += inconsistent(config)
    return problems


def out_of_range(path: str, value: Any) -> list[str]:
    """A line for each number that is too small, too large, or none."""
    if path not in RANGES:
        return []
    low, high = RANGES[path]
    numbers = value if isinstance(value, tuple) else (value,)
    wrong = [x for x in numbers if isinstance(x, int | float) and not (math.isfinite(x) and low <= x <= high)]
    return [f"{path}: {x!r} is out of range; allowed: {low:,} to {high:,}" for x in wrong]


def inconsistent(config: RunConfig) -> list[str]:
    """Settings that do not go together."""
    game, ppo, teacher, schedule = config.game, config.ppo, config.curriculum, config.schedule
    self_play = config.method.endswith("-sp")
    sequences = ppo.workers * (2 if schedule.sp_train_both else 1)
    found = [
        (game.min_size > game.max_size,
         f"game.min_size: {game.min_size} is above game.max_size, {game.max_size}"),
        (sequences % ppo.minibatches != 0,
         f"ppo.minibatches: {ppo.minibatches} does not divide the {sequences} sequences of an update"),
        (teacher.prioritisation == "proportional" and teacher.score == "max_mc",
         "curriculum.prioritisation: proportional needs scores that are never negative; "
         "set curriculum.score to positive_value_loss"),
        (schedule.sp_train_both and not self_play,
         f"schedule.sp_train_both: needs self-play (a method ending in -sp), not {config.method}"),
        (schedule.warmup >= schedule.total_updates and schedule.warmup > 0,
         f"schedule.warmup: {schedule.warmup} leaves no update of {schedule.total_updates} for others"),
        (population_size(schedule) > MAX_MEMBERS,
         f"schedule.interval: {schedule.interval} would add {population_size(schedule):,} co-players; "
         f"at most {MAX_MEMBERS:,}"),
        (teacher.coplayer_per == "worker" and self_play,
         f"curriculum.coplayer_per: worker makes no sense in self-play, {config.method}"),
        (config.evaluation.levels % 2 != 0,
         f"evaluation.levels: {config.evaluation.levels} is odd; half are played from the other seat"),
    ]  # fmt: skip
    return [message for wrong, message in found if wrong]
