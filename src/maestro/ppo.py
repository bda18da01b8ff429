"""Trajectory -> a better student: proximal policy optimization with whole sequences as minibatches."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.struct import PyTreeNode
from jaxtyping import Array, Float, PRNGKeyArray

from maestro import mesh
from maestro.agents.base import Agent, Params
from maestro.config import PPOConfig
from maestro.trajectory import Trajectory
from maestro.trees import Leaf, Tree


class Learner(PyTreeNode):
    """The student and its optimizer."""

    params: Tree  # a tree of arrays
    optimizer: Tree  # Adam's state
    skipped: Leaf  # updates that were not finite and left no trace
    skipped_in_a_row: Leaf  # of these, the ones since the last good update


class Losses(PyTreeNode):
    """Means over one update's minibatches."""

    total: Leaf
    policy: Leaf
    value: Leaf
    entropy: Leaf
    clipped: Leaf  # share of steps whose probability ratio was clipped
    grad_norm: Leaf


def optimizer(config: PPOConfig) -> optax.GradientTransformation:
    """Adam on clipped gradients."""
    return optax.chain(
        optax.clip_by_global_norm(config.max_grad_norm),
        optax.adam(config.learning_rate, eps=config.adam_eps),
    )


def init(key: PRNGKeyArray, config: PPOConfig, agent: Agent, params: Params | None = None) -> Learner:
    """A student that has learned nothing, or that begins with the parameters of another."""
    params = agent.init(key) if params is None else params
    return Learner(params, optimizer(config).init(params), jnp.int32(0), jnp.int32(0))


def normalize(advantage: Float[Array, "T E"]) -> Float[Array, "T E"]:
    """(A - mean) / (std + 1e-5) over the whole batch, std with n - 1; 0 for a batch of one step."""
    if advantage.size == 1:
        return jnp.zeros_like(advantage)
    return (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-5)


def policy_loss(ratio: Array, advantage: Array, clip: float) -> Array:
    """- mean min(r A, clip(r) A)."""
    return -jnp.mean(jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage))


def value_loss(config: PPOConfig, value: Array, old: Array, target: Array) -> Array:
    """Half the mean of the larger of the clipped and the unclipped squared error; Huber without clipping."""
    if not config.clip_value:
        return jnp.mean(optax.losses.huber_loss(value, target, delta=1.0))
    clipped = old + jnp.clip(value - old, -config.clip, config.clip)
    return 0.5 * jnp.mean(jnp.maximum((value - target) ** 2, (clipped - target) ** 2))


class Batch(PyTreeNode):
    """What the loss looks at, [T, B] each."""

    obs: Tree
    keep: Leaf
    action: Tree
    log_prob: Leaf
    value: Leaf
    advantage: Leaf  # normalized
    target: Leaf


def loss(params: Params, config: PPOConfig, agent: Agent, batch: Batch) -> tuple[Array, Losses]:
    """PPO's objective on one minibatch of sequences."""
    features = agent.unroll(params, batch.obs, batch.keep)
    output, value = agent.outputs(params, features)
    ratio = jnp.exp(agent.distribution.log_prob(output, batch.action) - batch.log_prob)
    policy = policy_loss(ratio, batch.advantage, config.clip)
    value = value_loss(config, value, batch.value, batch.target)
    entropy = jnp.mean(agent.distribution.entropy(output))
    total = policy + config.value_coef * value - config.entropy_coef * entropy
    clipped = jnp.mean((jnp.abs(ratio - 1) > config.clip).astype(jnp.float32))
    return total, Losses(total, policy, value, entropy, clipped, jnp.float32(0))


def batch_of(trajectory: Trajectory, advantage: Float[Array, "T E"]) -> Batch:
    """Everything an update needs of a trajectory."""
    return Batch(
        obs=trajectory.obs,
        keep=trajectory.keep,
        action=trajectory.action,
        log_prob=trajectory.log_prob,
        value=trajectory.value,
        advantage=normalize(advantage),
        target=advantage + trajectory.value,
    )


def single_steps(batch: Batch) -> Batch:
    """Every step as a sequence of its own, [1, T B]."""
    return jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), batch)


def minibatches(key: PRNGKeyArray, config: PPOConfig, sequences: int) -> Array:
    """Numbers of the sequences of every minibatch of every epoch, [epochs * minibatches, B]."""
    orders = jax.vmap(lambda k: jax.random.permutation(k, sequences))(jax.random.split(key, config.epochs))
    return orders.reshape(config.epochs * config.minibatches, -1)


def update(
    key: PRNGKeyArray, config: PPOConfig, agent: Agent, learner: Learner, batch: Batch
) -> tuple[Learner, Losses]:
    """All epochs of one student update; one that is not finite changes nothing but the count."""

    def step(carry: Any, chosen: Array) -> tuple[Any, Losses]:
        params, state = carry
        own = mesh.share(chosen)
        part = jax.tree.map(lambda x: x[:, own], batch)
        (_, losses), grads = jax.value_and_grad(loss, has_aux=True)(params, config, agent, part)
        losses, grads = mesh.mean((losses, grads))
        updates, state = optimizer(config).update(grads, state, params)
        norm = optax.tree.norm(grads)
        return (optax.apply_updates(params, updates), state), losses.replace(grad_norm=norm)

    start = (learner.params, learner.optimizer)
    batch = single_steps(batch) if config.shuffle == "steps" else batch
    order = minibatches(key, config, batch.log_prob.shape[1])
    end, losses = jax.lax.scan(step, start, order)
    finite = jnp.all(jnp.isfinite(losses.grad_norm)) & jnp.all(jnp.isfinite(losses.total))
    params, state = jax.tree.map(lambda a, b: jnp.where(finite, a, b), end, start)
    learner = Learner(
        params=params,
        optimizer=state,
        skipped=learner.skipped + ~finite,
        skipped_in_a_row=jnp.where(finite, 0, learner.skipped_in_a_row + 1),
    )
    return learner, jax.tree.map(jnp.mean, losses)
