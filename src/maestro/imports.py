"""Python that a person names on the command line as module:NAME; nothing else ever causes such an import."""

import importlib
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any

OURS = Path(__file__).parent
# Whether a name says where in Python something is: identifiers with dots, a colon, an identifier.
is_path = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*").fullmatch


class NotFound(ValueError):
    """Why what a person has named cannot be loaded."""


def load(path: str, kind: type, typed: bool = False) -> Any:
    """The value of module:NAME; one that a person has typed is looked for in the working directory too."""
    here = os.getcwd() if typed else ""
    if here and here not in sys.path:
        sys.path.append(here)  # last: a file there never stands in for a module that others import
        importlib.invalidate_caches()
    module, _, name = path.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever the module does is told in one line
        raise NotFound(f"{path}: {type(error).__name__}: {error}{place(error)}") from error
    if not isinstance(value, kind):
        raise NotFound(f"{path} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def place(error: BaseException) -> str:
    """Where an error was raised, as deep as it is still beside the module that was named."""
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    theirs = [f for f in frames if "importlib" not in str(f[0]) and OURS not in f[0].parents]
    beside = [f for f in theirs if theirs[0][0].parent in f[0].parents]
    return f" ({beside[-1][0].name}, line {beside[-1][1]})" if beside else ""
