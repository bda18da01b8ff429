"""Algorithm 1 of the paper, for every method and for many seeds at once."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray

from maestro import curriculum, measure, population, ppo, regret
from maestro.agents.base import Agent
from maestro.config import PPOConfig, ScheduleConfig
from maestro.curriculum import Curriculum, Source, Task, Teacher
from maestro.envs.base import Environment, Level
from maestro.level_buffer import Played
from maestro.measure import Metrics
from maestro.ppo import Learner, Losses
from maestro.rollout import Trajectory, rollout


@dataclass(frozen=True)
class Experiment:
    """Everything that is fixed during a run."""

    env: Environment
    agent: Agent
    teacher: Teacher
    ppo: PPOConfig
    schedule: ScheduleConfig


class Run(PyTreeNode):
    """One seed."""

    learner: Learner
    curriculum: Curriculum
    key: Any


class TrainState(PyTreeNode):
    """A cohort of seeds that share the coin, and hence the number of updates."""

    runs: Run  # leading axis: the seeds
    key: Any  # of the cohort
    updates: Any  # student updates so far
    cycles: Any  # rollouts so far


def init(experiment: Experiment, seed: int, seeds: int) -> TrainState:
    """Fresh students, in populations that hold their first copy unless there is a warm-up."""

    def one(key: PRNGKeyArray) -> Run:
        learner = ppo.init(jax.random.fold_in(key, 0), experiment.ppo, experiment.agent)
        teacher = curriculum.init(experiment.teacher, learner.params)
        teacher = curriculum.join(teacher, learner.params, jnp.bool_(experiment.schedule.warmup == 0))
        return Run(learner, teacher, jax.random.fold_in(key, 1))

    keys = jnp.stack([jax.random.key(seed + i) for i in range(seeds)])
    cohort = jax.random.fold_in(jax.random.key(seed), 2)
    runs = jax.lax.map(one, keys)  # one by one: a batch of QR decompositions can hang on a CPU of few cores
    return TrainState(runs, cohort, jnp.int32(0), jnp.int32(0))


def play(key: PRNGKeyArray, experiment: Experiment, run: Run, task: Task) -> Trajectory:
    """The student against the task's co-player on the task's levels, for one rollout."""
    teacher, config = experiment.teacher, experiment.ppo
    num_envs = config.workers if task.levels is None else jax.tree.leaves(task.levels)[0].shape[1]

    def next_level(key: PRNGKeyArray, env: Array, finished: Array) -> Level:
        if task.levels is None:
            return teacher.generate(key)
        entry = jnp.minimum(finished, jax.tree.leaves(task.levels)[0].shape[0] - 1)
        return jax.tree.map(lambda x: x[entry, env], task.levels)

    coplayer = population.member(run.curriculum.population, task.coplayer)
    return rollout(
        key,
        experiment.env,
        experiment.agent,
        (run.learner.params, coplayer),
        next_level,
        num_envs,
        config.rollout_length,
        per_worker=task.coplayer.ndim > 0,
        both_seats=experiment.schedule.sp_train_both,
    )


def remember(experiment: Experiment, run: Run, task: Task, trajectory: Trajectory, advantage: Array) -> tuple:
    """Scores of the levels and results against the co-player, told to the teacher: (curriculum, played)."""
    num_envs = trajectory.num_envs
    queue = 1 if task.levels is None else jax.tree.leaves(task.levels)[0].shape[0]
    seat = trajectory.columns(jnp.arange(num_envs))
    best = regret.best_returns(seat, queue)
    best = curriculum.best_returns(experiment.teacher, run.curriculum, task, best)
    score_function = regret.SCORES[experiment.teacher.config.score]
    score, episodes = score_function(seat, advantage[:, :num_envs], best)
    started = seat.finished[-1][None, :] >= jnp.arange(queue)[:, None]
    played = Played(score, episodes, best, started)
    teacher = curriculum.tell(experiment.teacher, run.curriculum, task, played, regret.results(seat))
    return teacher, played


def learn(
    key: PRNGKeyArray, experiment: Experiment, run: Run, task: Task, trajectory: Trajectory, advantage: Array
) -> tuple[Learner, Losses]:
    """A PPO update on the replayed levels; on all of them where levels are always new."""
    num_envs = trajectory.num_envs
    columns = jnp.arange(num_envs - (task.replayed or num_envs), num_envs)
    if experiment.schedule.sp_train_both:
        columns = jnp.concatenate([columns, columns + num_envs])
    batch = ppo.batch_of(trajectory.columns(columns), advantage[:, columns])
    return ppo.update(key, experiment.ppo, experiment.agent, run.learner, batch)


def cycle(
    experiment: Experiment, trains: bool, run: Run, coplayer: Array, updates: Array, key: PRNGKeyArray
) -> tuple[Run, Metrics]:
    """One rollout against one co-player; if it trains, an update and perhaps a new member follow."""
    ask_key, play_key, learn_key = jax.random.split(key, 3)
    schedule = experiment.schedule
    new = schedule.kind == "parallel" or not trains
    task = curriculum.ask(ask_key, experiment.teacher, run.curriculum, coplayer, new=new, replay=trains)
    trajectory = play(play_key, experiment, run, task)
    advantage = regret.generalised_advantage(trajectory, experiment.ppo.gamma, experiment.ppo.gae_lambda)
    teacher, played = remember(experiment, run, task, trajectory, advantage)
    learner, losses = run.learner, measure.no_losses()
    if trains:
        learner, losses = learn(learn_key, experiment, run, task, trajectory, advantage)
        teacher = teacher.replace(population=population.mirror(teacher.population, learner.params))
        teacher = curriculum.join(teacher, learner.params, joins(schedule, updates + 1))
    metrics = measure.metrics(
        experiment, run.curriculum, teacher, task, trajectory, played, losses, learner.skipped
    )
    return Run(learner, teacher, run.key), metrics


def joins(schedule: ScheduleConfig, updates: Array) -> Bool[Array, ""]:
    """Whether a copy of the student joins after so many updates; none at the end, where it would not play."""
    due = (updates - schedule.warmup) % schedule.interval == 0
    return due & (updates >= schedule.warmup) & (updates < schedule.total_updates)


def draw_coplayers(key: PRNGKeyArray, experiment: Experiment, run: Run, trains: bool) -> Array:
    """One co-player, or one for each environment; those who replay need a warm buffer."""
    teacher, state = experiment.teacher, run.curriculum
    if teacher.config.coplayer_per == "rollout":
        slot = curriculum.choose(key, teacher, state)
        if not trains or teacher.method.levels is Source.NEW:
            return slot
        again = curriculum.choose_warm(jax.random.fold_in(key, 0), teacher, state)
        return jnp.where(curriculum.warm(teacher, state)[slot], slot, again)
    new = experiment.schedule.kind == "parallel" or not trains or teacher.method.levels is Source.NEW
    replay = trains and teacher.method.levels is not Source.NEW
    keys = jax.vmap(lambda e: jax.random.fold_in(key, e))(jnp.arange(2 * teacher.workers))
    slots = []
    if new:
        slots.append(jax.vmap(lambda k: curriculum.choose(k, teacher, state))(keys[: teacher.workers]))
    if replay:
        slots.append(jax.vmap(lambda k: curriculum.choose_warm(k, teacher, state))(keys[teacher.workers :]))
    return jnp.concatenate(slots)


def replay_decision(
    key: PRNGKeyArray, experiment: Experiment, runs: Run, keys: Key[Array, " S"]
) -> Bool[Array, ""]:
    """Whether this cycle replays and trains: one decision for all workers of all seeds.

    A single run replays only if the co-player it has chosen has a warm buffer; `coin` then tosses.
    Several seeds toss as soon as each has a warm buffer, and those that have chosen another
    redraw; under `parallel`, which always replays, that would starve newcomers, so they wait.
    """
    teacher = experiment.teacher
    if teacher.method.levels is Source.NEW:
        return jnp.bool_(True)
    warm = jax.vmap(lambda c: curriculum.warm(teacher, c))(runs.curriculum)
    tosses = experiment.schedule.kind == "coin"
    if teacher.config.coplayer_per == "worker" or (tosses and len(keys) > 1):
        ready = jnp.all(jnp.any(warm, axis=1))
    else:
        chosen = jax.vmap(lambda k, c: curriculum.choose(k, teacher, c))(keys, runs.curriculum)
        ready = jnp.all(jnp.take_along_axis(warm, chosen[:, None], axis=1))
    return ready & (jax.random.uniform(key) < teacher.config.replay_rate) if tosses else ready


def train_step(
    experiment: Experiment, state: TrainState, goes_on: Bool[Array, ""] | bool = True
) -> tuple[TrainState, Metrics]:
    """One cycle of every seed; nothing happens unless it goes on, nor once all updates are made."""
    keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, state.cycles)))(state.runs.key)
    coin = jax.random.fold_in(state.key, state.cycles)
    trains = replay_decision(coin, experiment, state.runs, keys[:, 0])

    def act(runs: Run, train: bool) -> tuple[Run, Metrics]:
        def one(run: Run, key: Key[Array, "2"]) -> tuple[Run, Metrics]:
            coplayer = draw_coplayers(key[0], experiment, run, train)
            return cycle(experiment, train, run, coplayer, state.updates, key[1])

        return jax.vmap(one)(runs, keys)

    def idle(runs: Run) -> tuple[Run, Metrics]:
        shapes = jax.eval_shape(lambda r: act(r, True)[1], runs)
        return runs, jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)

    branches = [idle, lambda r: act(r, True)]
    if experiment.teacher.method.levels is not Source.NEW:
        branches.append(lambda r: act(r, False))
    goes_on = goes_on & (state.updates < experiment.schedule.total_updates)
    which = jnp.where(goes_on, jnp.where(trains, 1, 2), 0)
    runs, metrics = jax.lax.switch(which, branches, state.runs)
    return TrainState(runs, state.key, state.updates + (goes_on & trains), state.cycles + goes_on), metrics


def train_steps(
    experiment: Experiment, length: int, state: TrainState, until: Int[Array, ""], cycles: Int[Array, ""]
) -> tuple[TrainState, Metrics]:
    """At most `cycles` cycles (of at most `length`), and not beyond `until` updates, as one program.

    Metrics have leading axes [length, seeds]; those of cycles that did not take place are not active.
    """

    def step(state: TrainState, number: Array) -> tuple[TrainState, Metrics]:
        return train_step(experiment, state, (number < cycles) & (state.updates < until))

    return jax.lax.scan(step, state, jnp.arange(length))
