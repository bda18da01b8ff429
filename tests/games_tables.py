"""Random tables of games for the tests of statistics."""

import itertools

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from maestro.evaluation import table
from maestro.evaluation.table import Table


def random_table(seed: int, sizes: list[int], levels: int, share: float, updates: int = 100) -> Table:
    """Methods with so many seeds, each pair once; every row was played with this probability."""
    dice = np.random.default_rng(seed)
    entrants = [(f"method {m}", 3 * s + m) for m, size in enumerate(sizes) for s in range(size)]
    rows = []
    for ((a, s), (b, t)), level, seat in itertools.product(
        itertools.combinations(entrants, 2), range(levels), (0, 1)
    ):
        if dice.random() >= share:
            continue
        wins, draws, losses = dice.integers(0, 4, 3).tolist()
        score = float(dice.normal())
        key = (updates, a, s, b, t, f"level {level}", seat, wins + draws + losses, wins, draws, losses)
        rows.append((*key, score, -score, float(dice.uniform(5, 50)), *dice.uniform(0, 9, 2).tolist()))
    names = (*table.COLUMNS, "a_grass", "b_grass")
    return table.of({name: [row[i] for row in rows] for i, name in enumerate(names)})


def rows_of(games: Table) -> list[dict]:
    """The rows as dicts."""
    rows = zip(*(column.tolist() for column in games.values()), strict=True)
    return [dict(zip(games, row, strict=True)) for row in rows]


recipes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "sizes": st.lists(st.integers(1, 3), min_size=2, max_size=4),
        "levels": st.integers(1, 3),
        "share": st.sampled_from([1.0, 0.8, 0.3, 0.05]),
    }
)  # arguments of random_table
same_every_time = settings(max_examples=30, deadline=None, derandomize=True, database=None)
