"""Write the tables of docs/regret_study.md and regret_details.md, made of the runs of studies/regret.toml.

python docs/scripts/regret_tables.py runs/regret
python docs/scripts/regret_tables.py --fresh runs/regret_test   # those of ten fresh seeds
python docs/scripts/regret_tables.py --true runs/regret         # of best responses to the pieces
python docs/scripts/regret_tables.py --four runs/regret         # of the last four pieces
python docs/scripts/regret_tables.py --half runs/regret_500     # of students of 500 updates
python docs/scripts/regret_tables.py --laptop runs/regret_tiny  # of studies/regret_tiny.toml

A table whose source is missing stays as it is, and is named; with `--half` so do the rows of cohorts that
are not below the folder. Sources, below the folder:

runs/COHORT                       the cohorts, by `maestro study` or `maestro train`
crossplay/generated-64/table.csv  `maestro study`
crossplay/test/table.csv          `maestro study`, with `--fresh`
crossplay/ten/table.csv           `maestro crossplay` of the ten cohorts of the table "combinations"
evaluate/SPLIT/games/table.csv    `maestro study`; of regret_test also `maestro evaluate --split validation`
hunter/table.csv                  `maestro evaluate RUNS --levels generated:64 --against hunter`
exploit/exploit.json              `maestro study`: a list, a part for each student; or in its place
exploit/COHORT.json               `maestro evaluate RUN --exploit N --json`
true/COHORT.json                  `maestro landscape --true RUN --json`, with `--true`
"""

import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import study_tables
from page_tables import amid, on_page
from study_tables import lines, number, shares, told

from maestro.analysis.curves import logged, records
from maestro.analysis.standings import against
from maestro.evaluation import comparison, round_robin, table
from maestro.evaluation.resampling import student_interval
from maestro.regret import SCORES
from maestro.runs.folder import RunFolder

PAGES = [Path(__file__).parent.parent / name for name in ("regret_study.md", "regret_details.md")]
study_tables.PLACE = study_tables.PLACE.replace("study_tables", "regret_tables")
LENGTHS = (500, 1000)  # updates: the preset's own, and twice as many
ON_A_LAPTOP = 600  # updates of studies/regret_tiny.toml
CHOSEN, OWN, OLD = "learnability", "maestro", 50  # updates after which a buffer should be half full
TRUE = {"top": "true regret there", "middle": "around the median", "random": "at random"}
SERVED = {
    "served score": "replayed.regret",
    "served games won": "replayed.won",
    "their steps": "replayed.episode_length",
    "path": "replayed.levels.shortest_path",
}


def chosen(rows):
    """[seeds, slots]: how often each was chosen, of all cycles; where the two halves of a cycle may have
    different co-players, how often each was replayed against."""
    cycles = np.array([row["cycles"] for row in rows], float)
    whom = np.array([row.get("replayed_against") or row["chosen"] for row in rows], float)
    return np.einsum("t,tsp->sp", cycles, whom) / cycles.sum()


def joined(metrics, shape):
    """[seeds, slots]: the first line of the log that has each member, in updates."""
    found = np.full(shape, np.inf)
    for row in reversed(metrics):
        for seed, count in enumerate(row["members"]):
            found[seed, 1 : 1 + int(count)] = row["updates"]
    return found


def capture(run, end):
    """Of the second half of the first `end` updates, by name; a value for each seed."""
    metrics = [row for row in records(RunFolder(run).metrics) if row["updates"] <= end]
    share = chosen([row for row in metrics if row["updates"] > end / 2])
    fill, found = np.array(metrics[-1]["buffer_fill"], float), {"largest share": share.max(axis=1)}
    if fill.shape == share.shape:  # a buffer for each member
        old = joined(metrics, share.shape) <= end - OLD
        found["least filled"] = np.where(old, fill, 1.0).min(axis=1)
    for name, key in SERVED.items():
        curve = logged(metrics, key)
        found[name] = np.nanmean(curve.values[curve.updates > end / 2], axis=0)
    return found


def of_seeds(values):
    """The mean, and the extremes of the seeds."""
    if values is None:
        return "one buffer"
    mean, low, high = (f"{x:.2f}".removeprefix("0") for x in (values.mean(), values.min(), values.max()))
    return f"{mean} ({low} to {high})"


