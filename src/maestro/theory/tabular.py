"""Two-player zero-sum games of one move on several levels, the smallest UPOSGs (paper, section 2.1)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, Int, Num

# Regret of the student in the paper's Table 1: rows pi_A, pi_B, pi_C, columns theta_1 to theta_4.
TABLE_1 = np.array([[0.6, 0.1, 0.4, 0.2], [0.1, 0.5, 0.4, 0.3], [0.2, 0.4, 0.4, 0.4]])
COUNTEREXAMPLE = np.diag([1.0, 10.0])[None]  # one level on which the paper's Theorem 1 fails


class Tabular(PyTreeNode):
    """The student gains what its co-player loses; its policy is a row of actions for each observation."""

    payoff: Any  # [L, A, B]: level, the student's action, the co-player's; of NumPy or of JAX
    sees: Any  # int [L]; what the student observes on a level, below L

    @property
    def levels(self) -> int:
        """L, which bounds the number of observations too."""
        return int(self.payoff.shape[-3])


Seeing = Callable[[int], np.ndarray]
VIEWS: dict[str, Seeing] = {  # how much of the level the student sees
    "seen": lambda levels: np.arange(levels),
    "half seen": lambda levels: np.arange(levels) // 2,
    "hidden": lambda levels: np.zeros(levels, int),
}


def game(payoff: np.ndarray, view: str = "seen") -> Tabular:
    """A game of given payoffs, [L, A, B], whose student sees the level, its half, or nothing of it."""
    return Tabular(np.asarray(payoff, float), VIEWS[view](len(payoff)))


def stacked(games: Sequence[Tabular]) -> Tabular:
    """Games of one shape side by side."""
    return Tabular(np.stack([game.payoff for game in games]), np.stack([game.sees for game in games]))


def random_payoffs(seed: int, count: int, levels: int = 4, actions: int = 3) -> Float[np.ndarray, "G L A A"]:
    """Payoffs drawn uniformly from [0, 1]."""
    return np.random.default_rng(seed).uniform(size=(count, levels, actions, actions))


def tournaments(seed: int, count: int, levels: int = 4, actions: int = 3) -> Float[np.ndarray, "G L A A"]:
    """Win (1) or lose (-1), nothing against oneself; on every level every action is beaten by another."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    while len(found) < count * levels:
        above = np.triu(rng.choice([-1.0, 1.0], (actions, actions)), 1)
        if np.all((above - above.T).max(axis=0) == 1):
            found.append(above - above.T)
    return np.reshape(found, (count, levels, actions, actions))


def equally_beatable(payoff: Float[np.ndarray, "*g A B"]) -> Float[np.ndarray, "*g A B"]:
    """The game with the same regrets in which the best that can be got is 1 against every co-player."""
    return 1 - regret(payoff)


def regret(payoff: Float[np.ndarray, "*g A B"]) -> Float[np.ndarray, "*g A B"]:
    """What the student loses to the best response against the same co-player on the same level."""
    return payoff.max(axis=-2, keepdims=True) - payoff


def with_regrets(table: Float[np.ndarray, "B L"]) -> Float[np.ndarray, "L A B"]:
    """Payoffs of a student of two actions who has these regrets while it plays them alike."""
    return np.stack([np.zeros_like(table.T), 2 * table.T], axis=1)


def regrets(payoff: Num[Array, "L A B"], sees: Int[Array, " L"], student: Array) -> Float[Array, "L B"]:
    """The student's regret on each level against each action of the co-player."""
    shortfall = payoff.max(axis=1, keepdims=True) - payoff
    return jnp.einsum("la,lab->lb", student[sees], shortfall)
