"""The loop as the package trains: its own curriculum, level buffers and population, a tabular student."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from maestro import curriculum, population
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Task, Teacher
from maestro.level_buffer import Played
from maestro.methods import METHODS
from maestro.theory import learner
from maestro.theory.learner import Learner
from maestro.theory.tabular import Tabular, regrets
from maestro.trees import Leaf

# The paper's settings, one level at a time; a buffer has a place less than the games here have levels.
CONFIG = CurriculumConfig(playlist=1, member_buffer_size=3)

State = tuple[Curriculum, Learner]
Newcomer = Callable[[Tabular, Learner], Float[Array, "L B"]]  # a co-player's actions on each level
Told = tuple[Played, Float[Array, "T 2"]]  # what the teacher is told: scores, and results of games


class Turn(NamedTuple):
    """A task in the middle of a step, [Q, 2]: the new level, and those that are replayed."""

    teacher: Teacher
    known: Curriculum
    task: Task
    mine: Float[Array, "Q 2 A"]  # how likely each action is
    gained: Float[Array, "Q 2 A"]  # what each action gets
    took_place: Bool[Array, "Q 2"]  # what is replayed does only if the buffer was warm


Scoring = Callable[[PRNGKeyArray, Turn], Told]


def known_regrets(key: PRNGKeyArray, turn: Turn) -> Told:
    """Exact scores."""
    del key
    best, took_place = turn.gained.max(axis=-1), turn.took_place
    score = jnp.sum(turn.mine * (best[..., None] - turn.gained), axis=-1)
    found = Played(
        score=jnp.where(took_place, score, 0.0),
        episodes=took_place.astype(jnp.int32),
        best_return=jnp.where(took_place, best, -jnp.inf),
        started=took_place,
    )
    return found, jnp.full((1, 2), jnp.nan)


@dataclass(frozen=True)
class Plan:
    """How long the loop goes on, and who joins the population."""

    steps: int
    newcomers: tuple[Newcomer, ...] = ()  # of which a game has one; none: all actions are members at first
    interval: int = 1  # steps between two who join
    learns: bool = True
    config: CurriculumConfig = CONFIG
    scoring: Scoring = known_regrets
    method: str = "maestro"

    def teacher(self, levels: int, coplayers: int) -> Teacher:
        """The package's teacher, with a generator that draws any level alike."""
        members = 1 + self.steps // self.interval if self.newcomers else coplayers
        draw = partial(generate, levels)
        return Teacher(self.config, METHODS[self.method], draw, 1, members, num_levels=levels)


class Outcome(PyTreeNode):
    """What came of the loop on each game."""

    student: Leaf  # [L, A]; the average policy
    worst: Leaf  # [T]; its highest regret after each step
    level: Leaf  # int [T]; the level replayed, of several the first
    coplayer: Leaf  # int [T]; the slot of the co-player of what is replayed
    trained: Leaf  # bool [T]; whether the student learned: its co-player's buffer was warm
    curriculum: Curriculum  # what the teacher knows at the end


def generate(levels: int, key: PRNGKeyArray) -> Array:
    """A level, every one alike."""
    return jax.random.randint(key, (), 0, levels)


@partial(jax.jit, static_argnums=1)
def run(key: PRNGKeyArray, plan: Plan, games: Tabular, who: Int[Array, " G"]) -> Outcome:
    """The loop on games side by side; `who` says by place which of the newcomers join in each of them."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(games.sees.shape[0]))
    return jax.vmap(partial(run_one, plan))(keys, games, who)


def run_one(plan: Plan, key: PRNGKeyArray, game: Tabular, who: Int[Array, ""]) -> Outcome:
    """The loop on one game."""
    payoff = jnp.asarray(game.payoff, jnp.float32)
    game = game.replace(payoff=payoff)
    teacher = plan.teacher(payoff.shape[0], payoff.shape[2])
    student = learner.init(*payoff.shape[:2])
    state = curriculum.init(teacher, jnp.zeros((payoff.shape[0], payoff.shape[2])))
    for member in first_members(plan, game, who, student):
        state = curriculum.join(state, member, jnp.bool_(True))
    body = partial(cycle, plan, teacher, game, who)
    steps = jnp.arange(plan.steps)
    keys = jax.vmap(partial(jax.random.fold_in, key))(steps)
    (state, student), (worst, level, slot, trained) = jax.lax.scan(body, (state, student), (keys, steps))
    return Outcome(student.average, worst, level, slot, trained, state)


def first_members(plan: Plan, game: Tabular, who: Int[Array, ""], student: Learner) -> Float[Array, "N L B"]:
    """All actions of the co-player, the same on every level; or whoever joins first."""
    levels, _, coplayers = game.payoff.shape
    if not plan.newcomers:
        return jnp.repeat(jnp.eye(coplayers)[:, None], levels, axis=1)
    return jax.lax.switch(who, plan.newcomers, game, student)[None]


def cycle(
    plan: Plan, teacher: Teacher, game: Tabular, who: Int[Array, ""], state: State, turn: tuple[Array, Array]
) -> tuple[State, tuple[Array, ...]]:
    """Algorithm 1 once: new levels are tried and stored ones replayed, and only these are learned from."""
    known, student = state
    (choose_key, ask_key), number = jax.random.split(turn[0]), turn[1]
    slot = choose(choose_key, teacher, known)
    trains = curriculum.warm(teacher, known)[slot.ravel()[-1]]
    task = curriculum.ask(ask_key, teacher, known, slot, new=True, replay=True)
    levels = task.levels  # [Q, 2]; the new one, the replayed ones
    theirs = population.member(known.population, jnp.broadcast_to(slot, levels.shape[1:]))  # [2, L, B]
    gained = jnp.einsum("qnab,qnb->qna", game.payoff[levels], theirs[jnp.arange(2), levels])
    mine = learner.policy(student)[game.sees[levels]]
    took_place = jnp.broadcast_to(jnp.stack([jnp.bool_(True), trains]), levels.shape)
    dice, asked = jax.random.fold_in(turn[0], 2), Turn(teacher, known, task, mine, gained, took_place)
    known = curriculum.tell(teacher, known, task, *plan.scoring(dice, asked))
    shortfall = (gained.max(axis=-1, keepdims=True) - gained) / (game.payoff.max() - game.payoff.min())
    for entry in range(len(levels)):
        seen = game.sees[levels[entry, 1]]
        student = learner.update(student, seen, shortfall[entry, 1], trains & plan.learns)
    if plan.newcomers:
        due = (number + 1) % plan.interval == 0
        known = curriculum.join(known, jax.lax.switch(who, plan.newcomers, game, student), due)
    worst = regrets(game.payoff, game.sees, student.average).max()
    return (known, student), (worst, levels[0, 1], slot.ravel()[-1], trains)


def choose(key: PRNGKeyArray, teacher: Teacher, known: Curriculum) -> Int[Array, "*two"]:
    """The co-player of a step; where new levels are tried apart, theirs and that of the replayed ones."""
    if not teacher.apart:
        return curriculum.choose(key, teacher, known)
    tried = curriculum.choose_to_try(key, teacher, known)
    return jnp.stack([tried, curriculum.choose_warm(key, teacher, known)])
