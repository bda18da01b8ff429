"""From the command to the first updates: with nothing cached, and again with what the first time has kept.

    python benchmarks/start.py [GAME] [--preset tiny] [--repeats 3] [--out start.json] [-- OPTIONS OF TRAIN]

Each start is a process of its own, `maestro train GAME`, stopped when the first chunk that has updates is
logged, which is up to two seconds and some updates after the first. The cache is a folder of its own for each
repeat, empty at first: what is timed cold has everything to make, kernels too. The aims: for preset `tiny` on
two cores 15 and 6 s; for preset `fast` on an H200 20 (but for a first build of the kernels) and 6 s.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import Any

PHASES = (("header", " seed(s), on "), ("compiling", "compiling"), ("first updates", "learned: "))
MEASURED = """\
import time
from maestro.runs.trainer import Trainer
report = Trainer.report
def told(self, metrics, seconds):
    report(self, metrics, seconds)
    if self.updates:
        print(f"learned: {self.updates} updates in {int(self.state.cycles)} cycles, {device()}", flush=True)
def device():
    import jax
    return f"{jax.devices()[0].device_kind}, jax {jax.__version__}"
Trainer.report = told
from maestro.__main__ import main
main()
"""  # the command line, with a line as soon as an update is logged


def start(words: list[str], cache: Path, run: Path) -> dict[str, Any]:
    """Seconds from the start of a process to what it says, by name; and its last line."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
    for name in ("JAX_COMPILATION_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    call = [sys.executable, "-c", MEASURED, "train", *words, "--out", str(run)]
    began, found = time.monotonic(), {}
    with subprocess.Popen(call, stdout=PIPE, stderr=PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            for name, text in PHASES:
                if text in line:
                    found.setdefault(name, time.monotonic() - began)
            if "first updates" in found:
                found["said"] = line.strip().removeprefix("learned: ")
                process.send_signal(signal.SIGTERM)
                break
        _, errors = process.communicate()
    if "first updates" not in found:
        raise SystemExit(f"start.py: the command ended with {process.returncode} before an update\n{errors}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("game", nargs="?", default="lasertag")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="the results as JSON")
    own = sys.argv[1:]
    more = own[own.index("--") + 1 :] if "--" in own else []
    options = parser.parse_args(own[: own.index("--")] if "--" in own else own)
    words = [options.game, "--preset", options.preset, "--evaluation.times", "0", *more]
    starts: dict[str, list[dict[str, Any]]] = {"cold": [], "cached": []}
    for number in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            for kind in starts:
                one = start(words, Path(folder) / "cache", Path(folder) / kind)
                starts[kind].append(one)
                said = ", ".join(f"{name} {one[name]:.1f} s" for name, _ in PHASES)
                print(f"{number + 1}. {kind:<7} {said} ({one['said']})", flush=True)
    for kind, ones in starts.items():
        times = sorted(one["first updates"] for one in ones)
        print(f"{kind:<7} first updates after {median(times):.1f} s ({times[0]:.1f} to {times[-1]:.1f})")
    if options.out:
        options.out.write_text(json.dumps({"words": words, "starts": starts}, indent=1))


if __name__ == "__main__":
    main()
