"""Seeds side by side as one program: they share the replay decision, and hence the number of updates."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray

from maestro import curriculum, exploiters, mesh, train
from maestro.agents.base import Params
from maestro.exploiters import Exploiters
from maestro.metrics import Metrics
from maestro.train import EXPLORE, Experiment, Plan, TrainState
from maestro.trees import Leaf

LENGTH = 32  # cycles in a compiled chunk, at most
CHUNK_SECONDS = 2.0  # how long a chunk should take


class Cohort(PyTreeNode):
    """Seeds that share the coin."""

    seeds: TrainState  # leading axis: the seeds
    key: Leaf  # of the coin
    updates: Leaf  # student updates so far
    cycles: Leaf  # rollouts so far
    exploiters: Exploiters | None = None  # None: there are to be none


def init(
    experiment: Experiment, seed: int | Int[Array, ""], seeds: int, params: Params | None = None
) -> Cohort:
    """Fresh students, one for each seed from `seed` on; all may begin with the same parameters."""
    keys = jnp.stack([jax.random.key(seed + i) for i in range(seeds)])
    coin = jax.random.fold_in(jax.random.key(seed), 2)
    # One by one: a batch of QR decompositions can hang on a CPU of few cores.
    states = jax.lax.map(lambda key: train.init(key, experiment, params), keys)
    return Cohort(states, coin, jnp.int32(0), jnp.int32(0), exploiters.init(experiment, states))


def draw_coplayers(key: PRNGKeyArray, experiment: Experiment, state: TrainState, plan: Plan) -> Array:
    """One co-player, or one for each environment; environments that replay need one with a warm buffer."""
    teacher, known = experiment.teacher, state.curriculum
    if teacher.config.coplayer_per == "rollout":
        tried = curriculum.choose_to_try(key, teacher, known)
        if not plan.replay:
            return tried
        chosen = teacher.config.try_against == "chosen"
        slot = tried if chosen else curriculum.choose(key, teacher, known)
        again = curriculum.choose_warm(jax.random.fold_in(key, 0), teacher, known)
        served = jnp.where(curriculum.warm(teacher, known)[slot], slot, again)
        both = plan.new and teacher.apart
        return jnp.repeat(jnp.stack([tried, served]), teacher.workers) if both else served
    keys = jax.vmap(lambda e: jax.random.fold_in(key, e))(jnp.arange(2 * teacher.workers))
    new = jax.vmap(lambda k: curriculum.choose_to_try(k, teacher, known))(keys[: teacher.workers])
    warm = jax.vmap(lambda k: curriculum.choose_warm(k, teacher, known))(keys[teacher.workers :])
    return jnp.concatenate([new] * plan.new + [warm] * plan.replay)


def replay_decision(
    key: PRNGKeyArray, experiment: Experiment, seeds: TrainState, keys: Key[Array, " S"]
) -> Bool[Array, ""]:
    """Whether this cycle replays and trains: one decision for all workers of all seeds.

    A single seed replays only if the co-player it has chosen has a warm buffer; `coin` then tosses.
    Several seeds toss as soon as each has a warm buffer, and those that have chosen another
    redraw; under `parallel`, which always replays, that would starve newcomers, so they wait, unless
    new levels are tried apart.
    """
    teacher, tosses = experiment.teacher, experiment.schedule.kind == "coin"
    several = len(keys) * mesh.devices(mesh.SEEDS) > 1
    warm = jax.vmap(lambda c: curriculum.warm(teacher, c))(seeds.curriculum)
    if teacher.config.coplayer_per == "worker" or teacher.apart or (tosses and several):
        ready = jnp.all(jnp.any(warm, axis=1))
    else:
        chosen = jax.vmap(lambda k, c: curriculum.choose(k, teacher, c))(keys, seeds.curriculum)
        ready = jnp.all(jnp.take_along_axis(warm, chosen[:, None], axis=1))
    ready = mesh.everywhere(ready)
    return ready & (jax.random.uniform(key) < teacher.config.replay_rate) if tosses else ready


def keys_of(cohort: Cohort) -> Key[Array, "S 2"]:
    """Each seed's keys for this cycle: to draw co-players, and for all else."""
    return jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, cohort.cycles)))(cohort.seeds.key)


