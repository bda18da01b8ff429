"""Python that a person names on the command line as module:NAME; nothing else ever causes such an import."""

import importlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any


class NotFound(ValueError):
    """Why what a person named cannot be had."""


def is_path(typed: str) -> bool:
    """Whether a name says where in Python something is."""
    module, colon, name = typed.partition(":")
    return bool(colon) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def load_typed(typed: str, kind: type) -> Any:
    """The value of module:NAME that a person has typed, looked for in the working directory too."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # last: a file there never stands in for a module that others import
        importlib.invalidate_caches()
    return load(typed, kind)


def load(path: str, kind: type) -> Any:
    """The value of module:NAME."""
    module, _, name = path.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever the module does is told in one line
        raise NotFound(f"{path}: {type(error).__name__}: {error}{place(error)}") from error
    if not isinstance(value, kind):
        raise NotFound(f"{path} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def place(error: BaseException) -> str:
    """Where in a module an error was raised, if it was raised there and not by looking for the module."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)[1:] if "importlib" not in frame.filename
    ]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
