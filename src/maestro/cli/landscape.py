"""`maestro landscape`: estimated regret of a run's students by co-player and level."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

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
from maestro.cli.output import Errors, say
from maestro.cli.table import lines, width

TRUE = "--true"  # compare with what a best response earns
MAX_GAMES = 4096  # environments at once
SHADES = " ░▒▓█"
UNKNOWN = "··"
WORDS = {"independent": "independent regret", "joint": "joint regret", "gap": "gap"}
MEANING = """\
independent regret: where the co-player and the level of the highest means meet (i below)
joint regret: the highest cell (j); b where both are the same; ·· where no episode ended
split-half: cells are picked by one half of the rollouts and scored by the other: noise has no gap"""


def main(arguments: list[str]) -> None:
    """Run `maestro landscape`, or its other half if `--true` is typed."""
    if TRUE in arguments:
        from maestro.cli import true_regret

        return true_regret.main([word for word in arguments if word != TRUE])
    parse(landscape, "landscape", arguments)


def landscape(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")],
    seed: SeedOption = None,
    levels: Annotated[int, tyro.conf.arg(help="Fresh generated levels of each seed.")] = 16,
    rollouts: Annotated[int, tyro.conf.arg(help="Of each pair, an even number.")] = 8,
    dice: DiceOption = 0,
    out: FolderOption = None,
    game: OwnOption = "",
    method: OwnOption = "",
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Estimate the regret of a run's students against each member of their population on fresh levels.

    Each pair of a member and a level is scored as in training, with the run's own estimate of regret. The
    folder gets landscape.json, the picture as .pdf and .png, and its data as .csv. With --true the estimates
    for stored levels are compared with the true regret: maestro landscape --true --help.

    For example:

    maestro landscape runs/maestro-20230501-120000

    maestro landscape runs/maestro-20230501-120000 --seed 0 --levels 32 --rollouts 16 --out landscape

    maestro landscape --true runs/maestro-20230501-120000

    Args:
        run: The folder of the run.
        out: Where the files go; the run's own folder landscape/ by default.
        game: Where the run's game is, if it is one of your own.
        method: Where the run's method is, if it is one of your own.
    """
    from maestro.analysis.landscapes import Size
    from maestro.cli.opening import open_run, seeds_of
    from maestro.runs.folder import RunError

    check_range("--levels", levels, 1, MAX_GAMES)
    check_range("--rollouts", rollouts, 2, MAX_GAMES)
    check_range("--dice", dice, 0, MAX_SEED)
    if rollouts % 2:
        raise Mistake(f"--rollouts: {rollouts} is odd; the two halves are compared")
    if levels * rollouts > MAX_GAMES:
        raise Mistake(f"--levels: {levels} x {rollouts} rollouts are too many; at most {MAX_GAMES} together")
    use_cache()
    try:
        opened = open_run(run, game, method)
        seeds = seeds_of(opened[1], seed)
        out = out or run / "landscape"
        make_folder("--out", out)
        found = measured(run, opened, seeds, Size(levels, rollouts), dice)
    except RunError as error:
        raise Mistake(str(error)) from None
    return partial(show, out, found, as_json)


def measured(run: Path, opened: Any, seeds: list[int], size: Any, dice: int) -> Any:
    """The landscapes of some seeds of a run."""
    from maestro.analysis import landscapes
    from maestro.runs import build, crowd
    from maestro.runs.folder import RunFolder

    game, config, own = opened
    experiment = build.experiment(game, config, own)

    def crowds() -> Iterator[crowd.Crowd]:
        for seed in seeds:
            people = crowd.load(RunFolder(run), game, config, experiment.agent, seed)
            pairs = f"{len(people.members)} co-players x {size.levels} levels"
            Errors().say(
                f"seed {seed}: {pairs}, {size.rollouts} rollouts of {config.ppo.rollout_length} steps"
            )
            yield people

    about = landscapes.about(run.resolve().name, game, config, size, dice)
    return landscapes.Survey(about, landscapes.measure(game, experiment, size, dice, crowds()))


def show(out: Path, survey: Any, as_json: bool) -> None:
    """Write the files; print what they say."""
    from maestro.analysis import figures, landscape_file, landscapes
    from maestro.analysis.figures.landscape import draw

    with writing("--out", out):
        landscape_file.write(out, survey)
        files = figures.files("landscape", out)
        figures.write(draw([survey]), files)
    if as_json:
        return say(json.dumps({"folder": str(out), **landscape_file.to_json(survey)}, indent=1))
    say(MEANING)
    for number, seed in survey.seeds.items():
        at = landscapes.places(seed)
        say(f"\nseed {number}, the student of {seed.student}; darker is more regret\n" + heat_map(seed, at))
        rows = [row_of(name, landscapes.regrets(seed), seed, at) for name in WORDS]
        say("\n".join(lines(rows, width())))
    if len(survey.seeds) > 1:
        rows = [mean_of(name, landscapes.averages(survey.seeds.values())) for name in WORDS]
        say(f"\nmean of {len(survey.seeds)} seeds (95 % confidence)\n" + "\n".join(lines(rows, width())))
    say("\n" + "\n".join(str(path) for path in (out / landscape_file.FILE, *files)))


def heat_map(seed: Any, at: dict[str, tuple[int, int]]) -> str:
    """Two characters for each cell, a letter in those that are marked."""
    import numpy as np

    known = seed.scores[~np.isnan(seed.scores)]
    low, span = (known.min(), max(known.max() - known.min(), 1e-9)) if known.size else (0.0, 1.0)
    size = max(map(len, seed.members))
    found = []
    for i, name in enumerate(seed.members):
        cells = [shade(share) for share in ((seed.scores[i] - low) / span).tolist()]
        for mark, (row, column) in at.items() if known.size else ():
            if row == i:
                both = at["independent"] == at["joint"]
                cells[column] = ("b" if both else mark[0]) + cells[column][1]
        found.append(f"{name:>{size}} |{''.join(cells)}|")
    return "\n".join(found)


def shade(share: float) -> str:
    """A cell by its place between the lowest and the highest."""
    return UNKNOWN if share != share else 2 * SHADES[min(len(SHADES) - 1, int(share * len(SHADES)))]


def text_of(value: float | None) -> str:
    """A number that may be unknown."""
    return "unknown" if value is None or value != value else f"{value:.3f}"


def row_of(name: str, values: dict[str, float], seed: Any, at: dict[str, tuple[int, int]]) -> dict[str, str]:
    """A row of the table of one seed."""
    row, column = at.get(name, (0, 0))
    where = f"{seed.members[row]}, level {column + 1}" if name in at and seed.episodes.any() else ""
    split = text_of(values[f"split_{name}"])
    return {"": WORDS[name], "regret": text_of(values[name]), "split-half": split, "where": where}


def mean_of(name: str, means: dict[str, dict[str, Any]]) -> dict[str, str]:
    """A row of the table of means."""

    def told(mean: dict[str, Any]) -> str:
        sure = "" if mean["low_95"] != mean["low_95"] else f" ({mean['low_95']:.3f} to {mean['high_95']:.3f})"
        return f"{text_of(mean['mean'])}{sure}, {mean['seeds']} seed" + "s" * (mean["seeds"] != 1)

    return {"": WORDS[name], "regret": told(means[name]), "split-half": told(means[f"split_{name}"])}
