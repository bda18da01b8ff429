"""The (-i)-knowing game (paper, Definition 1): the co-player is told the level, the student is not."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from maestro.theory.equilibrium import SUPPORT, Equilibrium, solve
from maestro.theory.tabular import Tabular


@dataclass(frozen=True)
class Knowing:
    """A level is drawn at first; the student acts on what it observes of it, the co-player on all of it."""

    game: Tabular
    prior: Float[np.ndarray, " L"]  # the distribution of levels

    def utility(self, student: Float[np.ndarray, "L A"], coplayer: Float[np.ndarray, "L B"]) -> float:
        """U^K: what the student gets if the co-player plays row l of its policy on level l."""
        on_level = np.einsum("la,lab,lb->l", student[self.game.sees], self.game.payoff, coplayer)
        return float(self.prior @ on_level)

    def student_gap(self, student: Float[np.ndarray, "L A"], coplayer: Float[np.ndarray, "L B"]) -> float:
        """What the student could gain by another policy: one action for all levels that look the same."""
        gain = np.einsum("l,lab,lb->la", self.prior, self.game.payoff, coplayer)
        by_observation = np.zeros_like(gain)
        np.add.at(by_observation, self.game.sees, gain)
        return float(by_observation.max(axis=1).sum()) - self.utility(student, coplayer)

    def coplayer_gap(self, student: Float[np.ndarray, "L A"], coplayer: Float[np.ndarray, "L B"]) -> float:
        """What the co-player could gain by another policy: the best action for each level."""
        left = np.einsum("la,lab->lb", student[self.game.sees], self.game.payoff).min(axis=1)
        return self.utility(student, coplayer) - float(self.prior @ left)

    def value(self) -> float:
        """What the student gets in every Bayesian Nash equilibrium, by linear programming.

        Variables are the policy and what is guaranteed on each level, the sum of which is maximized.
        """
        levels, actions, coplayers = self.game.payoff.shape
        rows = np.zeros((levels, coplayers, levels, actions))
        rows[np.arange(levels), :, self.game.sees] = -self.game.payoff.transpose(0, 2, 1)
        promised = np.repeat(np.eye(levels), coplayers, axis=0)
        shift = np.ones((levels * coplayers, 1))  # the last variable may be negative: all promises less it
        bounds = np.hstack([rows.reshape(levels * coplayers, -1), promised, -shift])
        sums = np.hstack([np.kron(np.eye(levels), np.ones(actions)), np.zeros((levels, levels + 1))])
        solved = solve(np.concatenate([np.zeros(levels * actions), -self.prior, [1.0]]), bounds, sums)
        return -float(solved.fun)


def at(game: Tabular, found: Equilibrium) -> tuple[Knowing, Float[np.ndarray, "L B"]]:
    """The game over the levels that a teacher chooses, and its co-players as one who knows the level.

    On levels outside the support the co-player best-responds, as in the proof of Theorem 1.
    """
    prior = found.teacher.sum(axis=1)
    against = np.einsum("la,lab->lb", found.student[game.sees], game.payoff)
    best = np.eye(game.payoff.shape[2])[against.argmin(axis=1)]
    mixed = found.teacher / np.maximum(prior, SUPPORT)[:, None]
    return Knowing(game, prior), np.where((prior > SUPPORT)[:, None], mixed, best)
