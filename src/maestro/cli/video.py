"""`maestro video`: a film of two players, with what each of them sees and expects."""

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
from maestro.cli.duel import RANDOM, find_player
from maestro.cli.opening import PlayedOption, played_game
from maestro.cli.output import say
from maestro.games import Game

MAX_GAMES = 1000
OTHERS = 2  # folded into the key of the games after the first, which itself is split in two
PLAYER = "PLAYER"


def main(arguments: list[str]) -> None:
    """Run `maestro video`."""
    parse(video, "video", arguments)


@with_examples
def video(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    out: Annotated[Path, tyro.conf.arg(metavar="FILE", help="The film, a .mp4 or .gif.")],
    a: Annotated[str, tyro.conf.arg(metavar=PLAYER, help="In the student's seat.")] = "random",
    b: Annotated[
        str,
        tyro.conf.arg(
            metavar=PLAYER,
            help="In the opponent's seat; by default the game's last script.",
            help_behavior_hint="",
        ),
    ] = "",
    game: PlayedOption = "",
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same film.")] = 0,
    longest_of: Annotated[int, tyro.conf.arg(metavar="N", help="Film the longest of so many games.")] = 1,
    speed: Annotated[float, tyro.conf.arg(help="Steps per second.")] = 12.0,
    views: Annotated[bool, tyro.conf.arg(help="Show what each player sees, and its value over time.")] = True,
) -> Callable[[], None]:
    """Film a game of two players: beside it what each of them sees, below it the value it expects.

    Players: a scripted player of the game, an agent that comes with the package (maestro agents), the
    .safetensors file of an agent, or a run's student as RUN:SEED. Only trained ones expect a value.

    For example:

    maestro video {level} --a runs/maestro:0 --b {player} --out film.mp4

    maestro video random --a runs/maestro:0 --b runs/dr-sp:0 --longest-of 20 --out film.gif

    Args:
        level: A name of `maestro levels list`, a file, or `random` for a generated one.
    """
    from maestro.runs.players import called

    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--longest-of", longest_of, 1, MAX_GAMES)
    check_range("--speed", speed, 0.1, 100)
    check_output("--out", out, ENDINGS)
    use_cache()
    known = played_game(game, (a, b))
    if known.draw.picture is None:
        raise Mistake(f"--game: {known.name} has no pictures to film")
    if known.environment().num_agents != 2:
        raise Mistake(f"--game: {known.name} has {known.environment().num_agents} players; a film needs two")
    typed = (("--a", a), ("--b", b or list(known.players)[-1]))
    players = [find_player(option, known, name) for option, name in typed]
    names = [called(known, name) for _, name in typed]
    played = longest(known, seed, level, players, longest_of)
    return partial(film, known, played, names, views, out, speed)


def film(game: Game, played: Any, names: list[str], views: bool, out: Path, speed: float) -> None:
    """Draw and write."""
    from maestro.analysis import video as films
    from maestro.analysis.film import PAUSE, frames_of, frames_with_views, how_it_ended

    level, told, minds = played
    if views:
        frames = list(frames_with_views(game.draw, level, told, minds, names))
    else:
        frames = frames_of(game.draw, level, told, names)
    with writing("--out", out):
        films.write(out, frames + frames[-1:] * PAUSE, speed)
    say(f"{how_it_ended(told, f'A {names[0]}', f'B {names[1]}')}; film in {out}")


def longest(game: Game, seed: int, value: str, players: list[Any], count: int) -> Any:
    """The longest of some games, the earliest of those equally long: (level, episode, what went on in minds).

    The first is the one that `maestro duel` plays with this seed.
    """
    import jax
    import jax.numpy as jnp

    from maestro.evaluation.play import episode, play, step_bound
    from maestro.evaluation.replay import minds

    env, first, (a, b) = game.environment(), jax.random.key(seed), players
    others = jax.random.fold_in(first, OTHERS)
    each = jnp.stack([first, *(jax.random.fold_in(others, i) for i in range(1, count))])
    level_keys, keys = jax.vmap(jax.random.split, out_axes=1)(each)
    named = None if value == RANDOM else find_level(game, value)[1]
    levels = jax.jit(jax.vmap(lambda key: env.sample_level(key) if named is None else named))(level_keys)
    steps = step_bound(levels)
    best = int(play(keys, env, a, b, levels, steps).length.argmax()) if count > 1 else 0
    level = jax.tree.map(lambda x: x[best], levels)
    told = (minded(keys[best], env, level, a, b, steps) for minded in (episode, minds))
    return jax.device_get((level, *told))