def captures(runs, end):
    """A row for each cohort."""
    names = ("largest share", "least filled", "served score", "served games won", "path")
    rows = [["cohort", *names]]
    for run in runs:
        found = capture(run, end)
        rows.append([f"`{run.name}`", *(of_seeds(found.get(name)) for name in names)])
    return lines(*rows)


def standings(games):
    """The round robin at both lengths, and how far each is ahead of the paper's method; the best first."""
    ends = sorted(set(games["updates"].tolist()))
    cubes = [round_robin.cube(table.select(games, updates=[end])) for end in ends]
    told_of = [int(end) or ON_A_LAPTOP for end in ends]  # of a cross-play without milestones: 0
    heads = [head.format(end) for end in told_of for head in ("return after {}", "ahead after {}")]
    rows = []
    for name in cubes[0].methods:
        values = [comparison.round_robin_estimate(cube, name) for cube in cubes]
        ahead = ["" if name == OWN else told(comparison.difference(cube, name, OWN)) for cube in cubes]
        cells = [text for value, more in zip(values, ahead, strict=True) for text in (told(value), more)]
        rows.append((values[-1].value, [f"`{name}`", *cells]))
    return lines(["cohort", *heads], *(row for _, row in sorted(rows, reverse=True)))


def scripted(games):
    """Against scripted opponents, after all updates; intervals over seeds."""
    rows = [["cohort", "opponent", "return", "95 % interval", "won / drawn / lost"]]
    for one in against(games):
        ends = " to ".join(number(one[end]) for end in ("low", "high"))
        parts = shares(one[kind] for kind in ("won", "drawn", "lost"))
        rows.append([f"`{one['who']}`", one["against"], number(one["return"]), ends, parts])
    return lines(rows[0], *sorted(rows[1:], key=lambda row: (row[1], -float(row[2]))))


def differences(study):
    """How far the chosen variant is ahead of the others, on both sets of levels and at both lengths."""
    rows = [["ahead of", *(f"{where}, {end}" for where in ("generated", "test") for end in LENGTHS)]]
    tables = [games_of(study, name) for name in ("generated-64", "test")]
    cubes = [round_robin.cube(table.select(games, updates=[end])) for games in tables for end in LENGTHS]
    for other in cubes[-1].methods:
        if other != CHOSEN:
            rows.append([f"`{other}`", *(told(comparison.difference(cube, CHOSEN, other)) for cube in cubes)])
    return lines(*rows)


def responses(study):
    """{cohort: (what was told of its best responses, the gain of each)}."""
    found = {}
    for path in sorted((study / "exploit").glob("*.json")):
        said = json.loads(path.read_text())
        if isinstance(said, list):  # by `maestro study`
            names = dict.fromkeys(one["cohort"] for one in said)
            found |= {name: joint([one for one in said if one["cohort"] == name]) for name in names}
        else:
            (one,) = said["exploitability"].values()
            earned = [one[who]["return_by_seed"] for who in ("response", "agent_against_itself")]
            found[path.stem] = one, np.subtract(*earned)
    return found


def joint(students):
    """What was told of the students of a cohort one by one, as one; the interval is over students."""
    each = np.array([one["gain"] for one in students])
    kinds = {kind: np.mean([one["response"][kind] for one in students]) for kind in ("won", "drawn", "lost")}
    ends = [float(end[0]) for end in student_interval(each[None])]
    return {"gain": each.mean(), "gain_95": ends, "response": kinds}, each


def exploited(study):
    """What best responses to each student gain."""
    rows = [["cohort", "gain", "95 % interval", "won / drawn / lost", "gain, student by student"]]
    for name, (one, each) in responses(study).items():
        shown = " ".join(number(x, 2) for x in np.sort(each))
        parts = shares(one["response"][kind] for kind in ("won", "drawn", "lost"))
        ends = " to ".join(number(end) for end in one["gain_95"])
        rows.append([f"`{name}`", number(one["gain"]), ends, parts, shown])
    return lines(rows[0], *sorted(rows[1:], key=lambda row: float(row[1])))


