"""`maestro crossplay`: everybody against everybody, as a table of games and as a round robin."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.cli.arguments import MAX_SEED, Mistake, check_range, parse, use_cache, with_examples
from maestro.cli.opening import PlayedOption, played_game
from maestro.cli.options import JsonFlag
from maestro.cli.output import say
from maestro.cli.table import lines, own, width
from maestro.games import Game

MAX_EPISODES = 10_000
MAX_BATCH = 1_000_000
Who = Annotated[
    tyro.conf.Positional[tuple[str, ...]],
    tyro.conf.arg(metavar="WHO", help="Runs' folders, agents' files, names of players."),
]
LevelsOption = Annotated[
    str,
    tyro.conf.arg(
        metavar="LEVELS", help="A split (test, validation), generated:64, or names with commas between."
    ),
]
BatchOption = Annotated[
    int,
    tyro.conf.arg(help="Games at once; by default as many as the device is good for.", help_behavior_hint=""),
]


def main(arguments: list[str]) -> None:
    """Run `maestro crossplay`."""
    parse(crossplay, "crossplay", arguments)


@with_examples
def crossplay(
    who: Who,
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER", help="Where the games go.")],
    levels: LevelsOption = "test",
    episodes: Annotated[int, tyro.conf.arg(help="Of each pair on each level from each seat.")] = 5,
    milestones: tyro.conf.FlagCreatePairsOff[bool] = False,
    itself: tyro.conf.FlagCreatePairsOff[bool] = False,
    game: PlayedOption = "",
    seed: Annotated[int, tyro.conf.arg(help="Of the dice.")] = 0,
    batch: BatchOption = 0,
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Let all students of several runs, agents and scripted players meet, and compare them.

    Every pair of seeds plays every level from both seats. The folder holds table.csv, one row per pair of
    methods, pair of seeds, level and seat; if it is interrupted, the same command goes on where it was.

    For example:

    maestro crossplay runs/maestro runs/plr-fsp runs/dr-sp --out round-robin

    maestro crossplay runs/maestro {player} {other_player} --levels {level},{other_level} --out with-scripts

    maestro crossplay runs/* --levels generated:64 --milestones --out along-training

    Args:
        milestones: Also those of earlier in training, at every number of updates that all runs have kept.
        itself: Also each method against itself, its own seeds against each other.
    """
    from maestro.analysis import crossplay as games

    found = played_game(game, who)
    use_cache()
    play = play_of(found, who, levels, episodes, seed, batch)
    groups = everyone(found, who, milestones)
    if min(len(group) for group in groups.values()) < 2 and not itself:
        raise Mistake("who: one alone has nobody to play against; name another, or --itself")
    what = games.CrossPlay(found.name, play, groups, itself=itself)
    table = played(out, what, as_json)
    return partial(show, out, what, table, as_json)


def play_of(game: Game, who: tuple[str, ...], levels: str, episodes: int, seed: int, batch: int) -> Any:
    """What every pair plays; generated levels are those of the first run's settings."""
    from maestro.evaluation import level_sets
    from maestro.evaluation.cross_play import Play, default_batch
    from maestro.runs import entrants
    from maestro.runs.folder import RunError

    check_range("--episodes", episodes, 1, MAX_EPISODES)
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--batch", batch, 0, MAX_BATCH)
    if not who:
        raise Mistake("who: nobody is named; folders of runs, files of agents or names of players")
    try:
        runs = [entrants.open_run(Path(name), game) for name in who if entrants.is_run(name)]
        env = runs[0].environment if runs else game.environment()
        chosen = level_sets.find(game, levels, env, seed)
    except RunError as error:
        raise Mistake(f"who: {error}") from None
    except ValueError as error:
        raise Mistake(f"--levels: {error}") from None
    if env.num_agents != 2:
        raise Mistake(f"--game: {game.name} has {env.num_agents} players; these games need two")
    return Play(env, chosen, episodes, seed, batch or default_batch(), game.shares)


def labels_of(game: Game, who: tuple[str, ...]) -> dict[str, str]:
    """What to call each of those who were named."""
    from maestro.runs import entrants
    from maestro.runs.folder import RunError

    try:
        return entrants.labels_of(game, who)
    except (RunError, ValueError) as error:
        raise Mistake(f"who: {error}") from None


def everyone(
    game: Game, who: tuple[str, ...], milestones: bool = False, labels: Mapping[str, str] | None = None
) -> dict[int, Any]:
    """Who takes part, by label; for each number of updates that all runs have kept, if asked for."""
    from maestro.runs import entrants
    from maestro.runs import milestones as kept
    from maestro.runs.folder import RunError, RunFolder

    try:
        if not milestones:
            return {0: entrants.find_all(game, who, labels=labels)}
        runs = [set(kept.points(RunFolder(Path(name)))) for name in who if entrants.is_run(name)]
        if not runs or not set.intersection(*runs):
            raise Mistake("--milestones: there is no number of updates at which all of them kept students")
        points = sorted(set.intersection(*runs))
        return {updates: entrants.find_all(game, who, updates, labels) for updates in points}
    except (RunError, ValueError) as error:
        raise Mistake(f"who: {error}") from None


def played(out: Path, what: Any, as_json: bool) -> Any:
    """The table of all games, with progress."""
    from maestro.analysis import crossplay as games
    from maestro.cli.progress import reporting
    from maestro.runs.lock import Locked

    blocks = [block.name for block in what.blocks]
    try:
        with reporting(as_json) as reporter:

            def report(name: str, done: int, total: int) -> None:
                place = f"{blocks.index(name) + 1} of {len(blocks)}"
                reporter.show({"doing": f"{place}: {name}, {done:,} of {total:,} games"})

            return games.run(out, what, report)
    except (games.PlanError, Locked) as error:
        raise Mistake(f"--out: {error}") from None
    except OSError as error:
        raise Mistake(f"--out: {str(out)!r} cannot be written ({error.strerror or error})") from None


def show(out: Path, what: Any, table: Any, as_json: bool) -> None:
    """The round robin of the last updates."""
    from maestro.analysis.standings import standings
    from maestro.evaluation.table import select

    last = select(table, updates=int(table["updates"].max()))
    rows, play, games = standings(last), what.play, int(last["episodes"].sum())
    if as_json:
        about = {"folder": str(out), "levels": play.levels.name, "games": games}
        return say(json.dumps({**about, "standings": rows}, indent=1))
    say(
        f"round robin on {play.levels.name} ({len(play.levels.names)} levels), {games:,} games, "
        f"{play.episodes} of each pair on each level from each seat; mean over all others, then over seeds "
        "(± standard error)"
    )
    say("\n".join(lines([told(row) | own(row, play.shares) for row in rows], width())))
    say(f"{out / 'table.csv'}  all games")


def told(row: dict[str, Any]) -> dict[str, str]:
    """A row of the standings in words."""
    error = "" if row["error"] is None else f" ± {row['error']:.3f}"
    ends = "" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}"
    return {
        "method": row["method"],
        "seeds": str(row["seeds"]),
        "return": f"{row['return']:+.3f}{error}",
        "95 %": ends,
        "won": f"{row['won']:.1%}",
        "drawn": f"{row['drawn']:.1%}",
        "lost": f"{row['lost']:.1%}",
        "normalized": "" if row["normalized"] is None else f"{row['normalized']:.2f}",
    }
