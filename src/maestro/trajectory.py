"""What happened in a rollout: as its steps recorded it, and as those read it who learn from it."""

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array

from maestro import next_values
from maestro.agents.base import Agent, Params
from maestro.envs.base import Level, Obs
from maestro.trees import Leaf, Tree

STEP_FIELDS = (
    "obs",
    "action",
    "log_prob",
    "value",
    "next_value",
    "reward",
    "score",
    "terminated",
    "truncated",
    "finished",
)
LARGE = 4096  # bytes of an observation from which on the next one is looked at at once, not remembered


class Trajectory(PyTreeNode):
    """T steps of E environments as the student saw them; every environment starts a fresh episode at 0."""

    obs: Tree  # [T, E, ...]
    action: Tree  # [T, E, ...]
    log_prob: Leaf  # [T, E]
    value: Leaf  # [T, E]
    next_value: Leaf  # [T, E]; of the observation that followed, also beyond a time limit and the last step
    reward: Leaf  # [T, E]
    score: Leaf  # [T, E, 2]; the student's and the co-player's unshaped reward
    terminated: Leaf  # bool [T, E]
    truncated: Leaf  # bool [T, E]
    finished: Leaf  # int [T, E]; episodes finished before this step
    first_level: Tree  # a tree, each leaf [E, ...]; the level of each environment's first episode

    @property
    def done(self) -> Array:
        """[T, E]: the episode ended with this step."""
        return self.terminated | self.truncated

    @property
    def num_envs(self) -> int:
        """E, without the columns of the other seat."""
        return jax.tree.leaves(self.first_level)[0].shape[0]

    def columns(self, chosen: Array | slice) -> "Trajectory":
        """Some environments only."""
        steps = {name: getattr(self, name) for name in STEP_FIELDS}
        return self.replace(**jax.tree.map(lambda x: x[:, chosen], steps))

    @property
    def keep(self) -> Array:
        """[T, E]: 0 where an episode starts."""
        started = jnp.concatenate([jnp.ones_like(self.done[:1]), self.done[:-1]])
        return 1.0 - started.astype(jnp.float32)


class Recorded(PyTreeNode):
    """One step as it was taken; the seats that are recorded come first."""

    obs: Tree  # [E, seats, ...]
    action: Tree  # [E, seats, ...]
    output: Tree  # [E, seats, ...]; the policy's
    following: Tree  # [E, seats, ...]; the next observation before any restart; its features if large
    reward: Leaf  # [E, seats]
    score: Leaf  # [E, 2]
    ended: Leaf  # uint8 [E]; 1: terminated, 2: truncated, 3: both, else 0


def is_large(obs: Obs) -> bool:
    """Whether one observation of [seats or T, E, ...] is too large to be remembered twice."""
    leaves = jax.tree.leaves(obs)
    count = leaves[0].shape[0] * leaves[0].shape[1]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves) > LARGE * count


class Remembered(PyTreeNode):
    """The memories after each observation."""

    steps: Tree  # leaves [T, seats, E, ...]
    last: Tree  # leaves [seats, E, ...]; of the last step once more


def assemble(
    agent: Agent,
    student: Params,
    recorded: Recorded,
    remembered: Remembered,
    first_level: Level,
    cuts: int | None = None,
) -> Trajectory:
    """The recorded steps as a trajectory; the seats become columns, the values come from the memories.

    `cuts` is how often an environment reaches a time limit at most, if that is known.
    """
    seats = recorded.action.shape[2]

    def columns(tree: Tree) -> Tree:
        return jax.tree.map(lambda x: x.reshape(x.shape[0], -1, *x.shape[3:]), tree)

    memory = columns(remembered.steps)
    by_seat = jax.tree.map(
        lambda x: jnp.moveaxis(x, 2, 1),
        (recorded.obs, recorded.action, recorded.output, recorded.following, recorded.reward),
    )
    obs, action, output, following, reward = columns(by_seat)
    terminated, truncated = (jnp.tile(recorded.ended & bit > 0, (1, seats)) for bit in (1, 2))
    done = (recorded.ended > 0).astype(jnp.int32)
    finished = jnp.cumsum(done, axis=0) - done
    value = agent.value(student, agent.features(memory))
    if is_large(obs):
        next_value = agent.value(student, following)
    else:
        last = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), remembered.last)
        seen = next_values.Seen(memory, last, following)
        next_value = next_values.found(agent, student, seen, value, truncated & ~terminated, cuts)
    return Trajectory(
        obs=obs,
        action=action,
        log_prob=agent.distribution.log_prob(output, action),
        value=value,
        next_value=next_value,
        reward=reward,
        score=jnp.tile(recorded.score, (1, seats, 1)),
        terminated=terminated,
        truncated=truncated,
        finished=jnp.tile(finished, (1, seats)),
        first_level=first_level,
    )
