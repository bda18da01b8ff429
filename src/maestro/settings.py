"""Settings from presets, TOML files and the command line, checked all at once before anything compiles."""

import hashlib
import json
import tomllib
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from maestro.config import PRESETS, RunConfig, leaves
from maestro.limits import nearest, problems_of

MAX_BYTES = 1_000_000  # of a settings file


class SettingsError(ValueError):
    """Everything that is wrong with the settings, a line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def apply(config: Any, changes: dict[str, Any], problems: list[str], path: str = "") -> Any:
    """The settings with nested changes; what is wrong with these is added to the problems."""
    hints = get_type_hints(type(config))
    new = {}
    for name, value in changes.items():
        where = f"{path}{name}"
        if name not in hints:
            problems.append(f"{where}: unknown setting; {nearest(name, list(hints))}")
        elif is_dataclass(hints[name]):
            if isinstance(value, dict):
                new[name] = apply(getattr(config, name), value, problems, f"{where}.")
            else:
                problems.append(f"{where}: {value!r} is no group of settings")
        else:
            new[name] = convert(hints[name], value, where, problems, getattr(config, name))
    return replace(config, **new)


def convert(kind: Any, value: Any, where: str, problems: list[str], default: Any) -> Any:
    """A value of the type that the setting has, or a problem and the default."""
    if get_origin(kind) is tuple:
        items = [part for part in value.split(",") if part] if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            problems.append(f"{where}: {value!r} is not a list")
            return default
        return tuple(convert(get_args(kind)[0], item, where, problems, item) for item in items)
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        problems.append(f"{where}: {value!r} is not allowed; allowed: {', '.join(get_args(kind))}")
        return default
    try:
        return scalar(kind, value)
    except (ValueError, OverflowError):
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
        problems.append(f"{where}: {value!r} is not {names[kind]}")
        return default


def scalar(kind: type, value: Any) -> Any:
    """A number, truth value or text; texts are read as the command line gives them."""
    if kind is str and isinstance(value, str):
        return value
    if kind is bool:
        known = {"true": True, "false": False, True: True, False: False}
        if isinstance(value, str | bool) and value in known:
            return known[value]
    elif isinstance(value, str) and kind in (int, float):
        return kind(value)
    elif kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(value)


def read(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise SettingsError([f"{path}: larger than {MAX_BYTES:,} bytes, so no settings file"])
        return tomllib.loads(content.decode())
    except OSError as error:
        raise SettingsError([f"{path}: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError([f"{path}: not TOML: {error}"]) from None


def nested(options: list[tuple[str, str]]) -> dict[str, Any]:
    """`ppo.learning-rate`, `3e-4` pairs as a nested dictionary."""
    result: dict[str, Any] = {}
    for name, value in options:
        *groups, last = name.replace("-", "_").split(".")
        place = result
        for group in groups:
            deeper = place.setdefault(group, {})
            place = deeper if isinstance(deeper, dict) else place
        place[last] = value
    return result


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries, the second winning."""
    both = {k: merge(base[k], v) if isinstance(v, dict) and isinstance(base.get(k), dict) else v
            for k, v in over.items()}  # fmt: skip
    return {**base, **both}


def resolve(preset: str, changes: dict[str, Any]) -> RunConfig:
    """A preset with changes, checked; `SettingsError` lists all that is wrong."""
    problems: list[str] = []
    changes = dict(changes)
    chosen = changes.pop("preset", preset)
    if not isinstance(chosen, str) or chosen not in PRESETS:
        raise SettingsError([f"preset: {chosen!r} is not allowed; allowed: {', '.join(PRESETS)}"])
    config = apply(PRESETS[chosen], changes, problems)
    problems += problems_of(config)
    if problems:
        raise SettingsError(problems)
    return config


def to_toml(config: RunConfig) -> str:
    """The whole configuration as TOML."""
    groups: dict[str, list[str]] = {}
    for path, value in leaves(config):
        group, _, name = path.rpartition(".")
        text = json.dumps(list(value) if isinstance(value, tuple) else value)
        groups.setdefault(group, []).append(f"{name} = {text}")
    return "\n".join("\n".join([f"[{g}]"] * bool(g) + lines) + "\n" for g, lines in groups.items())


def digest(config: RunConfig) -> str:
    """What identifies a configuration."""
    return hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode()).hexdigest()


def difference(one: RunConfig, other: RunConfig) -> list[str]:
    """The settings in which two configurations differ, a line each."""
    theirs = dict(leaves(other))
    return [f"{path}: {value!r} -> {theirs[path]!r}" for path, value in leaves(one) if theirs[path] != value]
