"""Algorithm 1 of the paper for one seed: choose, play, score, learn, remember. `cohort` trains many seeds."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jax.extend.core import Literal
from jaxtyping import Array, Bool, PRNGKeyArray

from maestro import curriculum, memories, mesh, metrics, normalizer, population, ppo, regret
from maestro.agents.base import Agent, Params
from maestro.config import PPOConfig, ScheduleConfig
from maestro.curriculum import Curriculum, Task, Teacher
from maestro.envs.base import Environment, Level
from maestro.level_buffer import Played
from maestro.metrics import Metrics
from maestro.normalizer import Normalizer
from maestro.ppo import Learner, Losses
from maestro.rollout import rollout
from maestro.trajectory import STEP_FIELDS, Trajectory
from maestro.trees import Leaf


@dataclass(frozen=True)
class Experiment:
    """Everything that is fixed during a run."""

    env: Environment
    agent: Agent
    teacher: Teacher
    ppo: PPOConfig
    schedule: ScheduleConfig
    effort: str = "full"


class TrainState(PyTreeNode):
    """All that one seed keeps from cycle to cycle."""

    learner: Learner
    curriculum: Curriculum
    key: Leaf
    normalizer: Normalizer | None = None  # None: rewards are as the game gives them


def init(key: PRNGKeyArray, experiment: Experiment, params: Params | None = None) -> TrainState:
    """A fresh student, in a population that holds its first copy unless there is a warm-up."""
    learner = ppo.init(jax.random.fold_in(key, 0), experiment.ppo, experiment.agent, params)
    teacher = curriculum.init(experiment.teacher, learner.params)
    teacher = curriculum.join(teacher, learner.params, jnp.bool_(experiment.schedule.warmup == 0))
    returns = normalizer.init() if experiment.ppo.normalize_returns else None
    return TrainState(learner, teacher, jax.random.fold_in(key, 1), returns)


@dataclass(frozen=True)
class Plan:
    """What the environments of a cycle do; fixed when it is compiled."""

    new: bool  # W of them try new levels
    replay: bool  # W of them replay stored levels
    learns: bool  # and the student is updated


EXPLORE = Plan(new=True, replay=False, learns=False)


def training_plan(experiment: Experiment) -> Plan:
    """The cycle in which the student learns: from replayed levels, unless it learns from new ones."""
    if experiment.teacher.learns_from_new:
        return Plan(new=True, replay=False, learns=True)
    return Plan(new=experiment.schedule.kind == "parallel", replay=True, learns=True)


class Collected(PyTreeNode):
    """What was to be played, and how it went."""

    task: Task
    trajectory: Trajectory


class Judged(PyTreeNode):
    """What a trajectory has shown."""

    teacher: Curriculum  # that has been told of it
    returns: Normalizer | None
    advantage: Leaf  # [T, E], in the critic's units
    measured: Metrics  # all but what an update changes


def cycle(
    key: PRNGKeyArray, experiment: Experiment, plan: Plan, state: TrainState, coplayer: Array, updates: Array
) -> tuple[TrainState, Metrics]:
    """The body of Algorithm 1's loop, once the co-player pi' and the replay decision are drawn."""
    # theta ~ Lambda(pi'), or theta ~ Theta; collect pi's trajectory tau using (theta, pi')
    ask_key, play_key, learn_key = purposes(key)
    task = ask(ask_key, experiment, plan, state, coplayer)
    collected = Collected(task, play(play_key, experiment, state, task))
    # Compute the regret score S, and update Lambda(pi') with theta using S
    judged = judge(experiment, state, collected)
    # Update pi with rewards R(tau)
    learned = improve(learn_key, experiment, plan, state, collected, judged)
    # B <- B + frozen pi, with an empty Lambda, when it is due
    return conclude(experiment, plan, state, judged, learned, updates)


def purposes(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """A cycle's keys: to ask for levels, to play, and to learn."""
    ask_key, play_key, learn_key = jax.random.split(key, 3)
    return ask_key, play_key, learn_key


