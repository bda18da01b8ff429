"""Slow twins of the statistics, from their definitions, in plain loops over rows of games (dicts)."""

import itertools
import math


def mean(values):
    """Of what is there; NaN of nothing."""
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else math.nan


def views(row):
    """A row as a sees it, and as b sees it: (a, a_seed, b, b_seed, level, seat, what a got)."""
    own = {name[2:]: value for name, value in row.items() if name[:2] == "a_"}
    theirs = {name[2:]: value for name, value in row.items() if name[:2] == "b_"}
    common = {"episodes": row["episodes"], "draws": row["draws"], "length": row["length"]}
    yield (
        (row["a"], row["a_seed"], row["b"], row["b_seed"], row["level"], row["seat"]),
        (own | common | {"wins": row["wins"], "losses": row["losses"]}),
    )
    yield (
        (row["b"], row["b_seed"], row["a"], row["a_seed"], row["level"], 1 - row["seat"]),
        (theirs | common | {"wins": row["losses"], "losses": row["wins"]}),
    )


def quantity_of(games, quantity):
    """(sum over episodes, number that it is to be divided by)."""
    wins, draws, losses, episodes = (games[name] for name in ("wins", "draws", "losses", "episodes"))
    if quantity == "decisive":
        return wins - losses, wins + losses
    if quantity == "win_rate":
        return wins + 0.5 * draws, episodes
    if quantity in ("won", "drawn", "lost"):
        return {"won": wins, "drawn": draws, "lost": losses}[quantity], episodes
    if quantity == "affine":
        return episodes * (games["return"] + 1) / 2, episodes
    return episodes * games[quantity], episodes


def cells(rows, quantity):
    """{(a, a_seed, b, b_seed, level): value}, of the cells that have one."""
    seats = {}
    for row in rows:
        for (*place, seat), games in views(row):
            key = (*place, 0 if quantity == "decisive" else seat)
            total, number = quantity_of(games, quantity)
            old = seats.get(key, (0, 0))
            seats[key] = (old[0] + total, old[1] + number)
    found = {}
    for (*place, _), (total, number) in seats.items():
        if number:
            found.setdefault(tuple(place), []).append(total / number)
    return {place: mean(values) for place, values in found.items()}


def entrants(rows):
    """{method: its seeds in order}, and all levels, in the order in which they come."""
    methods, levels = {}, []
    for side in ("a", "b"):
        for row in rows:
            methods.setdefault(row[side], set()).add(row[f"{side}_seed"])
            if row["level"] not in levels:
                levels.append(row["level"])
    return {method: sorted(seeds) for method, seeds in methods.items()}, levels


def against(found, seeds, levels, a, s, b):
    """Seed s of a against all of b on these levels."""
    return mean(found.get((a, s, b, t, level), math.nan) for t in seeds[b] for level in levels)


def round_robin(found, seeds, levels, a, s):
    """Over all other methods, each the same."""
    return mean(against(found, seeds, levels, a, s, b) for b in seeds if b != a)


def one_to_one(found, seeds, levels, a, s, b):
    """Against one other method."""
    return math.nan if a == b else against(found, seeds, levels, a, s, b)


def matrix(found, a, b):
    """All cells of two methods."""
    return mean(value for (x, _, y, _, _), value in found.items() if (x, y) == (a, b))


def mean_error(values):
    """(mean, standard error, number) of the values that are there."""
    there = [value for value in values if not math.isnan(value)]
    if len(there) < 2:
        return mean(there), math.nan, len(there)
    squares = sum((value - mean(there)) ** 2 for value in there)
    return mean(there), math.sqrt(squares / (len(there) - 1) / len(there)), len(there)


def normalized(by_method):
    """[(mean, error)] on one level: min-max of the methods' means; 1/2 and 0 where there is no range."""
    results = [mean_error(values) for values in by_method]
    means = [result[0] for result in results if not math.isnan(result[0])]
    if not means or max(means) - min(means) <= 1e-12:
        return [(m - m + 0.5, e * 0) for m, e, _ in results]
    span = max(means) - min(means)
    return [((m - min(means)) / span, e / span) for m, e, _ in results]


def interquartile_mean(values):
    """Every value four times over, sorted, without the first and the last quarter."""
    there = sorted(value for value in values if not math.isnan(value))
    fourfold = [value for value in there for _ in range(4)]
    return mean(fourfold[len(there) : 3 * len(there)])


def probability_of_improvement(x, y):
    """x, y: lists over seeds of lists over levels."""
    by_level = []
    for level in range(len(x[0])):
        wins = [
            math.nan if math.isnan(u + v) else (u > v) + 0.5 * (u == v)
            for u, v in itertools.product((seed[level] for seed in x), (seed[level] for seed in y))
        ]
        by_level.append(mean(wins))
    return mean(by_level)


def bootstrap_variance(seeds, statistic):
    """The exact variance of a statistic over all samples of the seeds with replacement."""
    values = [statistic(list(sample)) for sample in itertools.product(seeds, repeat=len(seeds))]
    return sum((value - mean(values)) ** 2 for value in values) / len(values)


def tail(picked_by, by, alpha):
    """The mean of the worst share of the cells that were played in both halves, one tiny part at a time."""
    order = sorted((value, i) for i, value in enumerate(picked_by) if not math.isnan(value))
    if not order:
        return math.nan
    left = amount = max(alpha * len(order), 1.0)
    total = 0.0
    for _, group in itertools.groupby(order, key=lambda one: one[0]):
        equal = [i for _, i in group]
        taken = min(left, len(equal))
        total += taken * mean(by[i] for i in equal)
        left -= taken
    return total / amount


def robustness(episodes, alpha):
    """(worst, cvar, naive worst, naive cvar) of one seed; episodes: lists over cells of lists."""
    parts = [[mean(cell[half::2]) for cell in episodes] for half in (0, 1)]
    lost = [math.isnan(u + v) for u, v in zip(*parts, strict=True)]
    first, second = ([math.nan if gone else v for v, gone in zip(part, lost, strict=True)] for part in parts)
    whole = [(u + v) / 2 for u, v in zip(first, second, strict=True)]
    split = [mean([tail(first, second, share), tail(second, first, share)]) for share in (0, alpha)]
    return (*split, tail(whole, whole, 0), tail(whole, whole, alpha))
