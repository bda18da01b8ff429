"""Options that are settings, told apart from a command's own; what is wrong with them is collected.

Those that say where a run is trained are here too: on which devices, with which other processes.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import tyro

from maestro import imports, settings, toml
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig, leaves, settings_of
from maestro.games import TABLE
from maestro.runs.processes import OPTIONS, SLURM
from maestro.settings import SettingsError, nearest

if TYPE_CHECKING:
    from maestro.sharding import Layout

HELP = ("-h", "--help")
FORM = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")  # of a mesh
JsonFlag = Annotated[
    tyro.conf.FlagCreatePairsOff[bool], tyro.conf.arg(name="json", help="As JSON, for other programs.")
]
OwnOption = Annotated[str, tyro.conf.arg(metavar="module:NAME", help_behavior_hint="")]
FolderOption = Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")]
SeedOption = Annotated[
    int | None,
    tyro.conf.arg(metavar="INT", help="Of this seed only; by default of all.", help_behavior_hint=""),
]
NumberOption = Annotated[str, tyro.conf.arg(metavar="INT", help_behavior_hint="")]
DiceOption = Annotated[int, tyro.conf.arg(help="The same number gives the same levels and games.")]


@dataclass(frozen=True, kw_only=True)
class Training:
    """What `train` and `resume` can be told alike."""

    wandb: tyro.conf.FlagCreatePairsOff[bool] = False
    """Also log to Weights & Biases (needs the extra of that name)."""
    devices: NumberOption = ""
    """How many devices share the run; all by default. Seeds go over as many as divide both, the environments
    of each over the rest."""
    mesh: Annotated[str, tyro.conf.arg(metavar="SEEDSxENVS", help_behavior_hint="")] = ""
    """How many devices along the seeds, and along the environments of each, such as 4x2."""
    coordinator: Annotated[str, tyro.conf.arg(metavar="HOST:PORT", help_behavior_hint="")] = ""
    """Where process 0 listens, if several processes are this one run; under SLURM it is found."""
    process: NumberOption = ""
    """Which of them this is, from 0; found under SLURM and in Kubernetes' indexed jobs."""
    processes: NumberOption = ""
    """How many there are; found under SLURM, where 1 makes each task a run of its own."""