def surveys(study):
    """{cohort: what was told of its true regret}; those whose stored levels were worth most come first."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted((study / "true").glob("*.json"))}
    return dict(sorted(found.items(), key=lambda item: -item[1]["kinds"]["top"]["true_regret"]))


def worth(study):
    """True regret of the levels with the highest scores, around the median and at random."""
    rows = [["cohort", "highest estimates", "student's return", *TRUE.values()]]
    for name, one in surveys(study).items():
        top = one["kinds"]["top"]
        values = [(one["kinds"][kind]["true_regret"], *one["kinds"][kind]["true_regret_95"]) for kind in TRUE]
        shown = [f"{top['stored']:.2f}".removeprefix("0"), number(top["student_return"], 2)]
        rows.append([f"`{name}`", *shown, *(interval(*value) for value in values)])
    return lines(*rows)


def ranks(study):
    """How the stored and the fresh estimates of each score go with true regret, over all levels of a seed."""
    rows = [["cohort", "stored", *(f"`{name}`" for name in SCORES)]]
    for name, one in surveys(study).items():
        found = [one["rank_correlation"][score]["all"] for score in ("stored", *SCORES)]
        cells = [interval(*(value[end] for end in ("value", "low_95", "high_95"))) for value in found]
        rows.append([f"`{name}`", *cells])
    return lines(*rows)


def interval(*numbers):
    """A value with the ends of its interval; bold where that leaves out 0."""
    value, low, high = (number(x, 2) for x in numbers)
    return f"**{value} ({low} to {high})**" if numbers[1] * numbers[2] > 0 else f"{value} ({low} to {high})"


def games_of(study, name):
    """Those of one cross-play, at both lengths."""
    return table.select(table.read(played(study, name)), updates=list(LENGTHS))


def played(study, name):
    """The table of a cross-play."""
    return study / "crossplay" / name / "table.csv"


def met(study, split=""):
    """The table of games against scripted opponents: those of a split, or the hunter."""
    return study / "evaluate" / split / "games" / "table.csv" if split else study / "hunter" / "table.csv"


def fixed(path):
    """(source, table) of games against scripted opponents."""
    return path, lambda: scripted(table.read(path))


def of_pieces(study, runs):
    """The tables of the pieces one by one: {name: (source, what makes it)}."""
    ten = played(study, "ten")
    return {f"capture, {end}": (study / "runs", partial(captures, runs, end)) for end in LENGTHS} | {
        "round robin": (played(study, "generated-64"), lambda: standings(games_of(study, "generated-64"))),
        "combinations": (ten, lambda: standings(table.read(ten))),
        "hunter": fixed(met(study)),
        "scripted": fixed(met(study, "validation")),
    }


def of_fresh(study, runs):
    """The tables of ten fresh seeds, with the pieces that were trained beside them."""
    generated, test = (played(study, name) for name in ("generated-64", "test"))
    return {f"fresh capture, {end}": (study / "runs", partial(captures, runs, end)) for end in LENGTHS} | {
        "fresh round robin": (generated, lambda: standings(games_of(study, "generated-64"))),
        "test round robin": (test, lambda: standings(games_of(study, "test"))),
        "differences": (test, partial(differences, study)),
        "exploitability": (study / "exploit", partial(exploited, study)),
        "fresh hunter": fixed(met(study)),
        "fresh scripted": fixed(met(study, "validation")),
        "test hunter": fixed(met(study, "test")),
    }


def of_responses(study, runs):
    """The tables of best responses to the pieces."""
    return {
        "true regret": (study / "true", partial(worth, study)),
        "rank correlation": (study / "true", partial(ranks, study)),
        "pieces exploited": (study / "exploit", partial(exploited, study)),
        "last hunter": fixed(met(study)),
    }


def of_games(prefix, study):
    """Tables of levels, games and best responses, whose names have something before them."""
    found = {
        "true regret": (study / "true", partial(worth, study)),
        "rank correlation": (study / "true", partial(ranks, study)),
        "hunter": fixed(met(study)),
        "scripted": fixed(met(study, "validation")),
        "exploited": (study / "exploit", partial(exploited, study)),
    }
    return {f"{prefix} {name}": table for name, table in found.items()}


def of_four(study, runs):
    """The tables of the last four pieces, with the paper's method, at both lengths."""
    games = played(study, "generated-64")
    return {f"four capture, {end}": (study / "runs", partial(captures, runs, end)) for end in LENGTHS} | {
        "four round robin": (games, lambda: standings(games_of(study, "generated-64"))),
        **of_games("four", study),
    }


