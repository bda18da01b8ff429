"""Exact equilibria of tabular games by linear programming."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from maestro.theory.tabular import Tabular, regret

SUPPORT = 1e-9  # a level is in the support if the teacher chooses it with more than this probability


@dataclass(frozen=True)
class Equilibrium:
    """A student who cannot do better, and the choice over (level, co-player) that holds it there."""

    value: float
    student: Float[np.ndarray, "L A"]  # a row for each observation; uniform where none is made
    teacher: Float[np.ndarray, "L B"]  # the joint distribution, which sums to 1


def maestro(game: Tabular) -> Equilibrium:
    """MAESTRO's equilibrium: the student of least worst regret over (level, co-player)."""
    return minimax(regret(game.payoff), game.sees)


def nash(payoff: Num[np.ndarray, "A B"]) -> Equilibrium:
    """The Nash equilibrium of one level; its value is what the student gets."""
    found = minimax(-payoff[None], np.zeros(1, int))
    return Equilibrium(-found.value, found.student, found.teacher)


def minimax(loss: Num[np.ndarray, "L A B"], sees: Int[np.ndarray, " L"]) -> Equilibrium:
    """Least worst loss over (level, co-player) of a student who sees only what it observes of a level.

    Variables are the policy, a row for each observation, and a bound v on all losses, which is minimized.
    The multipliers of the bounds are the adversary's distribution.
    """
    levels, actions, coplayers = loss.shape
    rows = np.zeros((levels, coplayers, levels, actions))
    rows[np.arange(levels), :, sees] = loss.transpose(0, 2, 1)
    bounds = np.hstack([rows.reshape(levels * coplayers, -1), -np.ones((levels * coplayers, 1))])
    sums = np.hstack([np.kron(np.eye(levels), np.ones(actions)), np.zeros((levels, 1))])
    solved = solve(np.append(np.zeros(levels * actions), 1.0), bounds, sums)
    student = normalized(solved.x[:-1].reshape(levels, actions))
    student[np.setdiff1d(np.arange(levels), sees)] = 1 / actions
    chosen = np.maximum(-solved.ineqlin.marginals, 0).reshape(levels, coplayers)
    return Equilibrium(float(solved.fun), student, chosen / chosen.sum())


def normalized(rows: np.ndarray) -> np.ndarray:
    """Rows as distributions, without what rounding left of them."""
    rows = np.maximum(rows, 0)
    return rows / rows.sum(axis=1, keepdims=True)


def solve(cost: np.ndarray, bounds: np.ndarray, sums: np.ndarray) -> Any:
    """Least cost where bounds x <= 0 and sums x = 1; all variables but the last are not negative."""
    from scipy.optimize import linprog  # slow to load

    signs = [(0, None)] * (len(cost) - 1) + [(None, None)]
    solved = linprog(cost, bounds, np.zeros(len(bounds)), sums, np.ones(len(sums)), signs, method="highs")
    if not solved.success:
        raise ArithmeticError(f"the linear program was not solved: {solved.message}")
    return solved


def worst_regret(game: Tabular, student: Float[np.ndarray, "L A"]) -> float:
    """The student's highest regret over (level, co-player)."""
    return float(np.einsum("la,lab->lb", student[game.sees], regret(game.payoff)).max())


def supported(teacher: Float[np.ndarray, "L B"]) -> Int[np.ndarray, " S"]:
    """The levels that a teacher chooses at all."""
    return np.flatnonzero(teacher.sum(axis=1) > SUPPORT)


def guarantee(payoff: Num[np.ndarray, "A B"], policy: Float[np.ndarray, " A"]) -> float:
    """What the student gets on a level whatever the co-player does."""
    return float((policy @ payoff).min())


def nash_gap(payoff: Num[np.ndarray, "A B"], policy: np.ndarray, coplayer: np.ndarray) -> float:
    """How much both could gain together by changing alone; 0 in a Nash equilibrium and only there."""
    return float((payoff @ coplayer).max()) - guarantee(payoff, policy)


def gaps(game: Tabular, found: Equilibrium) -> Float[np.ndarray, " S"]:
    """The gap on each supported level between student and co-players as the teacher mixes them there."""
    mixed = found.teacher / np.maximum(found.teacher.sum(axis=1, keepdims=True), SUPPORT)
    levels = supported(found.teacher)
    return np.array(
        [nash_gap(game.payoff[level], found.student[game.sees[level]], mixed[level]) for level in levels]
    )
