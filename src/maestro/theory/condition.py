"""Where the paper's Theorem 1 and Corollary 1 hold, and where they do not, by linear programming."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from maestro.theory import knowing, tabular
from maestro.theory.equilibrium import Equilibrium, gaps, guarantee, maestro, nash, supported
from maestro.theory.tabular import COUNTEREXAMPLE, Tabular

HOLDS, FAILS = "holds", "does not hold"


@dataclass(frozen=True)
class Counterexample:
    """One level with payoffs diag(1, 10): the minimax-regret student is not the Nash student."""

    student: Float[np.ndarray, " A"]
    coplayers: Float[np.ndarray, " B"]
    regret: float
    guarantee: float
    nash_student: Float[np.ndarray, " A"]
    nash_guarantee: float
    coplayer_gap: float  # what the co-players could gain against the student


def counterexample() -> Counterexample:
    """Both equilibria, solved."""
    game = tabular.game(COUNTEREXAMPLE)
    found, other = maestro(game), nash(game.payoff[0])
    told, coplayers = knowing.at(game, found)
    return Counterexample(
        student=found.student[0],
        coplayers=coplayers[0],
        regret=found.value,
        guarantee=guarantee(game.payoff[0], found.student[0]),
        nash_student=other.student[0],
        nash_guarantee=guarantee(game.payoff[0], other.student[0]),
        coplayer_gap=told.coplayer_gap(found.student, coplayers),
    )


@dataclass(frozen=True)
class Gaps:
    """Distances from equilibrium of MAESTRO's solutions, one for each random game."""

    condition: str
    view: str
    nash: Float[np.ndarray, " N"]  # seen: the largest gap of a supported level; hidden: that of the BNE
    student: Float[np.ndarray, " N"]  # the student's part of it in the (-i)-knowing game
    levels: int  # supported levels in all
    outside: Float[np.ndarray, " U"]  # what the student misses of the Nash guarantee on other levels it sees


def random_gaps(seed: int, count: int) -> list[Gaps]:
    """The gaps where every co-player is equally beatable on a level, and where not, seen and hidden."""
    payoffs = tabular.random_payoffs(seed, count)
    made = {HOLDS: tabular.equally_beatable(payoffs), FAILS: payoffs}
    return [measured(name, view, made[name]) for name in made for view in ("seen", "hidden")]


def measured(condition: str, view: str, payoffs: Float[np.ndarray, "N L A B"]) -> Gaps:
    """The gaps of games that were drawn."""
    nash_gaps, student_gaps, levels, outside = [], [], 0, []
    for payoff in payoffs:
        game = tabular.game(payoff, view)
        found = maestro(game)
        told, coplayer = knowing.at(game, found)
        mine, theirs = (gap(found.student, coplayer) for gap in (told.student_gap, told.coplayer_gap))
        nash_gaps.append(gaps(game, found).max() if view == "seen" else mine + theirs)
        student_gaps.append(mine)
        levels += len(supported(found.teacher))
        outside += missed(game, found) if view == "seen" else []
    return Gaps(condition, view, np.array(nash_gaps), np.array(student_gaps), levels, np.array(outside))


def missed(game: Tabular, found: Equilibrium) -> list[float]:
    """How far below the Nash guarantee the student may fall on each level outside the support."""
    others = np.setdiff1d(np.arange(game.levels), supported(found.teacher))
    return [
        nash(game.payoff[level]).value - guarantee(game.payoff[level], found.student[game.sees[level]])
        for level in others
    ]
