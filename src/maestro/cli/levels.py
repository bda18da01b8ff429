"""`maestro levels`: list, show and sample levels of a game."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import tyro

from maestro.cli.arguments import (
    MAX_SEED,
    Mistake,
    check_output,
    check_range,
    find_game,
    find_level,
    make_folder,
    parse,
    writing,
)
from maestro.games import DEFAULT, Drawing

MAX_COUNT = 10_000
PIPE_WIDTH = 120  # columns where there is no terminal


def main(arguments: list[str]) -> None:
    """Run `maestro levels`."""
    parse({"list": list_levels, "show": show, "sample": sample}, "levels", arguments)


GameOption = Annotated[
    str, tyro.conf.arg(metavar="GAME", help="A game that is known, or one of your own as module:NAME.")
]


def list_levels(game: GameOption = DEFAULT) -> None:
    """List the levels that are known by name, with what is measured of them.

    For example: maestro levels list
    """
    import jax
    import jax.numpy as jnp
    from rich.console import Console
    from rich.table import Table

    found = find_game("--game", game)
    if not found.levels.names:
        return print(f"No level of {found.name} has a name; maestro levels sample makes some.")
    drawn = [found.levels.load(name) for name in found.levels.names]
    batch = jax.tree.map(lambda *x: jnp.stack(x), *drawn)
    measured = jax.device_get(jax.jit(jax.vmap(found.environment().statistics))(batch))
    table = Table("level", *(name.replace("_", " ") for name in measured), "time limit", "used for", box=None)
    for i, (name, level) in enumerate(zip(found.levels.names, drawn, strict=True)):
        values = [f"{values[i]:.3g}" for values in measured.values()]
        table.add_row(
            name,
            *values,
            str(level.time_limit),
            ", ".join(use for use, names in found.splits.items() if name in names),
        )
    Console(width=None if sys.stdout.isatty() else PIPE_WIDTH).print(table)


def show(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    game: GameOption = DEFAULT,
    image: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help="Also draw it into this .png.")] = None,
    scale: Annotated[int, tyro.conf.arg(help="Size of the image, such as pixels per cell.")] = 32,
) -> None:
    """Show a level, given by its name or its file: a picture on a terminal, else the text itself.

    For example:

    maestro levels show Maze1

    maestro levels show Cross > mine.txt

    maestro levels show mine.txt --image mine.png

    Args:
        level: A name of `maestro levels list`, or a file.
    """
    check_range("--scale", scale, 1, 256)
    if image is not None:
        check_output("--image", image, (".png",))
    import jax
    from rich.console import Console

    known = find_game("--game", game)
    if image is not None and known.draw.picture is None:
        raise Mistake(f"--image: {known.name} has no pictures")
    name, found = find_level(known, level)
    env = known.environment()
    state = jax.device_get(env.reset(jax.random.key(0), found)[0])
    if sys.stdout.isatty():
        Console().print(known.draw.terminal(found, state), highlight=False)
        facts = [f"{what.replace('_', ' ')} {value:.3g}" for what, value in env.statistics(found).items()]
        print(f"{name}: {', '.join(facts)}, {found.time_limit} steps")
    else:
        print(known.levels.to_text(found, name), end="")
    if image is not None:
        draw_image(image, known.draw, found, state, scale)


def draw_image(image: Path, draw: Drawing, level: Any, state: Any, scale: int) -> None:
    """A picture of a level into a file."""
    import imageio.v3 as imageio

    assert draw.picture is not None
    picture = draw.picture(level, state, scale)
    writing("--image", image, lambda: imageio.imwrite(image, picture))


def sample(
    game: GameOption = DEFAULT,
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same levels.")] = 0,
    count: Annotated[int, tyro.conf.arg(help="How many levels.")] = 1,
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help="Write one file per level.")] = None,
) -> None:
    """Sample random levels, printed as text or written into a folder.

    For example:

    maestro levels sample --seed 7

    maestro levels sample --count 100 --out levels
    """
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--count", count, 1, MAX_COUNT)
    known = find_game("--game", game)
    if out is not None:
        make_folder("--out", out)
    import jax

    generate = jax.jit(jax.vmap(known.environment().sample_level))
    batch = jax.device_get(generate(jax.random.split(jax.random.key(seed), count)))
    for i in range(count):
        level, name = jax.tree.map(lambda x, i=i: x[i], batch), f"{seed}-{i:04d}"
        text = known.levels.to_text(level, name)
        if out is None:
            print(("\n" if i else "") + text, end="")
        else:
            path = out / f"level-{name}{known.levels.ending}"
            writing("--out", path, partial(path.write_text, text, encoding="utf-8", newline="\n"))
    if out is not None:
        print(f"{count} levels in {out}")
