"""The student of a tabular game: Hedge, multiplicative weights with a falling step size, and its average."""

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int

from maestro.trees import Leaf


class Learner(PyTreeNode):
    """What Hedge remembers; all observations learn on their own."""

    loss: Leaf  # [O, A]; the sum of the losses of each action
    count: Leaf  # int [O]; how many losses it was told
    average: Leaf  # [O, A]; the mean of its policies over all steps
    steps: Leaf


def init(observations: int, actions: int) -> Learner:
    """Nothing learned: the uniform policy."""
    return Learner(
        loss=jnp.zeros((observations, actions)),
        count=jnp.zeros(observations, jnp.int32),
        average=jnp.full((observations, actions), 1 / actions),
        steps=jnp.int32(0),
    )


def policy(learner: Learner) -> Float[Array, "O A"]:
    """Hedge: probabilities proportional to exp(-rate loss), rate = sqrt(8 ln A / n) after n losses.

    For losses in [0, 1] the n policies lose at most 2 sqrt(n ln A / 2) + sqrt(ln A / 8) more than the
    best action would have (Cesa-Bianchi and Lugosi, 2006, theorem 2.3), whatever the losses are.
    """
    actions = learner.loss.shape[1]
    rate = jnp.sqrt(8 * jnp.log(float(actions)) / (learner.count + 1))
    return jax.nn.softmax(-rate[:, None] * learner.loss, axis=1)


def update(
    learner: Learner,
    observed: Int[Array, ""],
    loss: Float[Array, " A"],
    learns: Bool[Array, ""] | bool = True,
) -> Learner:
    """One step: the average takes up the policy that was played, then the losses are learned from."""
    learns = jnp.asarray(learns, jnp.int32)
    steps = learner.steps + learns
    share = learns / jnp.maximum(steps, 1)
    return Learner(
        loss=learner.loss.at[observed].add(learns * loss),
        count=learner.count.at[observed].add(learns),
        average=learner.average + share * (policy(learner) - learner.average),
        steps=steps,
    )
