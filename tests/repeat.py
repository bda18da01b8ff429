"""Run the tests again and again; the first run that fails ends it, and is named.

Each run is what `make test` runs, as a background job of a shell, where SIGINT is ignored. For example:

  python tests/repeat.py                               ten times in a row
  python tests/repeat.py --busy                        beside four processes that never rest
  python tests/repeat.py --times 3 tests/runs -k kill  three times; what is not known here goes to pytest
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUSY = 4


def command() -> list[str]:
    """What `make test` runs in the end."""
    planned = subprocess.run(
        ["make", "--no-print-directory", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return shlex.split(planned.stdout.splitlines()[-1])


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Beside so many processes that never rest."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def in_background(words: list[str]) -> int:
    """The exit code of a background job; a shell without a terminal lets those ignore SIGINT."""
    line = f"{shlex.join(words)} & wait $!"
    job = subprocess.Popen(["bash", "-c", line], cwd=ROOT, start_new_session=True)
    try:
        return job.wait()
    finally:
        with suppress(ProcessLookupError):  # nothing is left of it
            os.killpg(job.pid, signal.SIGTERM)


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, allow_abbrev=False)
    parser.add_argument("--times", metavar="N", type=int, default=10, help="how often; 10 by default")
    parser.add_argument("--busy", action="store_true", help=f"beside {BUSY} processes that never rest")
    options, rest = parser.parse_known_args()
    words = [*command(), *rest]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    with busy(BUSY if options.busy else 0):
        for number in range(1, options.times + 1):
            began = time.monotonic()
            code = in_background(words)
            ended = f"failed with exit code {code}" if code else "passed"
            print(f"run {number} of {options.times} {ended}, {time.monotonic() - began:.0f} s", flush=True)
            if code:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
