"""Where things are kept that can be made again: a folder of the user's own."""

import os
import stat
from pathlib import Path


def base() -> Path:
    """The folder of everything that this package keeps; `RuntimeError` if nobody's home is known."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "maestro"


def private(name: str) -> Path:
    """A folder that only the user can write to; `OSError` if there can be none."""
    folder = base() / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.stat()
    if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others can write to {folder}")
    return folder
