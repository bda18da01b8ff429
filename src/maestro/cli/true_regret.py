"""`maestro landscape --true`: estimated against true regret on the levels that a run has stored."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from maestro.cli.arguments import (
    MAX_SEED,
    Mistake,
    check_range,
    make_folder,
    parse,
    use_cache,
    writing,
)
from maestro.cli.options import DiceOption, FolderOption, JsonFlag, OwnOption, SeedOption
from maestro.cli.output import say
from maestro.cli.progress import reporting
from maestro.cli.table import lines, width

MAX_LEVELS, MAX_GAMES, MAX_UPDATES = 1024, 4096, 1_000_000
MEANING = """\
estimate: the score in the buffer; true regret: what a best response, trained on these levels alone against
this co-player, earns more than the student (95 % interval). It is a lower bound: a response that has not
learned enough earns too little."""


def main(arguments: list[str]) -> None:
    """Run `maestro landscape --true`."""
    parse(true_regret, "landscape --true", arguments)


def true_regret(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")],
    seed: SeedOption = None,
    members: Annotated[
        Literal["most", "all"],
        tyro.conf.arg(help="Whose levels: of the co-player that was served most, or of each."),
    ] = "most",
    levels: Annotated[int, tyro.conf.arg(help="Of each kind: top, middle, random.")] = 12,
    games: Annotated[int, tyro.conf.arg(help="On each level, of the student and of the response.")] = 128,
    updates: Annotated[int, tyro.conf.arg(help="The budget of each best response.")] = 200,
    start: Annotated[
        Literal["student", "scratch"], tyro.conf.arg(help="What a best response begins as.")
    ] = "student",
    rollouts: Annotated[int, tyro.conf.arg(help="For fresh estimates on each level, an even number.")] = 8,
    dice: DiceOption = 0,
    out: FolderOption = None,
    game: OwnOption = "",
    method: OwnOption = "",
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Compare the regret that a run has estimated for its stored levels with the true one.

    From the buffer of a co-player come levels of the highest scores (top), around the median (middle) and any
    (random). For each kind a best response is trained on these levels alone, against that co-player. True
    regret is its mean return less the student's. A call that was stopped goes on with the next co-player.

    For example:

    maestro landscape --true runs/maestro-20230501-120000

    maestro landscape --true runs/maestro-20230501-120000 --members all --levels 8 --updates 400

    Args:
        run: The folder of the run, with a checkpoint.
        out: Where the files go; the run's own folder true_regret/ by default.
        game: Where the run's game is, if it is one of your own.
        method: Where the run's method is, if it is one of your own.
    """
    from maestro.analysis.true_regret import Plan

    check(levels, games, updates, rollouts, dice)
    use_cache()
    out = out or run / "true_regret"
    plan = Plan(levels, games, updates, rollouts, start, dice)
    found = measured(run, (game, method), seed, members == "all", plan, out, as_json)
    return partial(show, out, *found, as_json)


def check(levels: int, games: int, updates: int, rollouts: int, dice: int) -> None:
    """Refuse numbers that make no sense."""
    check_range("--levels", levels, 1, MAX_LEVELS)
    check_range("--games", games, 2, MAX_GAMES)
    check_range("--updates", updates, 1, MAX_UPDATES)
    check_range("--rollouts", rollouts, 2, MAX_GAMES)
    check_range("--dice", dice, 0, MAX_SEED)
    if rollouts % 2:
        raise Mistake(f"--rollouts: {rollouts} is odd; it must be even")


def measured(
    run: Path, typed: tuple[str, str], seed: int | None, everyone: bool, plan: Any, out: Path, as_json: bool
) -> tuple[Any, Any, dict[str, Any], list[Any]]:
    """(game, environment, about, rows) of a run's seeds."""
    from maestro.cli.opening import open_run, seeds_of
    from maestro.curriculum import Source
    from maestro.runs import beginning, build
    from maestro.runs.folder import RunError, RunFolder

    try:
        game, config, own = open_run(run, *typed)
        seeds = seeds_of(config, seed)
        experiment = build.experiment(game, config, own)
        if experiment.teacher.method.levels is Source.NEW:
            raise Mistake(f"{run}: {config.method} stores no levels, so no regret was estimated for any")
        make_folder("--out", out)
        with reporting(as_json) as reporter:
            _, state, _ = beginning.newest_state(RunFolder(run), config, experiment, reporter)
            work = Work(run, game, config, experiment, state, plan, out, reporter)
            rows = [row for number in seeds for row in work.seed(number, everyone)]
    except RunError as error:
        raise Mistake(str(error)) from None
    return game, experiment.env, work.about, rows


