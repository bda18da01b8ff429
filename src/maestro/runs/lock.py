"""One process per run folder: a lock that the system takes back however the process ends."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO


class Locked(Exception):
    """Why a folder cannot be worked on."""


def hold(folder: Path) -> TextIO:
    """Held while the returned file is open, and given back by the system however the process ends."""
    try:
        file = (folder / "lock").open("a+")
    except OSError as error:
        raise Locked(f"{folder}: cannot be written: {error.strerror}") from None
    if not taken(file):
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise Locked(f"{folder} is in use by process {holder}")
    with suppress(OSError):  # the number only informs; a full disk is found out elsewhere
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), str(os.getpid()).encode())
    return file


def taken(file: TextIO) -> bool:
    """Whether the lock could be had; those who only look share it for an instant, and are waited for."""
    while not locked(file, fcntl.LOCK_EX):
        if not locked(file, fcntl.LOCK_SH):
            return False
        time.sleep(0.01)
    return True


def locked(file: TextIO, kind: int) -> bool:
    """Whether a lock of this kind could be had at once."""
    with suppress(OSError):
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return True
    return False


def is_held(folder: Path) -> bool:
    """Whether a process is working on the run."""
    try:
        with open(folder / "lock", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
