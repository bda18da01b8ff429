"""Write the tables of docs/results.md that are made of a study.

python docs/scripts/study_tables.py runs/first
"""

import csv
import json
import math
import re
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from maestro.analysis.figures.style import ordered
from maestro.evaluation import comparison, round_robin, table
from maestro.methods import PAPER_METHODS

PAGE = Path(__file__).parent.parent / "results.md"
PLACE = "<!-- {}: made by docs/scripts/study_tables.py -->\n\n{}\n\n<!-- end of {} -->"
SPLITS = {"test": "test", "generated": "generated-64"}  # the cross-plays
OWN, VARIANTS = "maestro", ("maestro-r", "maestro-p")


def number(value, digits=3):
    """+.138 for 0.1381; a zero has no sign."""
    text = f"{value:+.{digits}f}".replace("0.", ".", 1)
    return text[1:] if float(text) == 0 else text


def share(value):
    """.21 for 0.214."""
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1.00"


def shares(values):
    """Won / drawn / lost."""
    return " / ".join(share(value) for value in values)


def told(estimate):
    """A value with its interval; bold where that leaves out 0."""
    text = f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"
    return f"**{text}**" if estimate.low * estimate.high > 0 else text


def lines(*rows):
    """A table; the first row is its head."""
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest]).replace(
        "| --- ", "|---"
    )


def last(study, name):
    """The games of a cross-play at the end of training."""
    games = table.read(study / "crossplay" / name / "table.csv")
    return table.select(games, updates=[int(games["updates"].max())])


def standing(games):
    """The round robin, the best first."""
    cube = round_robin.cube(games)
    found = round_robin.round_robin(cube)
    mean, error, _ = round_robin.mean_error(found)
    kinds = [round_robin.cube(games, kind) for kind in ("won", "drawn", "lost")]
    parts = np.stack([round_robin.mean_error(round_robin.round_robin(kind))[0] for kind in kinds], axis=-1)
    rows = [["method", "mean return", "standard error", "95 % interval", "won / drawn / lost", "each seed"]]
    for i in np.argsort(-mean):
        whole = comparison.round_robin_estimate(cube, cube.methods[i])
        ends = f"{number(whole.low)} to {number(whole.high)}"
        seeds = " ".join(number(x) for x in found[i, : len(cube.seeds[i])])
        name = f"`{cube.methods[i]}`"
        rows.append([name, number(mean[i]), f"{error[i]:.3f}"[1:], ends, shares(parts[i]), seeds])
    return lines(*rows)


def among(games, methods):
    """The round robin between some methods only, on each set of levels."""
    cubes = {name: round_robin.cube(table.select(own, a=methods, b=methods)) for name, own in games.items()}
    rows = [["method", *(f"mean return, {name}" for name in cubes)]]
    for method in methods:
        rows.append(
            [f"`{method}`", *(told(comparison.round_robin_estimate(x, method)) for x in cubes.values())]
        )
    return lines(*rows)


def against(cubes):
    """One method against each other one, and how far it is ahead of it in the round robin."""
    heads = ("one to one, {}", "ahead in the round robin, {}")
    rows = [[f"`{OWN}` and", *(head.format(name) for head in heads for name in cubes)]]
    methods = [name for name in next(iter(cubes.values())).methods if name != OWN]
    for other in ordered(methods):
        duels = [told(comparison.one_to_one_estimate(cube, OWN, other)) for cube in cubes.values()]
        ahead = [told(comparison.difference(cube, OWN, other)) for cube in cubes.values()]
        rows.append([f"`{other}`", *duels, *ahead])
    return lines(*rows)


def differing(cube):
    """The pairs whose interval of the difference in the round robin leaves out 0, the better one first."""
    rows = []
    for a, b in combinations(cube.methods, 2):
        found = comparison.difference(cube, a, b)
        if found.low * found.high > 0:
            rows.append((a, b) if found.value > 0 else (b, a))
    return rows


