"""A grid of settings: every combination of the values that a study's file lists."""

import itertools
from collections.abc import Iterator
from typing import Any

from maestro import settings
from maestro.settings import shown

MAX_POINTS = 1000


def axes_of(where: str, content: dict[str, Any], problems: list[str]) -> dict[str, list[Any]]:
    """The values of each setting of a grid, by the setting's path; empty if something is wrong."""
    axes = dict(flat(content))
    wrong = [path for path, values in axes.items() if not isinstance(values, list) or not values]
    problems += [f"{where}: {path}: {shown(axes[path])} is no list of values" for path in wrong]
    if not axes:
        problems.append(f"{where}: no setting has a list of values")
    return {} if wrong else axes


def flat(group: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of settings, whether their names have dots or stand in tables."""
    for name, value in group.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{name}.")
        else:
            yield (path + name).replace("-", "_"), value


def points(axes: dict[str, list[Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """(changes to the settings, how the point is called) of every combination, at most `MAX_POINTS` + 1."""
    short = shortened(list(axes))
    for values in itertools.islice(itertools.product(*axes.values()), MAX_POINTS + 1):
        changes: dict[str, Any] = {}
        for path, value in zip(axes, values, strict=True):
            group, dot, last = path.partition(".")
            changes = settings.merge(changes, {group: {last: value}} if dot else {group: value})
        yield changes, "".join(f"+{short[p]}={written(v)}" for p, v in zip(axes, values, strict=True))


def shortened(paths: list[str]) -> dict[str, str]:
    """The last part of each path, unless two have the same."""
    last = {path: path.rpartition(".")[2] for path in paths}
    return {path: path if list(last.values()).count(name) > 1 else name for path, name in last.items()}


def written(value: Any) -> str:
    """A value as it stands in the name of a cohort."""
    if isinstance(value, list):
        return "x".join(map(written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
