"""`maestro levels`: list, show and sample levels of LaserTag."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro

from maestro.cli.arguments import MAX_SEED, check_output, check_range, find_level, make_folder, parse, writing

MAX_COUNT = 10_000


def main(arguments: list[str]) -> None:
    """Run `maestro levels`."""
    parse({"list": list_levels, "show": show, "sample": sample}, "levels", arguments)


def list_levels() -> None:
    """List the levels that are known by name.

    For example: maestro levels list
    """
    import jax
    import jax.numpy as jnp
    from rich.console import Console
    from rich.table import Table

    from maestro.envs.lasertag import maps
    from maestro.envs.lasertag.levels import statistics

    drawn = [maps.load(name) for name in maps.NAMES]
    batch = jax.tree.map(lambda *x: jnp.stack(x), *drawn)
    measured = jax.device_get(jax.jit(jax.vmap(statistics))(batch))
    table = Table("level", *("rows x columns", "wall share", "shortest path", "time limit"), box=None)
    for i, (name, level) in enumerate(zip(maps.NAMES, drawn, strict=True)):
        size, share = f"{level.height} x {level.width}", f"{measured['wall_share'][i]:.3f}"
        table.add_row(name, size, share, f"{measured['shortest_path'][i]:.0f}", str(level.time_limit))
    Console().print(table)
    tests, targets = len(maps.TEST), len(maps.SPECIALIST)
    print(f"The first {tests} are the test levels; specialists train on the last {targets}.")


def show(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    image: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help="Also draw it into this .png.")] = None,
    scale: Annotated[int, tyro.conf.arg(help="Pixels per cell of the image.")] = 32,
) -> None:
    """Show a level, given by its name or its text file: a picture on a terminal, else the text itself.

    For example:

    maestro levels show Maze1

    maestro levels show Cross > mine.txt

    maestro levels show mine.txt --image mine.png

    Args:
        level: A name of `maestro levels list`, or a text file.
    """
    check_range("--scale", scale, 1, 256)
    if image is not None:
        check_output("--image", image, (".png",))
    import jax
    from rich.console import Console

    from maestro.envs.lasertag import draw, text
    from maestro.envs.lasertag.game import LaserTag

    name, found = find_level(level)
    state = jax.device_get(LaserTag().reset(jax.random.key(0), found)[0])
    if sys.stdout.isatty():
        Console().print(draw.terminal(found, state), highlight=False)
        print(f"{name}: {found.height} x {found.width}, {found.time_limit} steps")
    else:
        print(text.to_text(found, name), end="")
    if image is not None:
        import imageio.v3 as imageio

        picture = draw.draw(found, state, scale)
        writing("--image", image, lambda: imageio.imwrite(image, picture))


def sample(
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same levels.")] = 0,
    count: Annotated[int, tyro.conf.arg(help="How many levels.")] = 1,
    out: Annotated[
        Path | None, tyro.conf.arg(metavar="FOLDER", help="Write one text file per level.")
    ] = None,
) -> None:
    """Sample random levels, printed as text or written into a folder.

    For example:

    maestro levels sample --seed 7

    maestro levels sample --count 100 --out levels
    """
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--count", count, 1, MAX_COUNT)
    if out is not None:
        make_folder("--out", out)
    import jax

    from maestro.envs.lasertag import text
    from maestro.envs.lasertag.levels import sample_level

    batch = jax.device_get(jax.jit(jax.vmap(sample_level))(jax.random.split(jax.random.key(seed), count)))
    for i in range(count):
        level, name = jax.tree.map(lambda x, i=i: x[i], batch), f"{seed}-{i:04d}"
        if out is None:
            print(("\n" if i else "") + text.to_text(level, name), end="")
        else:
            path = out / f"level-{name}.txt"
            writing("--out", path, partial(text.write, path, level, name))
    if out is not None:
        print(f"{count} levels in {out}")