def split(
    options: type, arguments: list[str], config: RunConfig, positional: str = ""
) -> tuple[list[str], dict[str, Any], list[str]]:
    """(the command's own arguments, the settings in their groups, what is wrong with these)."""
    own: list[str] = []
    changes: dict[str, Any] = {}
    problems: list[str] = []
    flags = {field.name.rstrip("_"): field.default is False for field in fields(options)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        plain, told = name.replace("-", "_"), value if equals else next(iter(words), None)
        if equals and flags.get(plain):
            problems.append(f"--{name}: takes no value, and {value!r} was given")
        elif word.startswith("--") and flags.get(plain) is False and told == "":
            problems.append(f"--{name}: the value is empty")
            del words[: 0 if equals else 1]
        elif not word.startswith("--") or word in HELP or plain in flags:
            own.append(word)
        elif is_setting(name):
            name, meant = value_of(config, name, value if equals else None, words, positional)
            if meant is None:
                problems.append(f"--{name}: the value is missing")
            else:
                settings.put(changes, name, meant)
        else:
            problems.append(f"--{name}: unknown option; {hint(name, config, list(flags))}")
            del words[: 0 if equals else len(take(words, None, positional))]
    return own, changes, problems


def is_setting(name: str) -> bool:
    """Whether an option means a setting or a group of settings, even one that does not exist."""
    return name.replace("-", "_").partition(".")[0] in (field.name for field in fields(RunConfig))


def hint(name: str, config: RunConfig, own: list[str]) -> str:
    """What may have been meant by an option that is unknown."""
    names = [*own, *(path for path, _, _ in leaves(config))]
    meant = nearest(name, [known.replace("_", "-") for known in names])
    return meant if meant.startswith("did") else "--help lists them all"


def value_of(
    config: RunConfig, name: str, value: str | None, words: list[str], positional: str
) -> tuple[str, str | None]:
    """(name, value) of a setting, taken from the words that follow if need be; None if it has no value.

    One that is true or false needs none: `--ppo.clip-value` and `--ppo.no-clip-value`.
    """
    group, dot, last = name.rpartition(".")
    positive = f"{group}{dot}{last.removeprefix('no-')}"
    if value is None and positive != name and kind_of(config, positive) is bool:
        return positive, "false"
    kind = kind_of(config, name)
    if value is None:
        taken = take(words, kind, positional)
        del words[: len(taken)]
        value = ",".join(taken) if taken else "true" if kind is bool else None
    return name, value


def kind_of(config: Any, name: str) -> Any:
    """The type of a setting, None if there is none of that name."""
    known = None
    for part in name.replace("-", "_").split("."):
        known = settings_of(config).get(part) if is_dataclass(config) else None
        config = getattr(config, part, None)
    return known and known.kind


def take(words: list[str], kind: Any, positional: str) -> list[str]:
    """The words that are an option's value, or values; a word that names a game is one only for texts."""
    taken: list[str] = []
    for word in words:
        more = not taken or get_origin(kind) is tuple or (kind is None and is_number(word))
        game = word in TABLE or imports.is_path(word) or word == positional
        if word.startswith("--") or word in HELP or not more or (game and kind is not str):
            break
        taken.append(word)
    return taken


def is_number(word: str) -> bool:
    """Whether a word can be read as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def read_file(path: str) -> dict[str, Any]:
    """The settings in a file that the user has named, under the names that they have now."""
    from maestro.runs import versions

    content = toml.read(Path(path))
    try:
        return versions.upgrade(content)
    except SettingsError as error:
        raise SettingsError([f"{path}: {problem}" for problem in error.problems]) from None


def together(words: list[str], work: Callable[[Any], None]) -> None:
    """Work with the other processes of a run, as far as anything speaks of others; else alone, with None."""
    named = {word.partition("=")[0] for word in words}
    if named.isdisjoint(OPTIONS) and not all(map(os.environ.get, SLURM)):
        return work(None)
    from maestro.cli.company import joined

    with joined(words) as crew:
        work(crew)


def layout_of(typed: str, mesh: str, config: RunConfig, dry: bool = False) -> "Layout | None":
    """How a run is spread over the devices that it may use; a dry run may ask about more than there are."""
    import jax

    from maestro import sharding

    here = jax.device_count()
    if here == 1 and not typed and not mesh:
        return None
    wanted = axes(mesh) if mesh else None
    count = number(typed) if typed else max(here, wanted[0] * wanted[1]) if wanted and dry else here
    if count > here and not dry:
        raise Mistake(f"--devices: {count} are wanted, and there are {here}")
    workers = sharding.divisor(config)
    try:
        return sharding.choose(count, config.seeds, workers, wanted)
    except ValueError as error:
        would = sharding.spoken(sharding.fitting(count, config.seeds, workers))
        more = f"; {would} devices in all would do" * (config.seeds > 1)
        raise Mistake(f"--mesh: {error}" if wanted else f"--devices: {error}{more}") from None


def number(typed: str) -> int:
    """How many devices were asked for."""
    if not re.fullmatch(r"[1-9]\d{0,5}", typed):
        raise Mistake(f"--devices: {typed!r} is no number of devices; such as 8")
    return int(typed)


def axes(typed: str) -> tuple[int, int]:
    """(devices along the seeds, devices along the environments)."""
    found = FORM.fullmatch(typed)
    if found is None:
        raise Mistake(f"--mesh: {typed!r} is no SEEDSxENVS; such as 4x2")
    return int(found[1]), int(found[2])
