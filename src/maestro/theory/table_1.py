"""The paper's Table 1 as a run of the package's teacher: what it picks jointly, and what apart."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from maestro import level_buffer, methods
from maestro.curriculum import Curriculum
from maestro.level_buffer import Played
from maestro.theory import practice
from maestro.theory.tabular import TABLE_1, game, stacked, with_regrets

CONFIG = replace(practice.CONFIG, member_buffer_size=TABLE_1.shape[1])
STEPS = 2000
INSERT = jax.jit(level_buffer.insert, static_argnums=0)
CHANCES = jax.jit(methods.highest_regret, static_argnums=0)
COPLAYERS, LEVELS = "ABC", (1, 2, 3, 4)


@dataclass(frozen=True)
class Pick:
    """A co-player, a level, and the student's regret there."""

    coplayer: str
    level: int
    regret: float


@dataclass(frozen=True)
class Table1:
    """What the teacher picks, and how often it served each pair on the way."""

    joint: Pick
    independent: Pick
    served: Float[np.ndarray, "3 4"]  # shares, rows and columns as in the table


def run(seed: int = 0, steps: int = STEPS) -> Table1:
    """Let the teacher choose among the pairs of Table 1, against a student who does not learn."""
    plan = practice.Plan(steps, learns=False, config=CONFIG)
    games = stacked([game(with_regrets(TABLE_1))])
    outcome = practice.run(jax.random.key(seed), plan, games, jnp.zeros(1, jnp.int32))
    level, slot, trained = (np.asarray(x[0]) for x in (outcome.level, outcome.coplayer, outcome.trained))
    count = np.zeros(TABLE_1.shape)
    np.add.at(count, (slot[trained] - 1, level[trained]), 1)
    known = jax.tree.map(lambda x: x[0], outcome.curriculum)
    return Table1(joint(known), independent(known), count / count.sum())


def joint(known: Curriculum) -> Pick:
    """Equation 2 over the buffers, then the level of the first rank in the buffer of that co-player."""
    assert known.buffers is not None
    slot = int(jnp.argmax(CHANCES(CONFIG, known)))
    buffer = jax.tree.map(lambda x: x[slot], known.buffers)
    top = int(jnp.argmax(level_buffer.score_probabilities(CONFIG, buffer)))
    return Pick(COPLAYERS[slot - 1], LEVELS[int(buffer.levels[top])], float(buffer.score[top]))


def independent(known: Curriculum) -> Pick:
    """Each of the two by itself, over what the same buffers hold.

    One buffer for all co-players pools the scores of a level, and gives the level. Equation 2 over
    buffers that know only the mean of their scores gives the co-player.
    """
    buffers = known.buffers
    assert buffers is not None
    levels, scores = buffers.levels[1:].ravel(), buffers.score[1:].ravel()
    once = jnp.ones(scores.size, jnp.int32)
    shared = level_buffer.empty(jax.ShapeDtypeStruct((), jnp.int32), len(LEVELS))
    shared = INSERT(CONFIG, shared, levels, Played(scores, once, scores, once > 0))
    level = int(shared.levels[jnp.argmax(level_buffer.score_probabilities(CONFIG, shared))])
    means = buffers.replace(score=buffers.score.mean(axis=1, keepdims=True))
    slot = int(jnp.argmax(CHANCES(CONFIG, known.replace(buffers=means))))
    found = int(jnp.argmax(buffers.levels[slot] == level))
    return Pick(COPLAYERS[slot - 1], LEVELS[level], float(buffers.score[slot, found]))