def plans(experiment: Experiment) -> list[Plan]:
    """The kinds of cycles: those that train come first."""
    training = train.training_plan(experiment)
    return [training, EXPLORE] if training.replay else [training]


def trains(experiment: Experiment, cohort: Cohort, keys: Key[Array, "S 2"]) -> Bool[Array, ""]:
    """Whether the student learns in this cycle."""
    if not train.training_plan(experiment).replay:
        return jnp.bool_(True)
    coin = jax.random.fold_in(cohort.key, cohort.cycles)
    return replay_decision(coin, experiment, cohort.seeds, keys[:, 0])


Carry = tuple[TrainState, Exploiters | None]  # what a cycle changes


def train_step(
    experiment: Experiment, cohort: Cohort, goes_on: Bool[Array, ""] | bool = True
) -> tuple[Cohort, Metrics]:
    """One cycle of every seed; nothing happens if it does not go on, or once all updates are made."""
    keys = keys_of(cohort)

    def cycle(plan: Plan, carry: Carry) -> tuple[Carry, Metrics]:
        def one(state: TrainState, key: Key[Array, "2"]) -> tuple[TrainState, Metrics]:
            coplayer = draw_coplayers(key[0], experiment, state, plan)
            return train.cycle(key[1], experiment, plan, state, coplayer, cohort.updates)

        seeds, measured = jax.vmap(one)(carry[0], keys)
        return (seeds, carry[1]), exploiters.beside(carry[1], measured)

    def idle(carry: Carry) -> tuple[Carry, Metrics]:
        _, shapes = jax.eval_shape(cycles[0], carry)
        return carry, jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)

    def exploit(carry: Carry) -> tuple[Carry, Metrics]:
        assert carry[1] is not None
        seeds, known, exploited = exploiters.step(experiment, keys[:, 1], carry[0], carry[1])
        return (seeds, known), idle(carry)[1].replace(exploiter=exploited)

    learns = trains(experiment, cohort, keys)
    goes_on = goes_on & (cohort.updates < experiment.schedule.total_updates)
    which = jnp.where(goes_on, jnp.where(learns, 1, 2), 0)
    # Each is traced but once.
    cycles = [jax.jit(partial(cycle, plan), inline=True) for plan in plans(experiment)]
    branches: list[Callable[..., Any]] = [idle, *cycles]
    if cohort.exploiters is not None:
        waits = exploiters.due(experiment, cohort.exploiters, cohort.updates)
        which, learns = jnp.where(goes_on & waits, len(branches), which), learns & ~waits
        branches.append(exploit)
    (seeds, known), metrics = jax.lax.switch(which, branches, (cohort.seeds, cohort.exploiters))
    updates, rounds = cohort.updates + (goes_on & learns), cohort.cycles + goes_on
    return Cohort(seeds, cohort.key, updates, rounds, known), metrics


def train_steps(
    experiment: Experiment, length: int, cohort: Cohort, until: Int[Array, ""], cycles: Int[Array, ""]
) -> tuple[Cohort, Metrics]:
    """At most `cycles` cycles (of at most `length`), and not beyond `until` updates, as one program.

    Metrics have leading axes [length, seeds]; those of cycles that did not take place are not active.
    """

    def step(cohort: Cohort, number: Array) -> tuple[Cohort, Metrics]:
        return train_step(experiment, cohort, (number < cycles) & (cohort.updates < until))

    return jax.lax.scan(step, cohort, jnp.arange(length))


def fitting(seconds: float) -> int:
    """How many cycles of so many seconds make a chunk."""
    return int(min(LENGTH, max(1, CHUNK_SECONDS / seconds)))
