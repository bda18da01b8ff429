"""Runs that get nowhere: cycle after cycle without an update, as there is too little to replay from."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from maestro import level_buffer
from maestro.config import RunConfig
from maestro.curriculum import Source, Teacher
from maestro.runs.metrics_log import Row

A_WORD, THE_END = 50, 500  # cycles in a row


@dataclass(frozen=True)
class Trouble:
    """Why there are no updates, for how many cycles in a row, and for how many that may well be chance."""

    cycles: int
    reason: str
    cure: str
    patience: float = 1.0  # times the usual numbers of cycles

    @property
    def so_far(self) -> float:
        """The cycles, by the measure of those in which nothing is left to chance."""
        return self.cycles / self.patience

    def __str__(self) -> str:
        return f"{self.cycles} cycles in a row without an update: {self.reason}"


def found(config: RunConfig, teacher: Teacher, rows: list[Row]) -> Trouble:
    """What lasts longest, of episodes that do not end and of buffers that do not grow."""
    troubles = endless(config, rows), short_of_levels(config, teacher, rows)
    return max(troubles, key=lambda trouble: trouble.so_far)


def endless(config: RunConfig, rows: list[Row]) -> Trouble:
    """No episode ends, hence no level is stored."""
    steps = f"T = {config.ppo.rollout_length} steps of a rollout (ppo.rollout_length)"
    whose = "" if config.seeds == 1 else " of some seed"
    cure = "levels are stored, and replayed to learn from, only when episodes end"
    return Trouble(without_an_end(rows), f"no episode{whose} ended within the {steps}", cure)


def short_of_levels(config: RunConfig, teacher: Teacher, rows: list[Row]) -> Trouble:
    """No buffer grows any more, and there is too little in them; with a coin it may be that alone."""
    shared = teacher.method.levels is Source.SHARED
    name = "buffer_size" if shared else "member_buffer_size"
    slots = config.curriculum.buffer_size if shared else config.curriculum.member_buffer_size
    need = level_buffer.needed(config.curriculum, slots, teacher.num_levels)
    reason = (
        f"no further level was stored, and a buffer is replayed from once it holds {int(np.ceil(need))} "
        f"(curriculum.{name} {slots}, curriculum.min_fill {config.curriculum.min_fill:g})"
    )
    cure = (
        "fewer levels exist, or end within a rollout; lower curriculum.min_fill, or let the game say "
        "how many there are (num_levels)"
    )
    patience = 1 / max(config.curriculum.replay_rate, 1e-9) if config.schedule.kind == "coin" else 1.0
    return Trouble(without_growth(rows), reason, cure, patience)


def without_an_end(rows: list[Row]) -> int:
    """The latest cycles in a row without an update in which one and the same seed finished no episode."""
    waiting = np.bool_(True)
    for cycles, row in enumerate(reversed(rows)):
        waiting = waiting & (row["episodes"] == 0) & ~row["trained"]
        if not waiting.any():
            return cycles
    return len(rows)


def without_growth(rows: list[Row]) -> int:
    """The latest cycles in a row without an update in which no buffer of any seed came to hold more."""
    cycles = 0
    for now, before in pairwise(reversed(rows)):
        known = "buffer_fill" in before and "buffer_fill" in now
        if now["trained"].any() or not known or (now["buffer_fill"] != before["buffer_fill"]).any():
            break
        cycles += 1
    return cycles
