"""From the command to the first update: with nothing cached, and again with what the first time has kept.

    python benchmarks/start.py [GAME] [--preset tiny] [--repeats 3] [--out start.json] [-- OPTIONS OF TRAIN]

Each start is a process of its own, `maestro train GAME`, stopped when the first chunk that has updates is
logged. When the first of these was made is told by its place among the chunk's cycles. The cache is a folder
of its own for each repeat. A start is "built" where nothing but the kernels is there, "cold" where they are
to be made too, if there are any, and "cached" where all is there. The aims, built and cached: for preset
`tiny` on two cores 15 and 6 s, for preset `fast` on an H200 20 and 6.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import Any

PHASES = (
    ("header", " seed(s), on "),
    ("compiling", "compiling"),
    ("compiled", "compiled"),
    ("logged", "learned: "),
)
KINDS = ("cold", "built", "cached")
MEASURED = """\
import time
from maestro.runs.trainer import Trainer
compile, report = Trainer.compile, Trainer.report
def compiled(self):
    chunk = compile(self)
    print("compiled", flush=True)
    return chunk
def told(self, metrics, seconds):
    now = time.monotonic()
    report(self, metrics, seconds)
    if self.updates:
        took_place = metrics.trained[metrics.active[:, 0], 0]
        first = now - seconds * (1 - (took_place.argmax() + 1) / len(took_place))
        made = f"{self.updates} updates in {int(self.state.cycles)} cycles"
        print(f"learned: {first} {made}, {device()}", flush=True)
def device():
    import jax
    return f"{jax.devices()[0].device_kind}, jax {jax.__version__}"
Trainer.compile, Trainer.report = compiled, told
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
            if "logged" in found:
                first, found["said"] = line.strip().removeprefix("learned: ").split(" ", 1)
                found["first update"] = float(first) - began
                process.send_signal(signal.SIGTERM)
                break
        _, errors = process.communicate()
    if "logged" not in found:
        raise SystemExit(f"start.py: the command ended with {process.returncode} before an update\n{errors}")
    return found


def told(one: dict[str, Any]) -> str:
    """When what happened."""
    names = [*(name for name, _ in PHASES[:-1]), "first update", PHASES[-1][0]]
    return ", ".join(f"{name} {one[name]:.1f} s" for name in names)


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
    starts: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for number in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            for kind in starts:
                if kind == "built" and not (cache / "maestro" / "kernels").is_dir():
                    starts["built"].append(starts["cold"].pop())  # there are none: nothing is to be built
                    continue
                if kind == "built":
                    for made in ("jax", "programs"):
                        shutil.rmtree(cache / "maestro" / made, ignore_errors=True)
                one = start(words, cache, Path(folder) / kind)
                starts[kind].append(one)
                print(f"{number + 1}. {kind:<7} {told(one)} ({one['said']})", flush=True)
    for kind, ones in starts.items():
        times = sorted(one["first update"] for one in ones)
        if times:
            print(f"{kind:<7} first update after {median(times):.1f} s ({times[0]:.1f} to {times[-1]:.1f})")
    if options.out:
        options.out.write_text(json.dumps({"words": words, "starts": starts}, indent=1))


if __name__ == "__main__":
    main()
