"""Options that are settings, told apart from a command's own; what is wrong with them is collected."""

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin

import tyro

from maestro import imports, toml
from maestro.cli.arguments import Mistake
from maestro.config import RunConfig, leaves, settings_of
from maestro.games import TABLE
from maestro.settings import SettingsError, nearest

HELP = ("-h", "--help")
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
) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """(the command's own arguments, (name, value) of each setting, what is wrong with these)."""
    own: list[str] = []
    given: list[tuple[str, str]] = []
    problems: list[str] = []
    flags = {field.name.rstrip("_"): field.default is False for field in fields(options)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        plain = name.replace("-", "_")
        if equals and flags.get(plain):
            problems.append(f"--{name}: takes no value, and {value!r} was given")
        elif not word.startswith("--") or word in HELP or plain in flags:
            own.append(word)
        elif is_setting(name):
            name, told = value_of(config, name, value if equals else None, words, positional)
            if told is None:
                problems.append(f"--{name}: the value is missing")
            else:
                given.append((name, told))
        else:
            problems.append(f"--{name}: unknown option; {hint(name, config, list(flags))}")
            del words[: 0 if equals else len(take(words, None, positional))]
    return own, given, problems


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


def find_method(typed: str) -> Any:
    """A method of the user's own, if that is what was typed."""
    if not imports.is_path(typed):
        return None
    from maestro.curriculum import Method

    try:
        return imports.load(typed, Method, typed=True)
    except imports.NotFound as error:
        raise Mistake(f"--method: {error}") from None
