"""`maestro levels`: list, show and sample levels of a game."""

import json
import math
import sys
from collections.abc import Callable
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
    use_cache,
    with_examples,
    writing,
)
from maestro.cli.options import JsonFlag
from maestro.cli.output import clean, console, say
from maestro.cli.table import lines, width
from maestro.games import DEFAULT

MAX_COUNT = 10_000
INFINITE = (math.inf, -math.inf)  # JSON has no word for them


def main(arguments: list[str]) -> None:
    """Run `maestro levels`."""
    parse({"list": list_levels, "show": show, "sample": sample}, "levels", arguments)


GameOption = Annotated[
    str, tyro.conf.arg(metavar="GAME", help="A game that is known, or one of your own as module:NAME.")
]


def list_levels(game: GameOption = DEFAULT, as_json: JsonFlag = False) -> None:
    """List the levels that are known by name, with what is measured of them.

    For example: maestro levels list
    """
    import jax
    import jax.numpy as jnp

    use_cache()
    found = find_game("--game", game)
    if not found.levels.names:
        nothing = f"No level of {found.name} has a name; maestro levels sample makes some."
        return say("[]" if as_json else nothing)
    drawn = [found.levels.load(name) for name in found.levels.names]
    batch = jax.tree.map(lambda *x: jnp.stack(x), *drawn)
    measured = jax.device_get(jax.jit(jax.vmap(found.environment().statistics))(batch))
    facts: list[dict[str, Any]] = []
    for i, (name, level) in enumerate(zip(found.levels.names, drawn, strict=True)):
        values = {what: values[i].item() for what, values in measured.items()}
        uses = [use for use, split in found.splits.items() if name in split.texts(found.levels)]
        facts.append({"level": name, **values, "time_limit": int(level.time_limit), "used_for": uses})
    if as_json:
        known = [{what: value for what, value in level.items() if value not in INFINITE} for level in facts]
        return say(json.dumps(known, indent=1))
    rows = [{what.replace("_", " "): text_of(value) for what, value in level.items()} for level in facts]
    say("\n".join(lines(rows, width())))


def text_of(value: Any) -> str:
    """What a table shows of a fact: numbers in three digits or as whole ones, names as they are."""
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.3g}"
    return clean(str(value))


@with_examples
def show(
    level: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LEVEL")],
    game: GameOption = DEFAULT,
    image: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FILE", help="Also draw it into this .png.", help_behavior_hint=""),
    ] = None,
    scale: Annotated[int, tyro.conf.arg(help="Size of the image, such as pixels per cell.")] = 32,
) -> Callable[[], None] | None:
    """Show a level, given by its name or its file: a picture on a terminal, else the text itself.

    For example:

    maestro levels show {level}

    maestro levels show {other_level} > mine.txt

    maestro levels show mine.txt --image mine.png

    Args:
        level: A name of `maestro levels list`, or a file.
    """
    check_range("--scale", scale, 1, 256)
    if image is not None:
        check_output("--image", image, (".png",))
    import jax

    use_cache()
    known = find_game("--game", game)
    if image is not None and known.draw.picture is None:
        raise Mistake(f"--image: {known.name} has no pictures")
    name, found = find_level(known, level)
    env = known.environment()
    state = jax.device_get(env.reset(jax.random.key(0), found)[0])
    if sys.stdout.isatty():
        console().print(known.draw.terminal(found, state), highlight=False)
        facts = [
            f"{what.replace('_', ' ')} {text_of(float(value))}"
            for what, value in env.statistics(found).items()
        ]
        say(f"{name}: {', '.join(facts)}, {found.time_limit} steps")
    else:
        say(known.levels.to_text(found, name), end="")
    if image is None:
        return None
    assert known.draw.picture is not None
    return partial(write_image, image, known.draw.picture(found, state, scale))


def write_image(image: Path, picture: Any) -> None:
    """A picture into a file."""
    import imageio.v3 as imageio

    from maestro.runs.files import replacing

    with writing("--image", image), replacing(image.resolve()) as part:
        part.write_bytes(imageio.imwrite("<bytes>", picture, extension=".png"))


def sample(
    game: GameOption = DEFAULT,
    seed: Annotated[int, tyro.conf.arg(help="The same seed gives the same levels.")] = 0,
    count: Annotated[int, tyro.conf.arg(help="How many levels.")] = 1,
    out: Annotated[
        Path | None,
        tyro.conf.arg(metavar="FOLDER", help="Write one file per level.", help_behavior_hint=""),
    ] = None,
) -> Callable[[], None]:
    """Sample random levels, printed as text or written into a folder.

    For example:

    maestro levels sample --seed 7

    maestro levels sample --count 100 --out levels
    """
    check_range("--seed", seed, 0, MAX_SEED)
    check_range("--count", count, 1, MAX_COUNT)
    use_cache()
    known = find_game("--game", game)
    if out is not None:
        make_folder("--out", out)
    import jax

    generate = jax.jit(jax.vmap(known.environment().sample_level))
    batch = jax.device_get(generate(jax.random.split(jax.random.key(seed), count)))
    texts = {}
    for i in range(count):
        level, name = jax.tree.map(lambda x, i=i: x[i], batch), f"{seed}-{i:04d}"
        texts[f"level-{name}{known.levels.ending}"] = known.levels.to_text(level, name)
    return partial(write_levels, out, texts)


def write_levels(out: Path | None, texts: dict[str, str]) -> None:
    """A file for each level, or all of them printed."""
    from maestro.runs.files import write_file

    for i, (name, text) in enumerate(texts.items()):
        if out is None:
            say("\n" * (i > 0) + text, end="")
            continue
        with writing("--out", out / name):
            write_file(out / name, text.encode(), durable=False)
    if out is not None:
        say(f"{len(texts)} levels in {out}")
