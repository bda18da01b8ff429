"""The loop whose teacher does not know regrets: it estimates them from games that chance decides, too."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from maestro import regret, train
from maestro.theory import newcomers, practice, tabular
from maestro.theory.convergence import (
    ACTIONS,
    COPIES,
    EVERYONE,
    EXPLOITERS,
    JOINING,
    Excess,
    excesses,
    viewed,
)
from maestro.theory.practice import CONFIG, Outcome, Plan, Told, Turn
from maestro.theory.tabular import Tabular
from maestro.trajectory import Trajectory

LEVELS, HOPELESS, LUCK = 4, 2, 0.02  # levels with something to learn, and those that only luck wins
VIEWS = ("seen", "hidden")
QUEUE = 4  # levels that are replayed, and games on a new one, in a step
ESTIMATED = replace(CONFIG, playlist=QUEUE, member_buffer_size=4, buffer_size=4)
KNOWN = "regrets are known"
GROWING = (KNOWN, "max_mc", "learnability")  # what is tried with populations that grow


def with_hopeless(payoffs: Float[np.ndarray, "G L A B"]) -> Float[np.ndarray, "G M A B"]:
    """Games with more levels, on which no action does anything: true regret is 0 there."""
    games, _, *actions = payoffs.shape
    return np.concatenate([payoffs, np.full((games, HOPELESS, *actions), LUCK)], axis=1)


def by_games(key: PRNGKeyArray, turn: Turn) -> Told:
    """Scores as in training, of one game for each level in a queue; payoffs are chances to win.

    The critic knows the chance, so that nothing but the estimate of regret can be wrong.
    """
    chance = jnp.sum(turn.mine * turn.gained, axis=-1)
    won = jax.random.bernoulli(key, chance).astype(jnp.float32)
    games = trajectory(won, chance, turn.took_place)
    found = train.score_levels(turn.teacher, turn.known, turn.task, games, won - chance)
    return found.replace(started=found.started & turn.took_place), regret.results(games)


def trajectory(won: Float[Array, "T 2"], chance: Float[Array, "T 2"], over: Bool[Array, "T 2"]) -> Trajectory:
    """Games of one step, one after the other; those that did not take place never end."""
    none = jnp.zeros_like(won)
    return Trajectory(
        obs=none,
        action=none,
        log_prob=none,
        value=chance,
        next_value=none,
        reward=won,
        score=jnp.stack([won, 1 - won], axis=-1),
        terminated=over,
        truncated=jnp.zeros_like(over),
        finished=jnp.cumsum(over, axis=0) - over,
        first_level=jnp.zeros(2),
    )


def variant(method: str = "maestro", **settings: Any) -> Plan:
    """The loop with estimated regrets, a method and settings of the teacher; how long is said later."""
    return Plan(1, config=replace(ESTIMATED, **settings), scoring=by_games, method=method)


VARIANTS: dict[str, Plan] = {
    KNOWN: Plan(1, config=ESTIMATED),
    "max_mc": variant(),
    "positive_value_loss": variant(score="positive_value_loss"),
    "mean_mc": variant(score="mean_mc"),
    "learnability": variant("maestro-l"),
    "max_mc, expected": variant(estimate="expected"),
    "max_mc, top_mean": variant(estimate="top_mean"),
    "max_mc, optimism .5": variant(optimism=0.5),
    "max_mc, tried apart": variant(try_against="uniform"),
    "mean_mc, expected, tried apart": variant(score="mean_mc", estimate="expected", try_against="uniform"),
    "learnability, expected": variant("maestro-l", estimate="expected"),
    "learnability, optimism .5": variant("maestro-l", optimism=0.5),
    "learnability, tried apart": variant("maestro-l", try_against="uniform"),
    "max_mc, PFSP": variant("maestro-p"),
    "learnability, PFSP": variant("maestro-p", score="learnability"),
    "max_mc, PFSP, one buffer": variant("plr-pfsp"),
}

Shares = dict[tuple[str, str], float]  # of hopeless levels in the second half, by view and name


def estimates(seed: int, count: int, steps: int) -> tuple[list[Excess], Shares]:
    """(how far students end, what they were served) with each variant; all actions are members."""
    games = viewed(with_hopeless(tabular.random_payoffs(seed, count, LEVELS)), VIEWS)
    return found(seed, games, {name: replace(plan, steps=steps) for name, plan in VARIANTS.items()})


def populations(seed: int, count: int, steps: int) -> tuple[list[Excess], Shares]:
    """The same on win-or-lose games, by who the co-players are: all actions, copies, or exploiters."""
    won = (1 + tabular.tournaments(seed, count, actions=ACTIONS)) / 2  # against oneself every second game
    games = viewed(with_hopeless(won), VIEWS)
    kinds = {EVERYONE: (), COPIES: (newcomers.copy,), EXPLOITERS: (newcomers.exploiter,)}
    interval = max(1, steps // JOINING)
    plans = {
        f"{score}, {who}": replace(VARIANTS[score], steps=steps, newcomers=kind, interval=interval)
        for score in GROWING
        for who, kind in kinds.items()
    }
    return found(seed, games, plans)


def found(seed: int, games: Tabular, plans: dict[str, Plan]) -> tuple[list[Excess], Shares]:
    """What comes of each plan on the same games."""
    key, nobody = jax.random.key(seed), jnp.zeros(len(games.sees), jnp.int32)
    ends = {name: practice.run(key, plan, games, nobody) for name, plan in plans.items()}
    lost = {name: np.split(hopeless(one), len(VIEWS)) for name, one in ends.items()}
    shares = {(view, name): float(lost[name][i].mean()) for i, view in enumerate(VIEWS) for name in lost}
    return excesses(games, {name: one.worst for name, one in ends.items()}, VIEWS), shares


def hopeless(outcome: Outcome) -> Float[np.ndarray, " G"]:
    """The share of steps of the second half in which a level without anything to learn was replayed."""
    middle = outcome.level.shape[1] // 2
    late, trained = (np.asarray(x)[:, middle:] for x in (outcome.level, outcome.trained))
    return ((late >= LEVELS) & trained).sum(axis=1) / np.maximum(trained.sum(axis=1), 1)
