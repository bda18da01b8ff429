"""Everyone against everyone: how each method does against all others (paper, section 5 and appendix C)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from maestro.evaluation.table import SHARES, Table, extras, mirrored

QUANTITIES = ("return", "affine", "win_rate", *SHARES, "decisive", "length")
Numbers = np.ndarray | np.generic
SAME = 1e-12  # means that lie no further apart are equal


@dataclass(frozen=True)
class Cube:
    """A quantity of everyone against everyone, after one number of updates."""

    methods: tuple[str, ...]
    seeds: tuple[tuple[int, ...], ...]
    levels: tuple[str, ...]
    values: Float[np.ndarray, "A S B S L"]  # mean over seats; NaN: nobody played, or no such seed

    def index(self, method: str) -> int:
        """The place of a method."""
        if method not in self.methods:
            raise ValueError(f"{method} is not in the table; there are {', '.join(self.methods)}")
        return self.methods.index(method)


def cube(table: Table, quantity: str = "return") -> Cube:
    """The quantity of a against b for each pair of seeds and each level, mean over the two seats.

    quantity: return, affine ((return + 1) / 2), win_rate (wins and half the draws), won, drawn, lost,
    decisive ((wins - losses) / (wins + losses), both seats together), length, or a game's own.
    """
    updates = np.unique(table["updates"]).tolist()
    if len(updates) > 1:
        raise ValueError(f"the table has several numbers of updates, select one: {updates}")
    both = mirrored(table)
    methods, levels = distinct(both["a"]), distinct(both["level"])
    seeds = tuple(tuple(np.unique(both["a_seed"][both["a"] == name]).tolist()) for name in methods)
    width = max(map(len, seeds), default=0)
    shape = (len(methods), width, len(methods), width, len(levels), 2)
    a, b = ((both[side], both[f"{side}_seed"]) for side in "ab")
    seat = both["seat"] * (quantity != "decisive")
    index = (*entrants(a, methods, seeds), *entrants(b, methods, seeds), codes(both["level"], levels), seat)
    return Cube(methods, seeds, levels, mean_of(gathered(both, quantity, index, shape), axis=-1))


def distinct(names: np.ndarray) -> tuple[str, ...]:
    """Each name once, in the order of appearance."""
    return tuple(dict.fromkeys(names.tolist()))


def codes(values: np.ndarray, known: tuple) -> Int[np.ndarray, " R"]:
    """The place of each value among those known."""
    place = {value: i for i, value in enumerate(known)}
    return np.array([place[value] for value in values.tolist()], np.int64)


def entrants(
    side: tuple[np.ndarray, np.ndarray], methods: tuple[str, ...], seeds: tuple[tuple[int, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The places of method and seed of one side in each row."""
    method, seed = codes(side[0], methods), np.zeros(len(side[0]), np.int64)
    for i, own in enumerate(seeds):
        seed[method == i] = np.searchsorted(own, side[1][method == i])
    return method, seed


def gathered(table: Table, quantity: str, index: tuple, shape: tuple[int, ...]) -> np.ndarray:
    """The rows at their places, those of one place weighed by their episodes; NaN where there is none."""
    value, weight = per_row(table, quantity)
    if not value.size:
        return np.full(shape, np.nan)
    flat, size = np.ravel_multi_index(index, shape), int(np.prod(shape))
    total, weights = (np.bincount(flat, part, size) for part in (value * weight, weight))
    return divided(total, weights).reshape(shape)


def per_row(table: Table, quantity: str) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
    """The quantity of a in each row, and the games it is a mean of."""
    wins, draws, losses = (table[name].astype(float) for name in ("wins", "draws", "losses"))
    games = wins + draws + losses
    if quantity == "decisive":
        return np.nan_to_num(divided(wins - losses, wins + losses)), wins + losses
    counts = {"win_rate": wins + draws / 2, "won": wins, "drawn": draws, "lost": losses}
    if quantity in counts:
        return np.nan_to_num(divided(counts[quantity], games)), games
    if quantity in ("return", "affine"):
        return table["a_return"] if quantity == "return" else (table["a_return"] + 1) / 2, games
    if quantity != "length" and quantity not in extras(table):
        known = ", ".join((*QUANTITIES, *extras(table)))
        raise ValueError(f"the table has no quantity {quantity!r}; there are {known}")
    return table["length" if quantity == "length" else f"a_{quantity}"], games


def divided(total: Numbers, count: Numbers) -> np.ndarray:
    """total / count, NaN where nothing was counted."""
    return np.divide(total, count, out=np.full(np.shape(total), np.nan), where=np.asarray(count) > 0)


def mean_of(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """The mean of what is there, NaN where nothing is."""
    there = ~np.isnan(values)
    return divided(np.sum(values, axis, where=there), np.sum(there, axis))


def others(cube: Cube) -> Float[np.ndarray, "A S B S L"]:
    """The values without a method's games against itself."""
    itself = np.eye(len(cube.methods), dtype=bool)[:, None, :, None, None]
    return np.where(itself, np.nan, cube.values)


def round_robin(cube: Cube) -> Float[np.ndarray, "A S"]:
    """Of each seed: the mean over all other methods, each the mean over its seeds and the levels."""
    return mean_of(mean_of(others(cube), axis=(3, 4)), axis=2)


def per_level(cube: Cube) -> Float[np.ndarray, "A S L"]:
    """Of each seed on each level: the mean over all other methods, each the mean over its seeds."""
    return mean_of(mean_of(others(cube), axis=3), axis=2)


def one_to_one(cube: Cube, method: str) -> Float[np.ndarray, "B S"]:
    """Of each seed of a method: the mean against each other one, over its seeds and the levels."""
    return mean_of(others(cube)[cube.index(method)], axis=(2, 3)).T


def matrix(cube: Cube) -> Float[np.ndarray, "A B"]:
    """Each method against each: the mean over all cells that were played."""
    return mean_of(cube.values, axis=(1, 3, 4))


def mean_error(values: Float[np.ndarray, "*b S"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, standard error, number) over the seeds that are there; one seed has no error (NaN)."""
    seeds = np.sum(~np.isnan(values), axis=-1)
    mean = mean_of(values, axis=-1)
    squares = np.nansum((values - mean[..., None]) ** 2, axis=-1)
    return mean, np.asarray(np.sqrt(divided(squares, (seeds - 1) * seeds))), np.asarray(seeds)


def scale(means: Float[np.ndarray, "A L"]) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    """(origin, unit) of each level, that makes the methods' means span 0 to 1; infinite if they are equal."""
    there = ~np.isnan(means)
    low = np.min(means, axis=0, where=there, initial=np.inf)
    span = np.max(means, axis=0, where=there, initial=-np.inf) - low
    return np.where(span > SAME, low, 0), np.where(span > SAME, span, np.inf)


def scaled(values: Float[np.ndarray, "A S L"]) -> Float[np.ndarray, "A S L"]:
    """Each seed on the scale of its level."""
    origin, unit = scale(mean_of(values, axis=1))
    return np.where(np.isinf(unit), 0.5, 0) + (values - origin) / unit


def normalized(values: Float[np.ndarray, "A S L"]) -> tuple[np.ndarray, np.ndarray]:
    """(means, standard errors) [A, L] over seeds, on the scale of each level; no error if all are equal."""
    mean, error, _ = mean_error(np.moveaxis(values, 1, -1))
    origin, unit = scale(mean)
    return np.where(np.isinf(unit), 0.5, 0) + (mean - origin) / unit, error / unit
