"""Settings as TOML; nothing larger or deeper than settings are is read."""

import json
import tomllib
from pathlib import Path
from typing import Any

from maestro.config import leaves
from maestro.settings import SettingsError

MAX_BYTES = 32_000  # of a settings file
MAX_DOTS = 20  # of a key; `tomllib` takes quadratic time for more
PLAIN = "".join(map(chr, range(32, 127))).translate({34: None, 92: None}) + "\n"  # needs no escape in TOML
ESCAPED = {'"': '\\"', "\\": "\\\\"}


def read(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise SettingsError([f"{path}: larger than {MAX_BYTES:,} bytes, too large for settings"])
        return from_toml(content.decode("utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path}: {reason(error)}"]) from None


def from_toml(text: str, source: str) -> dict[str, Any]:
    """The content of a text in TOML."""
    if has_long_key(text):
        raise SettingsError([f"{source}: a line with more than {MAX_DOTS} dots, which no settings have"])
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError([f"{source}: not TOML: {error}"]) from None


def has_long_key(text: str) -> bool:
    """Whether anything that might be a key has too many dots."""
    return any(part.count(".") > MAX_DOTS for line in text.split("\n") for part in line.split("="))


def reason(error: Exception) -> str:
    """Why a file could not be read."""
    return getattr(error, "strerror", None) or str(error)


def to_toml(config: Any) -> str:
    """The whole configuration as TOML."""
    groups: dict[str, list[str]] = {}
    for path, _, value in leaves(config):
        group, _, name = path.rpartition(".")
        groups.setdefault(group, []).append(f"{name} = {toml_value(value)}")
    return "\n".join("\n".join([f"[{g}]"] * bool(g) + lines) + "\n" for g, lines in groups.items())


def toml_value(value: Any) -> str:
    """A value in TOML; a text of several lines keeps them."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    dots = value.count(".") > MAX_DOTS and has_long_key(value)
    plain = PLAIN.replace(".", "") if dots else PLAIN
    text = "".join(c if c in plain else ESCAPED.get(c) or f"\\U{ord(c):08x}" for c in value)
    return f'"""\n{text}"""' if "\n" in text else f'"{text}"'
