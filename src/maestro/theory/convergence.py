"""How far the loop's average student is from the exact equilibrium, by teacher and by population."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from maestro.theory import exact, newcomers, practice, tabular
from maestro.theory.equilibrium import maestro
from maestro.theory.tabular import Tabular

BUFFERS = "joint, real buffers"  # the teacher of the package itself
JOINT = "joint, exact regrets"
APART, RANDOM = "independent, exact regrets", "random (DR)"
EVERYONE, COPIES, EXPLOITERS = "all actions", "copies of the student", "exploiters added"
JOINING = 50  # co-players who join in all
ACTIONS = 5  # with three, the uniform student that one begins with is the solution
GROWING_VIEWS = ("seen", "hidden")


@dataclass(frozen=True)
class Excess:
    """Curves of one way to teach, in games whose student sees so much of the level."""

    view: str
    name: str
    curves: Float[np.ndarray, "G T"]  # worst regret less the exact value, in parts of the range of payoffs

    @property
    def end(self) -> Float[np.ndarray, " G"]:
        """After the last step."""
        return self.curves[:, -1]

    def worse_than(self, other: "Excess") -> float:
        """The share of games in which this student ends farther away than another one."""
        return float(np.mean(self.end > other.end))


def teachers(seed: int, count: int, steps: int) -> list[Excess]:
    """Joint, independent and random teachers on random games, for each view."""
    games = viewed(tabular.random_payoffs(seed, count), tuple(tabular.VIEWS))
    key, worst = jax.random.key(seed), {}
    worst[BUFFERS] = practised(key, practice.Plan(steps), games)[0]
    exactly = exact.run(key, jnp.arange(len(exact.TEACHERS)), games, steps)[1]
    worst |= dict(zip((JOINT, APART, RANDOM), exactly, strict=True))
    return excesses(games, worst, tuple(tabular.VIEWS))


def populations(seed: int, count: int, steps: int) -> list[Excess]:
    """Who the co-players are, on win-or-lose games in which copies of the student can play, too."""
    games = viewed(tabular.tournaments(seed, count, actions=ACTIONS), GROWING_VIEWS)
    growing = practice.Plan(steps, (newcomers.copy, newcomers.exploiter), max(1, steps // JOINING))
    key = jax.random.key(seed)
    worst = {EVERYONE: practised(key, practice.Plan(steps), games)[0]}
    worst |= dict(zip((COPIES, EXPLOITERS), practised(key, growing, games), strict=True))
    return excesses(games, worst, GROWING_VIEWS)


def practised(key: PRNGKeyArray, plan: practice.Plan, games: Tabular) -> Float[Array, "W G T"]:
    """Worst regrets with the package's own teacher, for each kind of newcomers, if anyone joins."""
    count, kinds = len(games.sees), max(1, len(plan.newcomers))
    everywhere = Tabular(*(np.concatenate([x] * kinds) for x in (games.payoff, games.sees)))
    worst = practice.run(key, plan, everywhere, jnp.repeat(jnp.arange(kinds), count)).worst
    return worst.reshape(kinds, count, plan.steps)


def viewed(payoffs: Float[np.ndarray, "N L A B"], views: tuple[str, ...]) -> Tabular:
    """The same games for each view, side by side: one program plays them all."""
    return tabular.stacked([tabular.game(payoff, view) for view in views for payoff in payoffs])


def excesses(games: Tabular, worst: dict[str, Any], views: tuple[str, ...]) -> list[Excess]:
    """Curves in parts of the range of payoffs, apart for each view."""
    value = np.array([maestro(game).value for game in apart(games)])[:, None]
    scale = np.ptp(games.payoff, axis=(1, 2, 3))[:, None]
    curves = {name: np.split((np.asarray(x) - value) / scale, len(views)) for name, x in worst.items()}
    return [Excess(view, name, curves[name][place]) for place, view in enumerate(views) for name in curves]


def apart(games: Tabular) -> list[Tabular]:
    """Stacked games one by one."""
    return [Tabular(*pair) for pair in zip(games.payoff, games.sees, strict=True)]


def marks(steps: int) -> Shaped[np.ndarray, " M"]:
    """Steps at which curves are shown: about 25 for each factor of ten."""
    return np.unique(np.geomspace(1, steps, max(2, round(25 * np.log10(steps)))).astype(int))
