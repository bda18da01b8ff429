"""Print the table of docs/architecture.md that names every function between `maestro train` and a checkpoint.

`python docs/scripts/walk.py GAME [SETTINGS]` runs the command until the manifest of its first checkpoint is
on disk. A function counts where it is first called. Left out is what JAX traces, the threads in which it
compiles meanwhile, what keeps a traced program (both threads do, and some of it only once), and what has no
name of its own: lambdas and comprehensions.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from jax._src.core import trace_state_clean

import maestro
from maestro.__main__ import main
from maestro.cli import progress
from maestro.runs.programs import AHEAD

PACKAGE = f"{Path(maestro.__file__).parent}/"
ENDS = ("Checkpointer.save", "write_file")  # where it is seen that the manifest is on disk
KEEPING = (f"{PACKAGE}runs/programs.py", "lowered")
PATIENCE = 60.0  # seconds for a checkpoint to be written
STATIONS = {  # by the function that begins each
    "main": "what was typed, and the game",
    "split": "the settings in force: preset, file, options, all checked",
    "launch": "the experiment, and whether it fits onto the device",
    "RunFolder.__post_init__": "the folder, its lock, signals, the live line",
    "work": "the trainer: a checkpoint to go on from, or a first state",
    "Trainer.run": "the first checkpoint is handed over",
    "Progress.watch": "in other threads: the live line, and the checkpoint is written",
}
Place = tuple[str, str]  # file below the package, function


class Walk:
    """Notes each function of the package where it is first called, in whatever thread."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.main: dict[Place, None] = {}
        self.others: dict[Place, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or not is_named(code) or not trace_state_clean():
            return None
        if threading.current_thread().name.startswith(AHEAD):
            return None
        if is_below(frame.f_back, KEEPING):
            return None
        place = (code.co_filename.removeprefix(PACKAGE), code.co_qualname)
        inside = threading.current_thread() is threading.main_thread()
        if place not in self.main:
            (self.main if inside else self.others)[place] = None
        return self.watch if code.co_qualname in ENDS else None

    def watch(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The run waits for its first checkpoint, and ends there: from then on two threads go on at once."""
        if event == "return" and any(self.out.glob("run/checkpoints/*.json")):
            self.end(0)
        if event == "return" and frame.f_code.co_qualname == "Checkpointer.save":
            time.sleep(PATIENCE)
            self.end(1)
        return self.watch

    def end(self, code: int) -> None:
        """Print the table, and end the process as it is."""
        places = [*self.main, *self.others]
        files = {file for file, _ in places}
        print(f"{len(places)} functions in {len(files)} files\n", *rows(places), sep="\n", flush=True)
        shutil.rmtree(self.out, ignore_errors=True)
        os._exit(code)


def is_below(frame: FrameType | None, function: Place) -> bool:
    """Whether a function is among those that wait for what goes on."""
    while frame is not None and (frame.f_code.co_filename, frame.f_code.co_qualname) != function:
        frame = frame.f_back
    return frame is not None


def is_named(code: CodeType) -> bool:
    """Whether this is a function with a name; bodies of modules and classes are none."""
    return not code.co_name.startswith("<") and bool(code.co_flags & CO_OPTIMIZED)


def rows(places: list[Place]) -> list[str]:
    """A row of the table for each station."""
    stops: dict[str, list[Place]] = {}
    left = list(STATIONS)
    for place in places:
        if left and place[1] == left[0]:
            stops[left.pop(0)] = []
        next(reversed(stops.values())).append(place)
    return [
        f"| {number}. {STATIONS[first]} ({len(stop)}) | {by_file(stop)} |"
        for number, (first, stop) in enumerate(stops.items(), 1)
    ]


def by_file(places: list[Place]) -> str:
    """`file.py`: `one`, `another`; files in the order in which they are entered."""
    files: dict[str, list[str]] = {}
    for file, name in places:
        files.setdefault(file, []).append(f"`{name}`")
    return "; ".join(f"`{file}`: {', '.join(names)}" for file, names in files.items())


if __name__ == "__main__":
    walk = Walk(Path(tempfile.mkdtemp()))
    sys.argv = ["maestro", "train", *sys.argv[1:], "--out", str(walk.out / "run")]
    progress.EVERY = PATIENCE  # on a busy machine the live line would say that it still goes on
    threading.settrace(walk)
    sys.settrace(walk)
    sys.exit(main())