def ask(key: PRNGKeyArray, experiment: Experiment, plan: Plan, state: TrainState, coplayer: Array) -> Task:
    """Levels to play against the co-player."""
    return curriculum.ask(key, experiment.teacher, state.curriculum, coplayer, plan.new, plan.replay)


def judge(experiment: Experiment, state: TrainState, collected: Collected) -> Judged:
    """Advantages, scores, and the teacher that knows them."""
    trajectory, config = collected.trajectory, experiment.ppo
    returns = normalizer.observe(state.normalizer, trajectory, config.gamma)
    scale = normalizer.scale(returns)
    learned = normalizer.normalized(trajectory, scale)
    advantage = regret.generalized_advantage(learned, config.gamma, config.gae_lambda)
    scored = normalizer.in_units(experiment.teacher.config.score_units, trajectory, advantage, scale)
    teacher, played = remember(experiment, state, collected.task, *scored)
    measured = metrics.of_games(experiment, state.curriculum, teacher, collected.task, trajectory, played)
    return Judged(teacher, returns, advantage, measured)


def improve(
    key: PRNGKeyArray,
    experiment: Experiment,
    plan: Plan,
    state: TrainState,
    collected: Collected,
    judged: Judged,
) -> tuple[Learner, Losses]:
    """The student after an update, if the plan has one."""
    if not plan.learns:
        return state.learner, metrics.no_losses()
    return learn(key, experiment, state, collected.task, collected.trajectory, judged.advantage)


def conclude(
    experiment: Experiment,
    plan: Plan,
    state: TrainState,
    judged: Judged,
    learned: tuple[Learner, Losses],
    updates: Array,
) -> tuple[TrainState, Metrics]:
    """The state after a cycle, with all who join, and what is logged of it."""
    student, losses = learned
    teacher = followed(experiment, plan, judged.teacher, student.params, updates)
    after = TrainState(student, teacher, state.key, judged.returns)
    return after, metrics.of_update(judged.measured, teacher.population.size, student.skipped, losses)


def followed(
    experiment: Experiment, plan: Plan, teacher: Curriculum, student: Params | None, updates: Array
) -> Curriculum:
    """The teacher after an update, if the plan has one."""
    if not plan.learns:
        return teacher
    return curriculum.follow(teacher, student, joins(experiment.schedule, updates + 1))


