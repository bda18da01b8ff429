"""Who joins the population: frozen copies of the student, or players who exploit it."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from maestro.theory import learner
from maestro.theory.learner import Learner
from maestro.theory.tabular import Tabular, regrets


def copy(game: Tabular, student: Learner) -> Float[Array, "L B"]:
    """The student as it is now, mixed as it is."""
    return learner.policy(student)[game.sees]


def exploiter(game: Tabular, student: Learner) -> Float[Array, "L B"]:
    """On each level the action that the average student regrets most: it knows the level."""
    most = jnp.argmax(regrets(game.payoff, game.sees, student.average), axis=1)
    return jax.nn.one_hot(most, game.payoff.shape[2])
