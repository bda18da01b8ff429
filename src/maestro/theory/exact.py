"""The loop with exact regrets: a teacher who knows them chooses one pair of level and co-player at a time."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from maestro.theory import learner
from maestro.theory.learner import Learner
from maestro.theory.tabular import Tabular, regrets

EXPLORATION = 0.1  # lambda of equation 2, as in the paper

Pair = tuple[Int[Array, ""], Int[Array, ""]]
Choice = Callable[[PRNGKeyArray, Float[Array, "L B"]], Pair]


def joint(key: PRNGKeyArray, regret: Float[Array, "L B"]) -> Pair:
    """Equation 2, and the level of most regret against the co-player that it gives."""
    coplayer = explored(key, regret.max(axis=0))
    return jnp.argmax(regret[:, coplayer]), coplayer


def independent(key: PRNGKeyArray, regret: Float[Array, "L B"]) -> Pair:
    """The level and the co-player of most regret, each on average over the other."""
    return jnp.argmax(regret.mean(axis=1)), explored(key, regret.mean(axis=0))


def random(key: PRNGKeyArray, regret: Float[Array, "L B"]) -> Pair:
    """Domain randomization and fictitious play: every pair alike."""
    pair = jax.random.randint(key, (), 0, regret.size)
    return pair // regret.shape[1], pair % regret.shape[1]


def explored(key: PRNGKeyArray, most: Float[Array, " B"]) -> Int[Array, ""]:
    """The co-player of most regret, or any with probability lambda."""
    coin, which = jax.random.split(key)
    anyone = jax.random.randint(which, (), 0, most.size)
    return jnp.where(jax.random.uniform(coin) < EXPLORATION, anyone, jnp.argmax(most))


TEACHERS: dict[str, Choice] = {"joint": joint, "independent": independent, "random": random}


@partial(jax.jit, static_argnums=3)
def run(
    key: PRNGKeyArray, teachers: Int[Array, " C"], games: Tabular, steps: int
) -> tuple[Float[Array, "C G L A"], Float[Array, "C G T"]]:
    """(the average students, their worst regret after each step), by place in TEACHERS and by game."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(games.sees.shape[0]))
    one = partial(run_one, steps)
    return jax.vmap(lambda teacher: jax.vmap(partial(one, teacher))(keys, games))(teachers)


def run_one(
    steps: int, teacher: Int[Array, ""], key: PRNGKeyArray, game: Tabular
) -> tuple[Float[Array, "L A"], Float[Array, " T"]]:
    """The loop of one teacher on one game."""
    payoff = jnp.asarray(game.payoff, jnp.float32)
    scale = payoff.max() - payoff.min()

    def step(student: Learner, number: Array) -> tuple[Learner, Array]:
        now = regrets(payoff, game.sees, learner.policy(student))
        turn = jax.random.fold_in(key, number)
        level, coplayer = jax.lax.switch(teacher, list(TEACHERS.values()), turn, now)
        gained = payoff[level, :, coplayer]
        student = learner.update(student, game.sees[level], (gained.max() - gained) / scale)
        return student, regrets(payoff, game.sees, student.average).max()

    student, worst = jax.lax.scan(step, learner.init(*payoff.shape[:2]), jnp.arange(steps))
    return student.average, worst
