"""One process per run folder: a lock that the system takes back however the process ends."""

import fcntl
import os
import platform
import random
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

LOCK = fcntl.LOCK_EX | fcntl.LOCK_NB
REFUSED = (BlockingIOError, PermissionError)  # the second one over NFS


class Locked(Exception):
    """Why a folder cannot be worked on."""


class InUse(Locked):
    """Another process works on it."""


def hold(folder: Path) -> TextIO:
    """Held while the returned file is open, and given back by the system however the process ends.

    A folder that is not there is made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("a+")
    except OSError as error:
        raise Locked(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, LOCK)
    except REFUSED:
        if not taken(file):
            file.close()
            raise InUse(f"{folder} is in use by {named(folder)}") from None
    except OSError as error:  # some network file systems have no locks
        file.close()
        raise Locked(f"{folder}: cannot be locked: {error.strerror}") from None
    with suppress(OSError):  # the name only informs; a full disk is found out elsewhere
        os.ftruncate(file.fileno(), 0)
        os.write(file.fileno(), f"{os.getpid()} on {platform.node()}".encode())
    return file


def named(folder: Path) -> str:
    """Who held the lock last: a number says little where several machines share a folder."""
    try:
        with reading(folder) as file:
            return f"process {file.read(1000).strip() or 'unknown'}"
    except (OSError, ValueError):
        return "process unknown"


def holder(folder: Path) -> str:
    """Who works on it; nothing if nobody does."""
    return named(folder) if is_held(folder) else ""


def reading(folder: Path) -> TextIO:
    """The file of the lock, to look at; a pipe of its name keeps nobody waiting."""
    return open(folder / "lock", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK))


def taken(file: TextIO) -> bool:
    """Whether the lock could be had after all: those who only look share it for an instant."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except REFUSED:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)  # else two who wait would be two who look, for ever
        time.sleep(random.uniform(0.005, 0.015))
        with suppress(*REFUSED):
            fcntl.flock(file, LOCK)
            return True


def is_held(folder: Path) -> bool:
    """Whether a process is working on the run."""
    try:
        with reading(folder) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
