"""What the entries of a study's file may say, each with its default and its range."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from maestro import settings
from maestro.config import Length, Range
from maestro.settings import nearest, shown

Names = Annotated[tuple[str, ...], Length(1000)]
Count = Annotated[int, Range(1, 1_000_000)]
Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Top:
    """What stands above all tables."""

    game: str = ""
    """The name of the game."""
    preset: str = ""
    """The preset that all settings start from."""
    keep_checkpoints: bool = False
    """Keep the checkpoints of finished cohorts, which only `--from` needs."""
    figures: Names = ()
    """Figures to draw at the end: names of `maestro figure --list`, or "all"."""


@dataclass(frozen=True)
class CohortEntry:
    """`[[cohort]]`: students of one method with one group of settings; of several, several."""

    name: str = ""
    """Of its folder and in all results; by default METHOD, or METHOD@LEVEL."""
    method: str = ""
    """The method."""
    methods: Names = ()
    """Several methods, a cohort each."""
    level: str = ""
    """The one level of a specialist."""
    levels: Names = ()
    """Several levels, a specialist each."""
    seeds: int = 1
    """Students; by default as many as the settings say."""


@dataclass(frozen=True)
class GridEntry:
    """`[[grid]]`: methods x every combination of the values of the settings that are listed in it."""

    methods: Names = ()
    """The methods."""
    seeds: int = 1
    """Students of each combination; by default as many as the settings say."""


@dataclass(frozen=True)
class CrossPlay:
    """`[[crossplay]]`: everyone against everyone at the end."""

    name: str = ""
    """Of its folder; by default made of the levels."""
    levels: Names = ("test",)
    """"test", "validation", "generated:N", or names of levels."""
    cohorts: Names = ()
    """Who takes part; by default all but specialists and grids."""
    players: Names = ()
    """Scripted players who take part too."""
    episodes: Annotated[int, Range(1, 10_000)] = 5
    """Games of each pair of students on each level and from each seat."""
    milestones: bool = False
    """Also throughout training, students of equal updates against each other."""
    seed: Annotated[int, Range(0, 2**31 - 1)] = 0
    """Of the dice, and of generated levels."""


@dataclass(frozen=True)
class Evaluate:
    """`[evaluate]`: every student on a split, against the split's own opponents."""

    split: Literal["test", "validation"] = "test"
    """The levels and the opponents."""
    cohorts: Names = ()
    """Who is evaluated; by default all but specialists."""
    episodes: Annotated[int, Range(1, 10_000)] = 5
    """Games against each opponent on each level and from each seat."""


@dataclass(frozen=True)
class Landscapes:
    """`[landscape]`: the regret landscape of a cohort's students."""

    cohorts: Names = ()
    """Whose; by default of all but specialists and grids."""
    levels: Annotated[int, Range(1, 1024)] = 16
    """Fresh generated levels, the columns."""
    rollouts: Annotated[int, Range(2, 1024)] = 8
    """Rollouts of each cell, an even number."""


@dataclass(frozen=True)
class Exploit:
    """`[exploit]`: best responses trained against frozen students, and how much these win."""

    cohorts: Names = ()
    """Against whom; by default the best of the first round robin."""
    best: Annotated[int, Range(1, 100)] = 2
    """How many of the best, if no cohorts are named."""
    students: Annotated[int, Range(1, 10_000)] = 1
    """Students of each cohort, from the first seed on."""
    updates: Count = 500
    """The budget of a response."""
    seeds: Annotated[int, Range(1, 1000)] = 3
    """Responses to each student."""
    levels: Names = ("generated:64",)
    """Where they meet at the end: as in `[[crossplay]]`."""
    episodes: Annotated[int, Range(1, 10_000)] = 2
    """Games on each level and from each seat."""


TABLES: dict[str, Any] = {"evaluate": Evaluate, "landscape": Landscapes, "exploit": Exploit}
LISTS: dict[str, Any] = {"cohort": CohortEntry, "grid": GridEntry, "crossplay": CrossPlay}


def checked(entry: Entry, content: Any, where: str, problems: list[str]) -> Entry:
    """An entry as the file has it; what is wrong is added to the problems."""
    if not isinstance(content, dict):
        problems.append(f"{where}: {shown(content)} is no table")
        return entry
    found: Entry = settings.apply(entry, content, problems, f"{where}." if where else "")
    problems += settings.out_of_range(found, f"{where}." if where else "")
    return found


def listed(content: dict[str, Any], name: str, problems: list[str]) -> list[dict[str, Any]]:
    """The entries of an array of tables, `[[name]]`."""
    found = content.get(name, [])
    if isinstance(found, list) and all(isinstance(entry, dict) for entry in found):
        return found
    problems.append(f"{name}: {shown(found)} is no list of tables; write [[{name}]]")
    return []


def known_names(where: str, names: tuple[str, ...], known: list[str], problems: list[str]) -> None:
    """A problem for each name that nothing has."""
    for name in names:
        if name not in known:
            problems.append(f"{where}: {shown(name)} is unknown; {nearest(name, known)}")