class Work:
    """Co-player after co-player; what an earlier call has measured in the same way is not measured again."""

    def __init__(
        self,
        run: Path,
        game: Any,
        config: Any,
        experiment: Any,
        state: Any,
        plan: Any,
        out: Path,
        reporter: Any,
    ) -> None:
        from maestro.analysis import true_regret as analysis

        self.analysis, self.out, self.reporter = analysis, out, reporter
        self.first, self.state = config.seed, state
        self.about = analysis.about(run.resolve().name, game, config, int(state.updates), plan)
        self.survey = analysis.Survey(game, experiment, plan)

    def seed(self, number: int, everyone: bool) -> list[Any]:
        """The rows of one seed."""
        state = self.analysis.of_seed(self.state, number - self.first)
        slots = self.analysis.chosen(state.curriculum, everyone)
        if not slots:
            raise Mistake(f"seed {number}: no level is stored yet; train for longer")
        return [row for slot in slots for row in self.member(number, state, slot)]

    def member(self, number: int, state: Any, slot: int) -> list[Any]:
        """The rows of one co-player."""
        from maestro.analysis import true_regret_file as file

        name = f"seed {number}, {self.analysis.name_of(slot, self.survey.experiment.schedule)}"
        rows = file.read_part(self.out, number, slot, self.about)
        if rows is not None:
            self.reporter.say(f"{name}: measured before")
            return rows
        self.reporter.say(f"{name}: {self.survey.plan.levels} levels of each kind")
        rows = self.survey.measure(number, state, slot, self.reporter)
        with writing("--out", self.out):
            return file.write_part(self.out, number, slot, self.about, rows)


def show(out: Path, game: Any, env: Any, about: dict[str, Any], rows: list[Any], as_json: bool) -> None:
    """Write the files; print what they say."""
    from maestro.analysis import true_regret_file as file
    from maestro.analysis.figures import style
    from maestro.analysis.figures import true_regret as figures

    with writing("--out", out), style.drawing():
        found = file.write(out, about, rows)
        pictures = {"scatter": figures.scatter(found), "levels": figures.gallery(found, game, env)}
        paths = [out / file.FILE, out / file.TABLE]
        for name, picture in pictures.items():
            for ending in (".pdf", ".png") if picture is not None else ():
                style.write(picture, out / f"{name}{ending}")
                paths.append(out / f"{name}{ending}")
    if as_json:
        return say(json.dumps({"folder": str(out), **found}, indent=1))
    say(MEANING)
    say("\n" + "\n".join(lines([kind_row(*item) for item in found["kinds"].items()], width())))
    say("\nrank correlation of each estimate with true regret (95 %)")
    told = [{"score": name, **{k: figures.told(v) for k, v in sets.items()}}
            for name, sets in found["rank_correlation"].items()]  # fmt: skip
    say("\n".join(lines(told, width())))
    say("\n" + "\n".join(map(str, paths)))


def kind_row(kind: str, told: dict[str, Any]) -> dict[str, str]:
    """A row of the table of kinds."""

    def share(who: str) -> str:
        return f"{told[f'{who}_return']:+.2f} ({told[f'{who}_won']:.0%} won)"

    low, high = told["true_regret_95"]
    ends = "" if low is None else f" ({low:+.2f} to {high:+.2f})"
    return {
        "levels": f"{told['levels']} {kind}",
        "estimate": f"{told['stored']:.2f}",
        "student": share("student"),
        "response": share("response"),
        "true regret": f"{told['true_regret']:+.2f}{ends}",
    }
