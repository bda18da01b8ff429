"""What figures are made of: the runs, cross-plays and landscapes in the folders that were named."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maestro.runs.entrants import label_of
from maestro.runs.folder import RunError, RunFolder, read_settings

Row = dict[str, Any]  # a line of the data beside a picture
DEEPER = 2  # a study holds runs/NAME, crossplay/NAME and landscape/NAME
SIGNS = {"runs": "config.toml", "crossplays": "plan.json", "landscapes": "landscape.json"}


class FigureError(ValueError):
    """Why a figure cannot be drawn as asked."""


@dataclass(frozen=True)
class Options:
    """What can be chosen of a figure; empty where the figure decides."""

    title: str = ""
    of: str = ""  # a method
    methods: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    quantity: str = ""
    split: str = ""
    updates: int | None = None
    error: str = "standard-error"  # or 95


@dataclass(frozen=True)
class Made:
    """A figure: the data, and what shows it."""

    rows: list[Row]
    picture: Any = None  # of matplotlib
    texts: dict[str, str] = field(default_factory=dict)  # tables, by the ending of their file


@dataclass(frozen=True)
class Run:
    """A run or a piece of one: its folder, its settings and its label."""

    folder: RunFolder
    settings: dict[str, Any] = field(hash=False)
    label: str

    @property
    def seeds(self) -> list[int]:
        """The numbers of its seeds."""
        first, count = self.settings.get("seed", 0), self.settings.get("seeds", 1)
        return list(range(first, first + count))


@dataclass(frozen=True)
class Source:
    """The folders that were found, each once."""

    runs: tuple[Path, ...]
    crossplays: tuple[Path, ...]
    landscapes: tuple[Path, ...]


def find(paths: Iterable[Path]) -> Source:
    """What the folders hold; one that holds nothing is an error."""
    found: dict[str, dict[Path, None]] = {kind: {} for kind in SIGNS}
    paths = list(paths)
    if not paths:
        raise FigureError("no folder is named: runs, cross-plays, landscapes or studies")
    for path in paths:
        inside = look(path)
        if not any(inside.values()):
            signs = ", ".join(SIGNS.values())
            raise FigureError(f"{str(path)!r} is no run, cross-play, landscape or study: no {signs} in it")
        for kind, folders in inside.items():
            found[kind] |= dict.fromkeys(folders)
    return Source(**{kind: tuple(folders) for kind, folders in found.items()})


def look(path: Path, deeper: int = DEEPER) -> dict[str, list[Path]]:
    """The folders of each kind at a path and below it."""
    try:
        if not path.is_dir():
            what = "is a file, not a folder" if path.exists() else "does not exist"
            raise FigureError(f"{str(path)!r} {what}")
        found = {kind: [path] if (path / sign).is_file() else [] for kind, sign in SIGNS.items()}
        below = sorted(p for p in path.iterdir() if p.is_dir()) if deeper else []
    except OSError as error:
        raise FigureError(f"{str(path)!r} cannot be read ({error.strerror})") from None
    for inside in below:
        for kind, folders in look(inside, deeper - 1).items():
            found[kind] += folders
    return found


def opened(source: Source, options: Options) -> list[Run]:
    """The runs with their labels, but for those of methods that were not asked for."""
    if not source.runs:
        raise FigureError("this figure is made of runs, and there is none in the folders")
    runs = [open_run(path) for path in source.runs]
    runs = [Run(run.folder, run.settings, distinct(run, runs)) for run in runs]
    wanted = options.methods or ((options.of,) if options.of else ())
    missing = [name for name in wanted if name not in {method_of(run) for run in runs}]
    if missing:
        known = ", ".join(dict.fromkeys(method_of(run) for run in runs))
        raise FigureError(f"no run of {missing[0]!r} in the folders; there are {known}")
    return [run for run in runs if not wanted or method_of(run) in wanted]


def drawn(source: Source, options: Options) -> list[Run]:
    """The runs that a picture shows: those asked for, else all but specialists, if there are any others."""
    runs = opened(source, options)
    others = [run for run in runs if "@" not in run.label]
    return runs if options.methods or options.of else others or runs


def open_run(path: Path) -> Run:
    """A run under its method's name, a specialist's with its level."""
    try:
        folder, settings = read_settings(path)
    except RunError as error:
        raise FigureError(str(error)) from None
    counts = (settings.get("seed", 0), settings.get("seeds", 1))
    if not all(type(number) is int and 0 <= number < 2**31 for number in counts):
        raise FigureError(f"{folder.config} is damaged: seeds")
    return Run(folder, settings, label_of(settings))


def method_of(run: Run) -> str:
    """The label without the name of the folder."""
    return run.label.partition(" (")[0]


def distinct(run: Run, runs: list[Run]) -> str:
    """The label, with the folder's name where other runs of it have the same seeds."""
    others = [other for other in runs if other.label == run.label and other.folder != run.folder]
    same = any(set(other.seeds) & set(run.seeds) for other in others)
    return f"{run.label} ({run.folder.path.name})" if same else run.label