def play(key: PRNGKeyArray, experiment: Experiment, state: TrainState, task: Task) -> Trajectory:
    """The student against the task's co-player on the task's levels, for one rollout."""
    teacher, config = experiment.teacher, experiment.ppo
    num_envs = config.workers if task.levels is None else jax.tree.leaves(task.levels)[0].shape[1]

    def next_level(key: PRNGKeyArray, env: Array, finished: Array) -> Level:
        if task.levels is None:
            return teacher.generate(key)
        entry = jnp.minimum(finished, jax.tree.leaves(task.levels)[0].shape[0] - 1)
        return jax.tree.map(lambda x: x[entry, env], task.levels)

    groups = task.groups(num_envs)
    numbers, whose = mesh.numbers(num_envs // groups, groups), task.coplayer
    if whose.ndim > 0 and teacher.apart and teacher.config.coplayer_per == "rollout":
        whose = whose[:: teacher.workers]  # two networks, one for each half, not one for each environment
    elif whose.ndim > 0:
        whose = whose[numbers]
    coplayer = population.member(state.curriculum.population, whose)
    own = rollout(
        key,
        experiment.env,
        experiment.agent,
        (state.learner.params, coplayer),
        next_level,
        numbers,
        config.rollout_length,
        per_worker=task.coplayer.ndim > 0,
        both_seats=experiment.schedule.sp_train_both,
        time_limit=time_limit(teacher),
    )
    return together(experiment, own, groups)


def time_limit(teacher: Teacher) -> int | None:
    """That of every level, if chance has no part in it, and nobody edits."""
    if teacher.method.edits:
        return None
    program = jax.make_jaxpr(lambda: teacher.generate(jax.random.key(0)).time_limit)()
    limit, known = program.jaxpr.outvars[0], dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    value = limit.val if isinstance(limit, Literal) else known.get(limit)
    return None if value is None or isinstance(value, jax.core.Tracer) else int(value)


def seats(experiment: Experiment) -> int:
    """How many seats' experience is learned from."""
    return 2 if experiment.schedule.sp_train_both else 1


def together(experiment: Experiment, own: Trajectory, groups: int) -> Trajectory:
    """All environments, from those that each device played; what was seen stays where it is until `learn`."""
    steps = {name: getattr(own, name) for name in STEP_FIELDS if name != "obs"}
    steps = mesh.whole(steps, seats(experiment) * groups)
    return own.replace(first_level=mesh.whole(own.first_level, groups, axis=0), **steps)


def remember(
    experiment: Experiment, state: TrainState, task: Task, trajectory: Trajectory, advantage: Array
) -> tuple[Curriculum, Played]:
    """Scores of the levels and results against the co-player, told to the teacher: (curriculum, played)."""
    teacher, known, num_envs = experiment.teacher, state.curriculum, trajectory.num_envs
    seat = trajectory.columns(slice(num_envs))
    played = score_levels(teacher, known, task, seat, advantage[:, :num_envs])
    return curriculum.tell(teacher, known, task, played, regret.results(seat)), played


def score_levels(
    teacher: Teacher, known: Curriculum, task: Task, seat: Trajectory, advantage: Array
) -> Played:
    """What the student's seat shows of each level of the task."""
    queue = 1 if task.levels is None else jax.tree.leaves(task.levels)[0].shape[0]
    own = task.levels is None and not teacher.fixed  # every episode has a level of its own
    best = regret.mean_returns(seat) if own else regret.best_returns(seat, queue)
    best = curriculum.best_returns(teacher, known, task, best)
    memory, recent = recalled(teacher, known, task, seat, best)
    score, episodes = regret.SCORES[teacher.score](seat, advantage, recent)
    started = seat.finished[-1][None, :] >= jnp.arange(queue)[:, None]
    return Played(score, episodes, best, started, memory)


def recalled(
    teacher: Teacher, known: Curriculum, task: Task, seat: Trajectory, best: Array
) -> tuple[Any, Array]:
    """(memory, score) of each entry, [Q, E]; None and the best returns for a score that remembers no more."""
    kind = memories.KINDS.get(teacher.score)
    if kind is None:
        return None, best
    seen = regret.evidence(seat)
    if task.levels is None and not teacher.fixed:  # each level has one episode, then it is gone
        _, score = memories.after(kind.fresh(*seen.episodes.shape), seen)
        return None, regret.episode_mean(seat, score)
    entries = regret.of_entries(seat, seen, best.shape[0])
    return curriculum.recall(teacher, known, task, entries)


def learn(
    key: PRNGKeyArray,
    experiment: Experiment,
    state: TrainState,
    task: Task,
    trajectory: Trajectory,
    advantage: Array,
) -> tuple[Learner, Losses]:
    """A PPO update on the replayed levels; on all of them where none are replayed."""
    parts = seats(experiment), task.groups(trajectory.num_envs)

    def learned(x: Array) -> Array:
        split = x.reshape(x.shape[0], *parts, -1, *x.shape[2:])
        return split[:, :, -1].reshape(x.shape[0], -1, *x.shape[2:])

    steps = jax.tree.map(learned, {name: getattr(trajectory, name) for name in STEP_FIELDS})
    steps["obs"] = mesh.whole(steps["obs"], parts[0])
    batch = ppo.batch_of(trajectory.replace(**steps), learned(advantage))
    return ppo.update(key, experiment.ppo, experiment.agent, state.learner, batch)


def joins(schedule: ScheduleConfig, updates: Array) -> Bool[Array, ""]:
    """Whether a copy of the student joins after so many updates; none at the end, where it would not play."""
    due = (updates - schedule.warmup) % schedule.interval == 0
    if schedule.exploiters == "instead":
        due = updates == schedule.warmup  # later ones are trained
    return due & (updates >= schedule.warmup) & (updates < schedule.total_updates)
