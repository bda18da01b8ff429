"""`maestro evaluate`: students on unseen levels against unseen opponents, and against best responses."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from maestro.cli.arguments import (
    Mistake,
    check_output,
    check_range,
    make_folder,
    parse,
    use_cache,
    with_examples,
    writing,
)
from maestro.cli.crossplay import BatchOption, Who, everyone, labels_of, play_of
from maestro.cli.opening import PlayedOption, open_run, played_game
from maestro.cli.options import JsonFlag
from maestro.cli.output import say
from maestro.cli.progress import reporting
from maestro.cli.table import lines, own, width
from maestro.games import Game

if TYPE_CHECKING:
    from maestro.analysis.crossplay import CrossPlay
    from maestro.analysis.kept import Kept
    from maestro.runs.reporter import Reporter

MAX_UPDATES = 1_000_000
VALIDATION = "validation"
RESPONSES = "exploiters"  # the folder of a run's best responses
Targets = list[tuple[Any, Any]]  # runs and their settings


def main(arguments: list[str]) -> None:
    """Run `maestro evaluate`."""
    parse(evaluate, "evaluate", arguments)


SplitOption = Annotated[str, tyro.conf.arg(metavar="NAME", help="Its levels and its opponents.")]
LevelsOption = Annotated[
    str,
    tyro.conf.arg(
        metavar="LEVELS",
        help="Others than the split's: generated:64, or names with commas between.",
        help_behavior_hint="",
    ),
]
AgainstOption = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="WHO", help="Others than the split's: runs, agents, players.", help_behavior_hint=""
    ),
]
EvenOption = Annotated[
    int, tyro.conf.arg(help="On each level from each seat: even, as worst cases need halves.")
]
ExploitOption = Annotated[
    int, tyro.conf.arg(help="Also train a best response to each student of the runs for so many updates.")
]
RollOption = Annotated[int, tyro.conf.arg(help="Of the dice.")]
TableOption = Annotated[
    Path | None, tyro.conf.arg(metavar="FILE", help="The games as a .csv.", help_behavior_hint="")
]


@with_examples
def evaluate(
    who: Who,
    split: SplitOption = VALIDATION,
    levels: LevelsOption = "",
    against: AgainstOption = (),
    episodes: EvenOption = 2,
    exploit: ExploitOption = 0,
    game: PlayedOption = "",
    seed: RollOption = 0,
    batch: BatchOption = 0,
    out: TableOption = None,
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Measure how robust students are: shares and returns against each opponent, and in the worst cells.

    A split is a fixed set of levels with scripted opponents: tune on `validation`, look at `test` once.
    CVaR is the mean return in the worst tenth of all (level, opponent) cells; cells are picked on one half
    of the games and scored on the other, as the worst of many noisy cells looks worse than it is. If it is
    interrupted, the same command goes on where it was.

    For example:

    maestro evaluate runs/maestro runs/plr-fsp

    maestro evaluate runs/maestro --split test --against {player} runs/plr-fsp

    maestro evaluate runs/maestro --exploit 200
    """
    from maestro.analysis import kept
    from maestro.analysis.crossplay import CrossPlay

    found = played_game(game, who)
    refuse(who, episodes, exploit, out)
    use_cache()
    opponents = against or opponents_of(found, split, bool(levels))
    play = play_of(found, who, levels or split, episodes // 2, seed, batch)
    labels = labels_of(found, (*who, *opponents))
    sides = [everyone(found, names, labels=labels) for names in (who, opponents)]
    what = CrossPlay(found.name, play, sides[0], against=sides[1][0])
    students = targets(game, found, who, labels) if exploit else []
    with kept.opened(what) as before:
        result, table = measured(what, before, as_json)
        if out is not None:
            write_table(out, table)
        if exploit:
            with reporting(as_json) as reporter:
                result["exploitability"] = exploited(found, students, exploit, reporter)
    return partial(show, result, "levels" if levels else "split", found.shares, as_json)


def refuse(who: tuple[str, ...], episodes: int, exploit: int, out: Path | None) -> None:
    """What cannot be done is told before anything is played."""
    if episodes % 2:
        raise Mistake(f"--episodes: {episodes} is odd; worst cases need halves")
    check_range("--exploit", exploit, 0, MAX_UPDATES)
    if exploit and not any(Path(name).is_dir() for name in who):
        raise Mistake("--exploit: needs the folder of a run, whose settings a best response is trained with")
    if out is not None:
        check_output("--out", out, (".csv",))


def opponents_of(game: Game, split: str, has_levels: bool) -> tuple[str, ...]:
    """The scripted opponents of a split."""
    if split not in game.splits:
        from maestro.evaluation.level_sets import unknown_split

        more = "--against" if has_levels else "both --levels and --against"
        raise Mistake(f"--split: {unknown_split(game, split)}; or {more}")
    if not game.splits[split].opponents:
        raise Mistake(f"--split: {split!r} has no opponents; name some: --against")
    return game.splits[split].opponents


def measured(what: "CrossPlay", kept: "Kept", as_json: bool) -> Any:
    """(what was found, the games), with progress; those that are kept are not played again."""
    from maestro.analysis.evaluate import HALVES
    from maestro.analysis.evaluate import evaluate as play_all

    with reporting(as_json) as reporter:

        def report(name: str, done: int, total: int) -> None:
            reporter.show({"doing": f"{name}, {done:,} of {total:,} games"})

        if kept.count():
            parts = HALVES * len(what.blocks)
            reporter.say(f"goes on: {kept.count()} of {parts} parts were played before it was interrupted")
        return play_all(what, report, kept)


def write_table(out: Path, table: Any) -> None:
    """The games as a file."""
    from maestro.evaluation.table import to_csv
    from maestro.runs.files import write_file

    with writing("--out", out):
        write_file(out, to_csv(table).encode())


def targets(typed: str, game: Game, who: tuple[str, ...], labels: Mapping[str, str]) -> Targets:
    """Each run that was named, and its settings, with a folder in it for best responses."""
    from maestro.runs import entrants
    from maestro.runs.folder import RunError

    found = []
    for name, run in entrants.runs_among(game, who, labels).items():
        try:
            found.append((run, open_run(Path(name), typed)[1]))
        except RunError as error:
            raise Mistake(f"who: {error}") from None
        make_folder("--exploit", run.folder.path / RESPONSES)
    return found


def exploited(game: Game, runs: Targets, updates: int, reporter: "Reporter") -> dict[str, Any]:
    """Best responses to the students of each run, kept in the folders of the runs."""
    from maestro.runs import exploiters

    found = {}
    for run, config in runs:
        students = run.students()
        names = [student.name for student in students]
        what = f"best responses to {run.label}" if len(names) > 1 else f"a best response to {names[0]}"

        def report(done: int, mean: float | None, what: str = what) -> None:
            reporter.show({"doing": f"{what}, {done} of {updates} updates"})

        report(0, None)
        frozen = [student.player.params for student in students]
        result, responses = exploiters.exploit(game, config, frozen, updates, report=report)
        exploiters.save(run.folder.path / RESPONSES, config, names, result, responses)
        found[run.label] = result
    return found


def show(found: dict[str, Any], kind: str, shares: Mapping[str, Any], as_json: bool) -> None:
    """What was found."""
    if as_json:
        return say(json.dumps({**found, "levels_are": kind}, indent=1))
    say(f"{kind}: {found['levels']}, {found['games']:,} games, from both seats; intervals over seeds")
    say("\n".join(lines([told(row) | own(row, shares) for row in found["against"]], width())))
    say("")
    for name, robust in found["robustness"].items():
        say(f"{name}: return over {robust['cells']} cells of level and opponent: {words(robust)}")
    for name, result in found.get("exploitability", {}).items():
        response, budget = result["response"], result["budget"]
        say(
            f"{name}: a best response of {budget['updates']} updates ({budget['environment_steps']:,} steps) "
            f"wins {response['won']:.1%}, draws {response['drawn']:.1%}, gains {result['gain']:+.3f} "
            f"({result['gain_95'][0]:+.3f} to {result['gain_95'][1]:+.3f} over {result['units']})"
        )


def words(robust: dict[str, Any]) -> str:
    """Mean, CVaR and worst case with their intervals; naive ones are too low."""
    parts = []
    for name, label in (("mean", "mean"), ("cvar", f"CVaR {robust['alpha']:.0%}"), ("worst", "worst cell")):
        found, naive = robust[name], robust.get(f"naive_{name}")
        ends = [f"{found['low']:+.2f} to {found['high']:+.2f}"] if found["low"] is not None else []
        ends += [f"naive {naive['value']:+.2f}"] if naive else []
        parts.append(f"{label} {found['value']:+.2f}" + f" ({'; '.join(ends)})" * bool(ends))
    return ", ".join(parts)


def told(row: dict[str, Any]) -> dict[str, str]:
    """A row in words."""
    ends = "" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}"
    return {
        "who": row["who"],
        "against": row["against"],
        "seeds": str(row["seeds"]),
        "won": f"{row['won']:.1%}",
        "drawn": f"{row['drawn']:.1%}",
        "lost": f"{row['lost']:.1%}",
        "return": f"{row['return']:+.3f}",
        "95 %": ends,
    }
