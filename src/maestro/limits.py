"""What values settings may have, one by one and together."""

import difflib
import reprlib
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
OPPONENTS = ("first", "random", "turret", "wall-follower", "hunter")
LEVELS = (
    *("Cross", "FourRooms", "SixteenRooms", "Ruins", "Ruins2", "Star", "LargeCorridor", "Maze1", "Maze2"),
    *("Arena1", "Arena2", "Corridor1", "Corridor2", "Empty", "Corridor-Easy"),
)  # the names of `maestro.envs.lasertag.maps`
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
LENGTHS = {"agent.heads": 16, "evaluation.opponents": len(OPPONENTS)}
MAX_MEMBERS = 10_000


class SettingsError(ValueError):
    """Everything that is wrong with the settings, a line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


short = reprlib.Repr()
short.maxstring = short.maxother = short.maxlong = 80


def shown(value: Any) -> str:
    """A value as messages show it: on one line, and cut short."""
    try:
        return short.repr(value)
    except ValueError:  # Python refuses to write out vast integers
        return "a vast number"


def nearest(name: str, names: list[str]) -> str:
    """A hint at the name that was probably meant."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, 1, 0.5)
    return f"did you mean {by_lower[close[0]]}?" if close else f"allowed: {', '.join(names)}"


def problems_of(config: RunConfig) -> list[str]:
    """All that is wrong with the values, a line each."""
    problems = [line for path, value in leaves(config) for line in out_of_range(path, value)]
    if config.method not in METHODS:
        hint = nearest(config.method, list(METHODS))
        problems.append(f"method: {shown(config.method)} is unknown; {hint}")
    for name in config.evaluation.opponents:
        if name not in OPPONENTS:
            hint = nearest(name, list(OPPONENTS))
            problems.append(f"evaluation.opponents: {shown(name)} is unknown; {hint}")
    return problems + inconsistent(config)


def out_of_range(path: str, value: Any) -> list[str]:
    """A line for each number that is too small, too large, or none, and for a list that is too long."""
    if isinstance(value, tuple) and len(value) > LENGTHS[path]:
        return [f"{path}: {len(value):,} entries; allowed: at most {LENGTHS[path]}"]
    if path not in RANGES:
        return []
    low, high = RANGES[path]
    numbers = value if isinstance(value, tuple) else (value,)
    wrong = [x for x in numbers if not low <= x <= high]  # nan is in no range
    return [f"{path}: {shown(x)} is out of range; allowed: {low:,} to {high:,}" for x in wrong]


def inconsistent(config: RunConfig) -> list[str]:
    """Settings that do not go together."""
    game, ppo, teacher, schedule = config.game, config.ppo, config.curriculum, config.schedule
    self_play, new_levels = config.method.endswith("-sp"), config.method.startswith("dr-")
    sequences = ppo.workers * (2 if schedule.sp_train_both else 1)
    members = population_size(schedule) if schedule.interval >= 1 else 0
    found = [
        (game.min_size > game.max_size,
         f"game.min_size: {shown(game.min_size)} is above game.max_size, {shown(game.max_size)}"),
        (ppo.minibatches >= 1 and sequences % max(1, ppo.minibatches) != 0,
         f"ppo.minibatches: {shown(ppo.minibatches)} does not divide the {shown(sequences)} sequences "
         "of an update"),
        (teacher.prioritisation == "proportional" and teacher.score == "max_mc",
         "curriculum.prioritisation: proportional needs scores that are never negative; "
         "set curriculum.score to positive_value_loss"),
        (teacher.replay_rate == 0 and schedule.kind == "coin" and not new_levels,
         f"curriculum.replay_rate: 0 never trains; {shown(config.method)} learns from replayed levels only"),
        (teacher.coplayer_per == "worker" and self_play,
         f"curriculum.coplayer_per: worker makes no sense in self-play, {shown(config.method)}"),
        (schedule.sp_train_both and not self_play,
         f"schedule.sp_train_both: needs self-play (a method ending in -sp), not {shown(config.method)}"),
        (schedule.warmup >= schedule.total_updates and schedule.warmup > 0,
         f"schedule.warmup: {shown(schedule.warmup)} leaves no update of {shown(schedule.total_updates)} "
         "for others"),
        (members > MAX_MEMBERS,
         f"schedule.interval: {shown(schedule.interval)} would add {shown(members)} co-players; "
         f"at most {MAX_MEMBERS:,}"),
        (config.evaluation.levels % 2 != 0,
         f"evaluation.levels: {shown(config.evaluation.levels)} is odd; half are played from the other seat"),
    ]  # fmt: skip
    return [message for wrong, message in found if wrong]
