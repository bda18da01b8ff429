"""Settings from presets, TOML files and the command line, checked all at once before anything compiles."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from maestro.config import PRESETS, RunConfig, leaves
from maestro.limits import LEVELS, SettingsError, nearest, problems_of, shown
from maestro.toml import might_be_level, read_level, reason
from maestro.toml import read as read
from maestro.toml import to_toml as to_toml

MAX_PROBLEMS = 100
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


class Word(str):
    """A value as the command line gives it, whose kind the setting decides."""


def apply(config: Any, changes: dict[str, Any], problems: list[str], path: str = "") -> Any:
    """The settings with nested changes; what is wrong with these is added to the problems."""
    hints = get_type_hints(type(config))
    new = {}
    for name, value in changes.items():
        if len(problems) >= MAX_PROBLEMS:
            break
        where = path + (name if name.isidentifier() and len(name) < 60 else shown(name))
        if name not in hints:
            problems.append(f"{where}: unknown setting; {nearest(name, list(hints))}")
        elif not is_dataclass(hints[name]):
            new[name] = convert(hints[name], value, where, problems, getattr(config, name))
        elif isinstance(value, dict):
            new[name] = apply(getattr(config, name), value, problems, f"{where}.")
        else:
            problems.append(f"{where}: {shown(value)} is no group of settings")
    return replace(config, **new)


def convert(kind: Any, value: Any, where: str, problems: list[str], default: Any) -> Any:
    """A value of the type that the setting has, or a problem and the default."""
    if get_origin(kind) is tuple:
        items = [Word(part) for part in value.split(",") if part] if isinstance(value, Word) else value
        if isinstance(items, list | tuple):
            before = len(problems)
            new = tuple(convert(get_args(kind)[0], item, where, problems, None) for item in items)
            return new if len(problems) == before else default
        problems.append(f"{where}: {shown(value)} is not a list")
    elif get_origin(kind) is Literal:
        if isinstance(value, str) and value in get_args(kind):
            return str(value)
        problems.append(f"{where}: {shown(value)} is not allowed; allowed: {', '.join(get_args(kind))}")
    else:
        try:
            return scalar(kind, value)
        except (ValueError, OverflowError):
            problems.append(f"{where}: {shown(value)} is not {KINDS[kind]}")
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


def nested(options: list[tuple[str, str]]) -> dict[str, Any]:
    """`ppo.learning-rate`, `3e-4` pairs as a nested dictionary."""
    result: dict[str, Any] = {}
    for name, value in options:
        group, dot, last = name.replace("-", "_").partition(".")
        if not dot:
            result[group] = Word(value)
        elif isinstance(result.setdefault(group, {}), dict):
            result[group][last] = Word(value)
    return result


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Settings in groups, the second winning."""
    both = {k: {**base[k], **v} if isinstance(v, dict) and isinstance(base.get(k), dict) else v
            for k, v in over.items()}  # fmt: skip
    return {**base, **both}


def resolve(preset: str, changes: dict[str, Any], problems: Sequence[str] = ()) -> RunConfig:
    """A preset with changes, checked; `SettingsError` lists all that is wrong, after known problems."""
    found, changes = list(problems), dict(changes)
    chosen = changes.pop("preset", preset)
    if not isinstance(chosen, str) or chosen not in PRESETS:
        found.append(f"preset: {shown(chosen)} is not allowed; allowed: {', '.join(PRESETS)}")
        chosen = "paper"
    config = with_level(apply(PRESETS[chosen], changes, found), found)
    found += problems_of(config)
    if found:
        raise SettingsError(found)
    return config


def with_level(config: RunConfig, problems: list[str]) -> RunConfig:
    """The settings with a level's file replaced by what is in it: a run needs no other file than its own."""
    level = config.game.level
    if not level or level.lower() in map(str.lower, LEVELS):
        return config
    if "\n" in level:
        problems += [] if might_be_level(level) else [f"game.level: {shown(level)} is no level"]
        return config
    try:
        content = read_level(Path(level))
        return replace(config, game=replace(config.game, level=content))
    except (OSError, ValueError) as error:
        hint = f"{reason(error)}; nor is it the name of a level: {nearest(level, list(LEVELS))}"
        problems.append(f"game.level: {shown(level)}: {hint}")
    return config


def digest(config: RunConfig) -> str:
    """What identifies a configuration."""
    return hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode()).hexdigest()


def difference(one: RunConfig, other: RunConfig) -> list[str]:
    """The settings in which two configurations differ, a line each."""
    theirs = dict(leaves(other))
    return [
        f"{path}: {shown(value)} -> {shown(theirs[path])}"
        for path, value in leaves(one)
        if theirs[path] != value
    ]
