"""`maestro duel`: two players on one level, watched, filmed or counted."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.analysis.video import ENDINGS
from maestro.cli.arguments import (
    MAX_SEED,
    Mistake,
    check_output,
    check_range,
    find_level,
    parse,
    use_cache,
    with_examples,
    writing,
)
from maestro.cli.opening import PlayedOption, played_game
from maestro.cli.options import JsonFlag
from maestro.cli.output import console, say
from maestro.games import Game

MAX_GAMES = 100_000
RANDOM = "random"  # instead of a level: a generated one


def main(arguments: list[str]) -> None:
    """Run `maestro duel`."""
    parse(duel, "duel", arguments)


@with_examples
def duel(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    a: Annotated[str, tyro.conf.arg(metavar="PLAYER", help="In the student's seat.")] = "random",
    b: Annotated[
        str,
        tyro.conf.arg(
            metavar="PLAYER",
            help="In the opponent's seat; by default the game's last script.",
            help_behavior_hint="",
        ),
    ] = "",
    game: PlayedOption = "",
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same game.")] = 0,
    games: Annotated[int, tyro.conf.arg(help="How many; more than one are only counted.")] = 1,
    video: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="Film it into this .mp4 or .gif.", help_behavior_hint=""),
    ] = None,
    speed: Annotated[float, tyro.conf.arg(help="Steps per second on the terminal and in films.")] = 12.0,
    as_json: JsonFlag = False,
) -> Callable[[], None]:
    """Let two players meet; watch them on a terminal, film them, or count the wins of many games.

    Players: random, another scripted player of the game (a wrong name lists them), an agent that comes with
    the package (maestro agents), the .safetensors file of an agent, or a run's student as RUN:SEED.

    For example:

    maestro duel {level} --a random --b {player}

    maestro duel random --seed 3 --video duel.mp4

    maestro duel {other_level} --a {player} --b {other_player} --games 1000

    Args:
        level: A name of `maestro levels list`, a file, or `random` for a generated one.
    """
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--games", games, 1, MAX_GAMES)
    check_range("--speed", speed, 0.1, 100)
    if as_json and games == 1:
        raise Mistake("--json: tells the counts of many games, and --games is 1")
    use_cache()
    known = played_game(game, (a, b))
    if video is not None:
        check_output("--video", video, ENDINGS)
        if games > 1:
            raise Mistake(f"--video: films one game, and --games is {games}")
        if known.draw.picture is None:
            raise Mistake(f"--video: {known.name} has no pictures to film")
    if known.environment().num_agents != 2:
        raise Mistake(f"--game: {known.name} has {known.environment().num_agents} players; a duel needs two")
    names = (("--a", a), ("--b", b or list(known.players)[-1]))
    players = [find_player(option, known, name) for option, name in names]
    if games > 1:
        return partial(say, count(known, seed, level, players, games, as_json))
    return play(known, seed, level, players, video, speed)


def find_player(option: str, game: Game, name: str) -> Any:
    """A player by its name, its file or its run; one that comes with the package keeps its name."""
    from maestro.games import shipped
    from maestro.runs import players

    try:
        player = players.find(game, name)
    except ValueError as error:
        raise Mistake(f"{option}: {error}") from None
    known = shipped.find(game.name, name) is not None and name.lower() not in game.players
    return player.replace(name=players.called(game, name)) if known else player


def count(game: Game, seed: int, value: str, players: list[Any], games: int, as_json: bool = False) -> str:
    """Play many games, each on a new level where that is random; how they ended."""
    import jax
    import jax.numpy as jnp

    from maestro.evaluation.play import play as play_games
    from maestro.evaluation.play import step_bound

    level_key, key = jax.random.split(jax.random.key(seed))
    env = game.environment()
    if value == RANDOM:
        levels = jax.jit(jax.vmap(env.sample_level))(jax.random.split(level_key, games))
    else:
        found = find_level(game, value)[1]
        levels = jax.tree.map(lambda x: jnp.tile(x[None], (games, *[1] * x.ndim)), found)
    keys = jax.random.split(key, games)
    a, b = players
    outcome = play_games(keys, env, a, b, levels, step_bound(levels)).outcome
    won, lost, drawn = (int(jnp.sum(kind)) for kind in (outcome > 0, outcome < 0, outcome == 0))
    if as_json:
        counts = {"level": value, "seed": seed, "games": games, "a": a.name, "b": b.name}
        return json.dumps({**counts, "a_won": won, "b_won": lost, "drawn": drawn}, indent=1)
    return f"{games} games: A {a.name} won {won}, B {b.name} won {lost}, drawn {drawn}"


def play(
    game: Game, seed: int, value: str, players: list[Any], film: Path | None, speed: float
) -> Callable[[], None]:
    """Play one game; returns what shows it."""
    import jax

    from maestro.evaluation.play import episode, step_bound

    level_key, key = jax.random.split(jax.random.key(seed))
    env = game.environment()
    name, level = (RANDOM, env.sample_level(level_key)) if value == RANDOM else find_level(game, value)
    say(f"{name}: A {players[0].name} against B {players[1].name}, seed {seed}")
    level, played = jax.device_get((level, episode(key, env, level, *players, step_bound(level))))
    names = [player.name for player in players]
    return partial(show, game, level, played, names, film, speed)


def show(game: Game, level: Any, played: Any, names: list[str], film: Path | None, speed: float) -> None:
    """Film a game or show it on the terminal, and say how it ended."""
    from maestro.analysis import video
    from maestro.analysis.film import frames_of, how_it_ended, states_of

    if film is not None:
        with writing("--video", film):
            video.write(film, frames_of(game.draw, level, played, names), speed)
    else:
        watch(game, level, list(states_of(played)), speed)
    ended = how_it_ended(played, f"A {names[0]}", f"B {names[1]}")
    say(ended + (f"; film in {film}" if film is not None else ""))


def watch(game: Game, level: Any, states: list[Any], speed: float) -> None:
    """Show the game as it went on a terminal; elsewhere only how it ended."""
    from rich.live import Live
    from rich.text import Text

    screen, terminal = console(), game.draw.terminal
    if not sys.stdout.isatty():
        screen.print(terminal(level, states[-1]), highlight=False)
        return
    with Live(console=screen, auto_refresh=False) as live:
        for step, state in enumerate(states):
            caption = f"\n[dim]step {step} of {int(level.time_limit)}[/]"
            live.update(Text.from_markup(terminal(level, state) + caption), refresh=True)
            time.sleep(1 / speed)