def better(cubes):
    """Who is ahead of whom, with an interval that leaves out 0."""
    pairs = {name: differing(cube) for name, cube in cubes.items()}
    rows = [["method", *(f"ahead of, {name}" for name in cubes)]]
    for method in ordered({a for own in pairs.values() for a, _ in own}):
        names = [ordered(b for a, b in own if a == method) for own in pairs.values()]
        rows.append([f"`{method}`", *(", ".join(f"`{name}`" for name in own) or "nobody" for own in names)])
    counts = [f"{len(own)} of {math.comb(len(cubes[name].methods), 2)}" for name, own in pairs.items()]
    return lines(*rows, ["pairs", *counts])


def specialists(games):
    """Generalists against each specialist on its level."""
    names = sorted(set(games["a"].tolist()) | set(games["b"].tolist()))
    general = [name for name in names if "@" not in name]
    rows = [["specialist", *(f"`{name}` against it" for name in general)]]
    for expert in (name for name in names if "@" in name):
        own = table.select(games, level=[expert.partition("@")[2]])
        cube = round_robin.cube(own)
        rows.append(
            [f"`{expert}`", *(told(comparison.one_to_one_estimate(cube, a, expert)) for a in general)]
        )
    return lines(*rows)


def hunted(study):
    """Against the scripted opponent of the test split."""
    rows = [["method", "mean return", "95 % interval", "won / drawn / lost"]]
    with (study / "evaluate" / "test" / "ranking.csv").open() as file:
        for row in csv.DictReader(file):
            mean, low, high = (number(float(row[name])) for name in ("return", "low", "high"))
            parts = shares(float(row[kind]) for kind in ("won", "drawn", "lost"))
            rows.append([f"`{row['method']}`", mean, f"{low} to {high}", parts])
    return lines(*rows)


def exploited(study):
    """What best responses gain."""
    head = ["student", "gain of the responses", "each response's return", "the student against itself"]
    rows = [[*head, "in training, last 25 updates"]]
    for one in json.loads((study / "exploit" / "exploit.json").read_text()):
        gain = f"{number(one['gain'])} ({' to '.join(number(x) for x in one['gain_95'])})"
        seeds = " ".join(number(x) for x in one["response"]["return_by_seed"])
        late = " ".join(number(x) for x in np.mean(one["curve"]["return"][-5:], axis=0))
        name = f"`{one['cohort']}`, seed {one['seed']}"
        rows.append([name, gain, seeds, number(one["agent_against_itself"]["return"]), late])
    return lines(*rows)


def regrets(study):
    """What the marks of the landscape say, seed by seed."""
    found = json.loads((study / "landscape" / OWN / "landscape.json").read_text())
    names = ("independent", "joint", "gap", "split_independent", "split_joint")
    rows = [["seed", *(name.replace("split_", "split-half ") for name in names)]]
    for one in found["seeds"]:
        values = [one["regret"][name] for name in names]
        rows.append([str(one["seed"]), *("unknown" if x is None else number(x) for x in values)])
    return lines(*rows)


def tables(study):
    """All of them by name."""
    games = {name: last(study, folder) for name, folder in SPLITS.items()}
    cubes = {name: round_robin.cube(own) for name, own in games.items()}
    found = {f"round robin, {name}": standing(own) for name, own in games.items()}
    found |= {"baselines": among(games, [name for name in PAPER_METHODS if name not in VARIANTS])}
    found |= {"one to one": against(cubes), "differences": better(cubes)}
    found |= {"specialists": specialists(last(study, "specialists")), "hunter": hunted(study)}
    return found | {"exploitability": exploited(study), "landscape": regrets(study)}


def filled(page, found):
    """A page with its tables in their places."""
    for name, text in found.items():
        place = re.escape(PLACE).replace(re.escape("{}"), "{}").format(name, ".*?", name)
        page, count = re.subn(place, lambda _, n=name, t=text: PLACE.format(n, t, n), page, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has no place for the table {name!r}, or several")
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(), tables(Path(sys.argv[1]))))
