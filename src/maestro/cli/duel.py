"""`maestro duel`: two players on one level, watched, filmed or counted."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.cli.arguments import MAX_SEED, Mistake, check_output, check_range, find_level, parse, writing
from maestro.video import ENDINGS

MAX_GAMES = 100_000


def main(arguments: list[str]) -> None:
    """Run `maestro duel`."""
    parse(duel, "duel", arguments)


def duel(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    a: Annotated[str, tyro.conf.arg(metavar="PLAYER", help="In the student's seat.")] = "random",
    b: Annotated[str, tyro.conf.arg(metavar="PLAYER", help="In the opponent's seat.")] = "hunter",
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same game.")] = 0,
    games: Annotated[int, tyro.conf.arg(help="How many; more than one are only counted.")] = 1,
    video: Annotated[
        Path | None, tyro.conf.arg(metavar="FILE", help="Film it into this .mp4 or .gif.")
    ] = None,
    speed: Annotated[float, tyro.conf.arg(help="Steps per second on the terminal and in films.")] = 12.0,
) -> None:
    """Let two players meet; watch them on a terminal, film them, or count the wins of many games.

    Players: random, turret (turns and shoots), wall-follower, hunter (sees the whole map), or the
    .safetensors file of a trained agent.

    For example:

    maestro duel FourRooms --a random --b hunter

    maestro duel random --seed 3 --video duel.mp4

    maestro duel Cross --a hunter --b turret --games 1000

    Args:
        level: A name of `maestro levels list`, a text file, or `random` for a generated one.
    """
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--games", games, 1, MAX_GAMES)
    check_range("--speed", speed, 0.1, 100)
    if video is not None:
        check_output("--video", video, ENDINGS)
        if games > 1:
            raise Mistake(f"--video: films one game, and --games is {games}")
    players = [find_player(option, name) for option, name in (("--a", a), ("--b", b))]
    if games > 1:
        count(seed, level, players, games)
    else:
        play(seed, level, players, video, speed)


def find_player(option: str, name: str) -> Any:
    """A scripted player by its name, or a trained one by its file."""
    from maestro.envs.lasertag.players import named

    try:
        if name.endswith(".safetensors"):
            from maestro.export import load

            return load(name)
        return named(name)
    except ValueError as error:
        raise Mistake(f"{option}: {error}") from None


def count(seed: int, value: str, players: list[Any], games: int) -> None:
    """Play many games, each on a new level where that is random, and print how they ended."""
    import jax
    import jax.numpy as jnp

    from maestro.duel import duel_many
    from maestro.envs.lasertag.game import LaserTag

    level_key, key = jax.random.split(jax.random.key(seed))
    if value == "random":
        levels = jax.jit(jax.vmap(LaserTag().sample_level))(jax.random.split(level_key, games))
    else:
        levels = jax.tree.map(lambda x: jnp.tile(x[None], (games, *[1] * x.ndim)), find_level(value)[1])
    tally = duel_many(key, LaserTag(), levels, *players)
    a, b = (player.name for player in players)
    print(f"{games} games: A {a} won {tally.wins}, B {b} won {tally.losses}, drawn {tally.draws}")


def play(seed: int, value: str, players: list[Any], film: Path | None, speed: float) -> None:
    """Play one game and show it."""
    import jax

    from maestro import duel, video
    from maestro.envs.lasertag.draw import draw
    from maestro.envs.lasertag.game import LaserTag

    level_key, key = jax.random.split(jax.random.key(seed))
    name, level = ("random", LaserTag().sample_level(level_key)) if value == "random" else find_level(value)
    print(f"{name}: A {players[0].name} against B {players[1].name}, seed {seed}", flush=True)
    level, episode = jax.device_get((level, duel.duel(key, LaserTag(), level, *players)))
    states = [jax.tree.map(lambda x, t=t: x[t], episode.states) for t in range(int(episode.length) + 1)]
    if film is not None:
        frames = (draw(level, state) for state in states)
        writing("--video", film, lambda: video.write(film, frames, speed))
    else:
        watch(level, states, speed)
    result = {1: f"A {players[0].name} won", 0: "a draw", -1: f"B {players[1].name} won"}[
        int(episode.outcome)
    ]
    print(f"{result} after {int(episode.length)} steps" + (f"; film in {film}" if film is not None else ""))


def watch(level: Any, states: list[Any], speed: float) -> None:
    """Show the game as it went on a terminal; elsewhere only how it ended."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from maestro.envs.lasertag.draw import terminal

    console = Console()
    if not sys.stdout.isatty():
        console.print(terminal(level, states[-1]), highlight=False)
        return
    with Live(console=console, auto_refresh=False) as live:
        for state in states:
            caption = f"\n[dim]step {int(state.time)} of {int(level.time_limit)}[/]"
            live.update(Text.from_markup(terminal(level, state) + caption), refresh=True)
            time.sleep(1 / speed)
