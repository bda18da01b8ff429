"""`maestro theory`: what the paper's theory says, run on games small enough to be solved exactly."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from maestro.cli.arguments import MAX_SEED, check_range, make_folder, parse, use_cache, writing
from maestro.cli.options import JsonFlag
from maestro.cli.output import say
from maestro.cli.progress import reporting
from maestro.cli.table import Row, lines, width

if TYPE_CHECKING:
    from maestro.theory.condition import Counterexample, Gaps
    from maestro.theory.report import Findings
    from maestro.theory.table_1 import Table1

Number = tyro.conf.arg(metavar="N")
MOST_GAMES, MOST_STEPS = 1000, 1_000_000
NOTES = """\
excess: the average student's worst regret over (level, co-player), less the exact
minimax regret, as a share of the range of payoffs. worse: in this share of games the
student ends farther away than that of the first teacher of the same games."""


def main(arguments: list[str]) -> None:
    """Run `maestro theory`."""
    parse(theory, "theory", arguments)


def theory(
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("theory"),
    games: Annotated[int, Number] = 20,
    steps: Annotated[int, Number] = 20_000,
    seed: Annotated[int, Number] = 0,
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Run the theory of MAESTRO on tables: Table 1, exact equilibria, and the loop on its way to them.

    Equilibria are solved by linear programs. The loop runs with the package's own teacher, level buffers and
    population, and a tabular student. It takes less than a minute on a CPU and writes pictures and data.

    For example:

    maestro theory

    maestro theory --out my-theory --games 50 --seed 1

    Args:
        out: Where pictures (.svg, .png) and data (.csv) go.
        games: Random games on which the loop runs, for each view of the level.
        steps: Steps of the loop.
        seed: Of the games and of everything that is drawn.
    """
    for option, value, high in (("--games", games, MOST_GAMES), ("--steps", steps, MOST_STEPS)):
        check_range(option, value, 1 if option == "--games" else 100, high)
    check_range("--seed", seed, 0, MAX_SEED)
    make_folder("--out", out)
    from maestro.theory import report

    use_cache()
    with reporting(as_json) as progress:
        found = report.compute(seed, games, steps, lambda text: progress.show({"doing": text}))
    return partial(finish, found, out, as_json)


def finish(found: "Findings", out: Path, as_json: bool) -> None:
    """Write the files and tell what was found."""
    from maestro.theory import figures

    with writing("--out", out):
        files = figures.save(found, out)
    if as_json:
        return say(json.dumps({"data": figures.tables(found), "files": list(map(str, files))}, indent=1))
    say("\n".join([*told(found), "", f"{len(files)} files in {out}"]))


def told(found: "Findings") -> list[str]:
    """The report."""
    from maestro.theory import report

    parts = [table_1(found.table_1), counterexample(found.counterexample), distances(found.gaps)]
    for title, excesses in (
        ("Teachers, random games (4 levels, 3 x 3; all co-players in the population)", found.teachers),
        ("Populations, win-or-lose games (4 levels, 5 x 5; real buffers)", found.populations),
    ):
        rows = [end(row) for row in report.ends(excesses)]
        parts.append([f"{title}, {excesses[0].curves.shape[1]:,} steps", *lines(rows, width())])
    return [line for part in parts for line in [*part, ""]] + NOTES.splitlines()


def table_1(found: "Table1") -> list[str]:
    """What the teacher picks in the paper's Table 1."""
    picks = (("joint", found.joint), ("independent", found.independent))
    return ["Table 1, run by the package's teacher"] + [
        f"  {name} choice: co-player {pick.coplayer} on level {pick.level}, regret {pick.regret:.1f}"
        for name, pick in picks
    ]


def counterexample(found: "Counterexample") -> list[str]:
    """The level on which Theorem 1 fails."""
    mine, nash = (", ".join(f"{x * 11:.0f}/11" for x in row) for row in (found.student, found.nash_student))
    return [
        "Where Theorem 1 fails: one level, U = diag(1, 10)",
        f"  MAESTRO student ({mine}): worst regret {found.regret * 11:.0f}/11, "
        f"guaranteed payoff {found.guarantee * 11:.0f}/11",
        f"  Nash student    ({nash}): guaranteed payoff {found.nash_guarantee * 11:.0f}/11",
        f"  the co-players could gain {found.coplayer_gap * 11:.0f}/11: they do not best-respond",
    ]


def distances(gaps: list["Gaps"]) -> list[str]:
    """How far exact MAESTRO equilibria are from Nash equilibria."""
    rows = [
        {
            "all co-players equally beatable": found.condition,
            "level": found.view,
            "games": str(found.nash.size),
            "largest gap": f"{abs(found.nash.max()):.2g}",
            "mean gap": f"{abs(found.nash.mean()):.2g}",
            "above 1e-6": f"{(found.nash > 1e-6).mean():.0%}",
        }
        for found in gaps
    ]
    outside = gaps[0].outside
    return [
        "Exact MAESTRO equilibria: gap to a (Bayesian) Nash equilibrium",
        *lines(rows, width()),
        "Seen levels that the teacher never chooses carry no promise: even where the condition holds,",
        f"the student is below the Nash guarantee on {(outside > 1e-6).mean():.0%} of {outside.size}.",
    ]


def end(row: dict) -> Row:
    """A line about one way to teach."""
    numbers = {f"{name} excess": f"{row[name]:.4f}" for name in ("median", "most")}
    return (
        {"teacher": row["teacher"], "level": row["level"]}
        | numbers
        | {"worse": f"{row['worse than first']:.0%}"}
    )