def of_half(study, runs):
    """The tables of students of the preset's own length; cohorts that are not there keep their rows."""
    found = of_games("half", study)
    return {name: (source, partial(with_others, name, make)) for name, (source, make) in found.items()}


def with_others(name, make):
    """A table with the rows of other cohorts that stand on the page."""
    return lines(*amid(text(), name, make(), HALF[name]))


def of_laptop(study, runs):
    """The tables of the pieces at the size of preset `tiny`."""
    games = played(study, "generated-64")
    return {
        "laptop capture": (study / "runs", partial(captures, runs, ON_A_LAPTOP)),
        "laptop round robin": (games, lambda: standings(table.read(games))),
        **of_games("laptop", study),
    }


def made(tables):
    """The tables whose sources are there; the others are named."""
    for name, (source, _) in tables.items():
        if not source.exists():
            print(f"{name}: as it was; there is no {source}")
    return {name: make() for name, (source, make) in tables.items() if source.exists()}


HALF = {  # by what the rows of a table stand in order; a minus: falling
    "half true regret": "-true regret there",
    "half rank correlation": "-stored",
    "half hunter": "-return",
    "half scripted": "-return",
    "half exploited": "gain",
}
SHARED = {"capture, 1000": "a", "fresh capture, 1000": "d", "four capture, 1000": "e"}
GAMES = {"round robin": "a", "combinations": "b", "fresh round robin": "d", "four round robin": "e"}
OVERVIEW = {  # head: its parts (column, {table: letter}), of which the first table that has the cohort counts
    "largest share / least filled": [("largest share", SHARED), ("least filled", SHARED)],
    "true regret / rank": [
        ("true regret there", {"true regret": "c", "four true regret": "e"}),
        ("stored", {"rank correlation": "c", "four rank correlation": "e"}),
    ],
    "ahead of `maestro`": [("ahead after 1000", GAMES)],
    "hunter": [("return", {"hunter": "b", "fresh hunter": "d", "last hunter": "c", "four hunter": "e"})],
    "gain": [("gain", {"pieces exploited": "c", "exploitability": "d", "four exploited": "e"})],
}


def text():
    """Both pages."""
    return "\n".join(page.read_text() for page in PAGES)


def fill(found):
    """Write tables into their places, on whichever page these are."""
    if lost := [name for name in found if f"<!-- {name}: made by" not in text()]:
        raise SystemExit(f"no page has a place for {', '.join(lost)}")
    for page in PAGES:
        old = page.read_text()
        here = {name: table for name, table in found.items() if f"<!-- {name}: made by" in old}
        study_tables.PAGE = page
        page.write_text(study_tables.filled(old, here))


def overview(page):
    """A row for each cohort that the page explains, of its own tables, each number with its letter."""
    parts = [part for some in OVERVIEW.values() for part in some]
    read = {name: on_page(page, name) for _, tables in parts for name in tables}
    explained = page.partition("## The cohorts")[2].partition("## Overview")[0]
    rows = [["cohort", *OVERVIEW]]
    for cohort in re.findall(r"^\| (`[a-z-]+`) \|", explained, re.MULTILINE):
        cells = [[first(read, cohort, *part) for part in some] for some in OVERVIEW.values()]
        rows.append([cohort, *(" / ".join(some) if any(some) else "-" for some in cells)])
    return lines(*rows)


def first(read, cohort, column, tables):
    """A number, its interval where that stands in a column of its own, and where it is from; or nothing."""
    for name, letter in tables.items():
        row = read[name].get(cohort)
        if row:
            ends = f" ({row['95 % interval']})" if "95 % interval" in row else ""
            return f"{row[column]}{ends} {letter}" if row[column] else ""
    return ""


def main():
    kind, study = sys.argv[1], Path(sys.argv[-1])
    folders = sorted((study / "runs").iterdir()) if (study / "runs").is_dir() else []
    runs = [path for path in folders if RunFolder(path).metrics.is_file()]
    found = made(MAKERS.get(kind, of_pieces)(study, runs))
    fill(found)
    fill({"overview": overview(text())})


MAKERS = {
    "--fresh": of_fresh,
    "--true": of_responses,
    "--four": of_four,
    "--half": of_half,
    "--laptop": of_laptop,
}

if __name__ == "__main__":
    main()
