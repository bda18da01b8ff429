"""Changes to settings from files and the command line, checked; what is wrong is told all at once."""

import difflib
import reprlib
from dataclasses import is_dataclass, replace
from typing import Any, Literal, get_args, get_origin

from maestro.config import Length, Range, leaves, settings_of

MAX_PROBLEMS = 100
# For numbers with no range of their own.
LARGEST: dict[type, list[Range]] = {int: [Range(-(2**31), 2**31 - 1)], float: [Range(-3e38, 3e38)]}
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class SettingsError(ValueError):
    """Everything that is wrong with the settings, a line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class Word(str):
    """A value as the command line gives it, whose kind the setting decides."""


short = reprlib.Repr()
short.maxstring = short.maxother = short.maxlong = 80


def shown(value: Any) -> str:
    """A value as messages show it: on one line, and cut short."""
    try:
        return short.repr(value)
    except ValueError:  # Python refuses to write out vast integers
        return "a vast number"


def nearest(name: str, names: list[str]) -> str:
    """A hint at the name that was probably meant."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name[:100].lower(), by_lower, 1, 0.5)
    return f"did you mean {by_lower[close[0]]}?" if close else f"allowed: {', '.join(names)}"


def apply(config: Any, changes: dict[str, Any], problems: list[str], path: str = "") -> Any:
    """The settings with nested changes; what is wrong with these is added to the problems."""
    known = settings_of(config)
    new = {}
    for name, value in changes.items():
        if len(problems) >= MAX_PROBLEMS:
            break
        where = path + (name if name.isidentifier() and len(name) < 60 else shown(name))
        if name not in known:
            problems.append(f"{where}: unknown setting; {nearest(name, list(known))}")
        elif not is_dataclass(known[name].kind):
            new[name] = convert(known[name].kind, value, where, problems, getattr(config, name))
        elif isinstance(value, dict):
            new[name] = apply(getattr(config, name), value, problems, f"{where}.")
        else:
            problems.append(f"{where}: {shown(value)} is no group of settings")
    return replace(config, **new)


def convert(kind: Any, value: Any, where: str, problems: list[str], default: Any) -> Any:
    """A value of the type that the setting has, or a problem and the default."""
    if get_origin(kind) is tuple:
        return entries(get_args(kind), value, where, problems, default)
    if get_origin(kind) is Literal:
        if isinstance(value, str) and value in get_args(kind):
            return str(value)
        problems.append(f"{where}: {shown(value)} is not allowed; allowed: {', '.join(get_args(kind))}")
    else:
        try:
            return scalar(kind, value)
        except (ValueError, OverflowError):
            problems.append(f"{where}: {shown(value)} is not {KINDS[kind]}")
    return default


def entries(kinds: tuple[Any, ...], value: Any, where: str, problems: list[str], default: Any) -> Any:
    """A list of values of one type, of any length or of the one that the setting has."""
    items = [Word(part) for part in value.split(",") if part] if isinstance(value, Word) else value
    before = len(problems)
    if not isinstance(items, list | tuple):
        problems.append(f"{where}: {shown(value)} is not a list")
    elif ... not in kinds and len(items) != len(kinds):
        problems.append(f"{where}: {len(items)} entries; allowed: exactly {len(kinds)}")
    else:
        new = tuple(convert(kinds[0], item, where, problems, None) for item in items)
        return new if len(problems) == before else default
    return default


def scalar(kind: Any, value: Any) -> Any:
    """A number, truth value or text; only words of the command line are read as other kinds."""
    if kind is str and isinstance(value, str):
        value.encode()  # half a character cannot be written down again
        return str(value)
    if isinstance(value, Word) and kind in (int, float):
        return kind(value)
    if isinstance(value, Word) and kind is bool and value in ("true", "false"):
        return value == "true"
    if type(value) is kind or (type(value) is int and kind is float):
        return kind(value)
    raise ValueError(value)


def put(changes: dict[str, Any], name: str, value: str) -> None:
    """Add what an option says to nested changes: `ppo.learning-rate`, `3e-4`."""
    group, dot, last = name.replace("-", "_").partition(".")
    if not dot:
        changes[group] = Word(value)
    elif isinstance(changes.setdefault(group, {}), dict):
        changes[group][last] = Word(value)


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Settings in groups, the second winning."""
    both = {k: {**base[k], **v} if isinstance(v, dict) and isinstance(base.get(k), dict) else v
            for k, v in over.items()}  # fmt: skip
    return {**base, **both}


def out_of_range(config: Any, path: str = "") -> list[str]:
    """A line for each number that is too small, too large, or none, and for each list that is too long."""
    lines = []
    for where, setting, value in leaves(config, path):
        entries = value if isinstance(value, tuple) else (value,)
        ranges = [mark for mark in setting.marks if isinstance(mark, Range)]
        lengths = [mark.most for mark in setting.marks if isinstance(mark, Length)]
        most = [length for length in lengths if len(entries) > length]
        if most:
            lines.append(f"{where}: {len(entries):,} entries; allowed: at most {most[0]}")
            continue
        for x in entries:
            for mark in ranges or LARGEST.get(type(x), []):
                if not mark.low <= x <= mark.high:  # nan is in no range
                    allowed = f"{mark.low:,} to {mark.high:,}"
                    lines.append(f"{where}: {shown(x)} is out of range; allowed: {allowed}")
    return lines


def as_dict(config: Any) -> dict[str, Any]:
    """All settings as nested dictionaries, as JSON and TOML know them."""
    result: dict[str, Any] = {}
    for path, _, value in leaves(config):
        *groups, name = path.split(".")
        group = result
        for part in groups:
            group = group.setdefault(part, {})
        group[name] = list(value) if isinstance(value, tuple) else value
    return result


def difference(one: Any, other: Any) -> list[str]:
    """The settings in which two configurations differ, a line each."""
    theirs = {path: value for path, _, value in leaves(other)}
    ours = {path: value for path, _, value in leaves(one)}
    return [
        f"{path}: {shown(ours.get(path))} -> {shown(theirs.get(path))}"
        for path in ours | theirs
        if ours.get(path) != theirs.get(path)
    ]
