"""`--coordinator`, `--process`, `--processes`: commands that several processes run as one."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from maestro.cli.arguments import Mistake, find_game, find_method, unusable, use_cache
from maestro.cli.output import say
from maestro.runs import processes
from maestro.runs.processes import OPTIONS, ProcessError
from maestro.settings import SettingsError

if TYPE_CHECKING:
    from maestro.runs.first import First
    from maestro.runs.other import Other

OWN = (*OPTIONS, "--out")  # what need not be the same in all processes


@contextmanager
def joined(words: list[str]) -> "Iterator[First | None]":
    """The other processes of this run, seen from the first; None if there are none. Others do not get in."""
    try:
        coordinator, process, count = (value_of(option, words) for option in OPTIONS)
        member = processes.find(coordinator, process, count, os.environ)
        if member is None:
            yield None
            return
        from maestro.runs.first import First
        from maestro.runs.other import Other

        crew = Other(member, alike(words), answer) if member.number else First(member, alike(words), answer)
    except ProcessError as error:
        raise Mistake(str(error)) from None
    try:
        crew.start()
        if isinstance(crew, Other):
            follow(crew)
        yield crew
    except BaseException as error:
        part(crew, *told(error))
    else:
        part(crew, 0)


def value_of(option: str, words: list[str]) -> str:
    """What stands behind an option, wherever that is; nothing if it is not there."""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else following
    return ""


def alike(words: list[str]) -> list[str]:
    """What was typed, without what may differ between processes."""
    kept, rest = [], list(words)
    while rest:
        name, equals, _ = (word := rest.pop(0)).partition("=")
        if name not in OWN:
            kept.append(word)
        elif not equals:
            del rest[:1]
    return kept


def answer(text: str) -> None:
    """Tell whoever watches; at once, past everything that is buffered."""
    os.write(2, text.encode())


def told(error: BaseException) -> tuple[int, str]:
    """The exit code of a process that ends by an error, and a sentence for the others; ours is printed."""
    if isinstance(error, Mistake | ProcessError | SettingsError):
        why = unusable(error) if isinstance(error, SettingsError) else str(error)
        say(f"maestro: {why}", error=True)
        return 2, why
    if isinstance(error, SystemExit):
        return (error.code if isinstance(error.code, int) else int(error.code is not None)), "it is over"
    traceback.print_exception(error)
    return 1, f"{type(error).__name__}: {error}"


def part(crew: "First | Other", code: int, text: str = "") -> NoReturn:
    """End this process and, if it is the first, the others: JAX would wait for those that are gone."""
    crew.end(code, f"{crew.member.name} ended: {text}" if crew.first and text else text)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def follow(crew: "Other") -> NoReturn:
    """Take part in what the first process trains; it reads and writes the folder, and ends this process."""
    import jax

    from maestro import cohort
    from maestro.runs.place import Follower
    from maestro.runs.signals import FOR_EVER, Signals
    from maestro.sharding import Layout

    class Passing(Signals):
        def handle(self, number: int, frame: FrameType | None) -> None:
            if self.received is None:
                crew.asked(number)
            super().handle(number, frame)

    use_cache()
    with Passing(answer) as signals:
        begin = signals.run(crew.orders.get, FOR_EVER)
        experiment, config = signals.run(lambda: received(begin), FOR_EVER)
        like = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
        Follower(crew, Layout(**begin["layout"]), experiment, like, signals).follow()


def received(begin: dict[str, Any]) -> tuple[Any, Any]:
    """(experiment, settings) that the first process has told."""
    from maestro import games, toml
    from maestro.config import RunConfig
    from maestro.runs import build

    game, method = find_game("game", begin["game"]), find_method(begin["method"])
    known = toml.from_toml(begin["config"], "process 0")
    config = build.configure(game, games.fill(game, RunConfig()), known, method)
    return build.experiment(game, config, method), config
