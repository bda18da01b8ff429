"""The loop whose teacher does not know regrets: it estimates them from games that chance decides, too."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from maestro import regret, train
from maestro.config import CurriculumConfig
from maestro.rollout import Trajectory
from maestro.theory import practice, tabular
from maestro.theory.convergence import Excess, excesses, viewed
from maestro.theory.practice import CONFIG, Plan, Told, Turn

LEVELS, HOPELESS, LUCK = 4, 2, 0.02  # levels with something to learn, and those that only luck wins
VIEWS = ("seen", "hidden")
QUEUE = 4  # levels that are replayed, and games on a new one, in a step
ESTIMATED = replace(CONFIG, playlist=QUEUE, member_buffer_size=4)
KNOWN = "regrets are known"
VARIANTS: dict[str, CurriculumConfig] = {
    "max_mc": ESTIMATED,
    "positive_value_loss": replace(ESTIMATED, score="positive_value_loss"),
    "mean_mc": replace(ESTIMATED, score="mean_mc"),
    "learnability": replace(ESTIMATED, score="learnability"),
    "max_mc, expected": replace(ESTIMATED, estimate="expected"),
    "max_mc, top_mean": replace(ESTIMATED, estimate="top_mean"),
    "max_mc, optimism .5": replace(ESTIMATED, optimism=0.5),
    "learnability, expected": replace(ESTIMATED, score="learnability", estimate="expected"),
}


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


def estimates(seed: int, count: int, steps: int) -> tuple[list[Excess], dict[tuple[str, str], float]]:
    """(how far students end, the share of hopeless levels in the second half by view and name)."""
    payoffs = with_hopeless(tabular.random_payoffs(seed, count, LEVELS))
    games, key = viewed(payoffs, VIEWS), jax.random.key(seed)
    plans = {KNOWN: Plan(steps, config=ESTIMATED)}
    plans |= {name: Plan(steps, config=config, scoring=by_games) for name, config in VARIANTS.items()}
    nobody = jnp.zeros(len(games.sees), jnp.int32)
    found = {name: practice.run(key, plan, games, nobody) for name, plan in plans.items()}
    lost = {name: np.split(hopeless(one, steps), len(VIEWS)) for name, one in found.items()}
    shares = {(view, name): float(lost[name][i].mean()) for i, view in enumerate(VIEWS) for name in lost}
    return excesses(games, {name: one.worst for name, one in found.items()}, VIEWS), shares


def hopeless(outcome: practice.Outcome, steps: int) -> Float[np.ndarray, " G"]:
    """The share of steps of the second half in which a level without anything to learn was replayed."""
    late, trained = (np.asarray(x)[:, steps // 2 :] for x in (outcome.level, outcome.trained))
    return ((late >= LEVELS) & trained).sum(axis=1) / np.maximum(trained.sum(axis=1), 1)
