"""The teacher: which co-player, which levels, and what to remember of how it went (paper, section 3.2).

`ask` for a task, `tell` what came of it, and let the student `join` or the population `follow` it.
"""

from maestro.curriculum.coplayers import buffer_index, choose, choose_to_try, choose_warm, live, warm, weights
from maestro.curriculum.levels import ask
from maestro.curriculum.results import best_returns, recall, tell
from maestro.curriculum.state import Counts, Curriculum, Parents, Task, follow, join
from maestro.curriculum.teacher import Method, Rule, Source, Teacher, init

__all__ = [
    "Counts",
    "Curriculum",
    "Method",
    "Parents",
    "Rule",
    "Source",
    "Task",
    "Teacher",
    "ask",
    "best_returns",
    "buffer_index",
    "choose",
    "choose_to_try",
    "choose_warm",
    "follow",
    "init",
    "join",
    "live",
    "recall",
    "tell",
    "warm",
    "weights",
]
