"""What older versions of the package wrote, read as what it means now; what newer ones wrote is refused.

A setting that is added takes a default under which training is what it was without: so older ones are read.
"""

from typing import Any

import maestro
from maestro import games
from maestro.settings import SettingsError, shown

FORMAT = 2  # of settings and checkpoints
FIRST = "0.1.0"  # the version of format 1, which it did not write down
RENAMED = {  # settings by their old names
    "game.min_size": "environment.min_size",
    "game.max_size": "environment.max_size",
    "game.level": "level",
    "curriculum.prioritisation": "curriculum.prioritization",
}
RENAMED_ARRAYS = (("runs.", "seeds."), (".optimiser.", ".optimizer."))


class TooNew(SettingsError):
    """The settings were written by a newer version."""


def readable(number: Any) -> bool:
    """Whether this version knows a format."""
    return type(number) is int and 1 <= number <= FORMAT


def too_new(number: Any, made_by: str = "a newer version") -> str:
    """Why a format cannot be read."""
    reads = f"this is maestro {maestro.__version__}, which reads formats 1 to {FORMAT}"
    return f"format {shown(number)} was made by {made_by}; {reads}"


def upgrade(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of any older format under the names that they have now."""
    number = settings.get("format", 1)
    if not readable(number):
        raise TooNew([too_new(number)])
    new = {name: dict(value) if isinstance(value, dict) else value for name, value in settings.items()}
    new.pop("format", None)
    for old, name in RENAMED.items():
        group, _, last = old.rpartition(".")
        if isinstance(new.get(group), dict) and last in new[group]:
            move(new, new[group].pop(last), name)
    if new.get("game") == {}:  # the first format had one game, whose name it did not write down
        new["game"] = games.OLDEST
    return new


def move(settings: dict[str, Any], value: Any, name: str) -> None:
    """Put a value where it belongs now."""
    group, _, last = name.rpartition(".")
    where = settings.setdefault(group, {}) if group else settings
    if isinstance(where, dict):
        where.setdefault(last, value)


def array_name(name: str, number: int) -> str:
    """The name that an array of a checkpoint has now."""
    if number == 1:
        for old, new in RENAMED_ARRAYS:
            name = name.replace(old, new, 1)
    return name
