"""Plants faults in the package, one at a time, and says which ones the tests notice.

`python tests/mutants.py` takes about an hour on two idle cores; its exit code is 1 if a fault survives
without a reason, if fewer than 95 % die, if one that must die does not, or if something is wrong with a row.

Each row of `mutants.toml` is a fault: a text that stands exactly once in a file of the package, what
replaces it, and the few tests that should notice. The package is copied, the fault planted in the copy,
and the tests run on it. A fault is dead if a test fails; if all pass, it has survived, and its row must
say why that is right (`reason`), or a test is missing. First of all the same tests must pass on the
package as it is. Tests that compare digests of whole runs are named by no row: they would notice any
change, and say nothing about what is right.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "maestro"
SHARE = 0.95  # of the faults that must die, at least
SECONDS = 3600  # after which the tests of one fault are taken to hang
# In the process of the tests: which of them failed, and from where the module with the fault was loaded.
WITNESS = """\
import json, os, sys
failed = []
def pytest_runtest_logreport(report):
    failed.extend([report.nodeid] * report.failed)
def pytest_sessionfinish():
    module = sys.modules.get(os.environ["FAULTY_MODULE"])
    told = {"failed": failed, "file": getattr(module, "__file__", None)}
    with open(os.environ["WITNESS_REPORT"], "w") as file:
        json.dump(told, file)
"""


@dataclass(frozen=True)
class Mutant:
    """A fault, and the tests that should notice it."""

    name: str
    file: str  # below the package
    old: str
    new: str
    tests: list[str] = field(hash=False)  # as pytest names them, below this folder
    must_die: bool = False
    reason: str = ""  # why it may survive

    @property
    def module(self) -> str:
        parts = ("maestro", *Path(self.file).with_suffix("").parts)
        return ".".join(parts).removesuffix(".__init__")

    def plant(self, package: Path) -> None:
        """Replace the text in a copy of the package."""
        path = package / self.file
        path.write_text(path.read_text().replace(self.old, self.new))

    def problem(self) -> str:
        """What is wrong with the row itself."""
        count = (PACKAGE / self.file).read_text().count(self.old)
        return "" if count == 1 and self.old != self.new else f"{self.name}: {count} times in {self.file}"


@dataclass(frozen=True)
class Verdict:
    """What became of a fault."""

    mutant: Mutant
    fate: str  # dead, SURVIVED or error
    seconds: float
    told: str  # the test that noticed, or what went wrong

    def __str__(self) -> str:
        return f"{self.fate:<8} {self.seconds:5.0f} s  {self.mutant.name}: {self.told}"


def load() -> list[Mutant]:
    """All rows, whose names differ."""
    rows = [Mutant(**row) for row in tomllib.loads((TESTS / "mutants.toml").read_text())["mutant"]]
    problems = list(filter(None, (row.problem() for row in rows)))
    if problems or len({row.name for row in rows}) < len(rows):
        raise SystemExit("\n".join(problems or ["two rows have the same name"]))
    return rows


def run_tests(names: list[str], home: Path, module: str) -> tuple[int, dict, str]:
    """(exit code, what the witness saw, the output) of tests on the copy of the package at `home`."""
    (home / "witness.py").write_text(WITNESS)
    report = home / "report.json"
    own = {"FAULTY_MODULE": module, "WITNESS_REPORT": str(report)}
    path = [str(home / "src"), str(home), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **own, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "witness"]
    command += ["--hypothesis-seed=0", *(str(TESTS / name) for name in names)]
    done = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    told = json.loads(report.read_text()) if report.exists() else {"failed": [], "file": None}
    return done.returncode, told, done.stdout + done.stderr


def try_out(mutant: Mutant) -> Verdict:
    """Plant one fault and run its tests."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        home = Path(folder)
        try:
            package = home / "src" / "maestro"
            shutil.copytree(PACKAGE, package)
            mutant.plant(package)
            code, told, output = run_tests(mutant.tests, home, mutant.module)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return Verdict(mutant, "error", time.monotonic() - began, str(error))
        loaded = told["file"] == str(package / mutant.file)
    seconds = time.monotonic() - began
    if code not in (0, 1):
        return Verdict(mutant, "error", seconds, f"pytest ended with {code}:\n{output[-2000:]}")
    if not loaded:
        return Verdict(mutant, "error", seconds, f"the tests have loaded {mutant.module} from {told['file']}")
    if code == 0:
        return Verdict(mutant, "SURVIVED", seconds, mutant.reason or "no test has noticed")
    return Verdict(mutant, "dead", seconds, told["failed"][0])


def refuse_failing_tests(mutants: list[Mutant], processes: int) -> None:
    """Without a fault all tests must pass."""
    names = sorted({name for mutant in mutants for name in mutant.tests})
    part = -(-len(names) // processes)

    def run_part(begin: int) -> None:
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            shutil.copytree(PACKAGE, Path(folder) / "src" / "maestro")
            code, _, output = run_tests(names[begin : begin + part], Path(folder), "maestro")
        if code:
            raise SystemExit(f"the tests do not pass on the package as it is:\n{output[-4000:]}")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run_part, range(0, len(names), part)))
    print(f"{len(names)} tests, or groups of them, pass on the package as it is", flush=True)


def conclude(verdicts: list[Verdict]) -> int:
    """Print the summary; the exit code."""
    by_fate = {fate: [v for v in verdicts if v.fate == fate] for fate in ("dead", "SURVIVED", "error")}
    dead, survived, errors = by_fate.values()
    share = len(dead) / len(verdicts)
    files = len({v.mutant.file for v in verdicts})
    print(f"\n{len(verdicts)} faults in {files} files: {len(dead)} dead ({share:.1%}), "
          f"{len(survived)} survived, {len(errors)} errors")  # fmt: skip
    for verdict in survived + errors:
        print(f"  {verdict}")
    needed = [v.mutant.name for v in survived if v.mutant.must_die]
    stale = [v.mutant.name for v in dead if v.mutant.reason]
    unexplained = [v.mutant.name for v in survived if not v.mutant.reason]
    told = {"must die": needed, "has no reason": unexplained, "died in spite of its reason": stale}
    for wrong, names in told.items():
        print(*(f"{wrong}: {name}" for name in names), sep="\n", end="\n" * bool(names))
    return int(bool(needed or unexplained or stale or errors or share < SHARE))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-j", type=int, default=2, metavar="N", help="faults tried at the same time (2)")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="those whose name or file contains one of these"
    )
    parser.add_argument("--list", action="store_true", help="print the rows and run nothing")
    parser.add_argument("--trust", action="store_true", help="take it that all tests pass without a fault")
    options = parser.parse_args()
    rows = [m for m in load() if not options.only or any(n in f"{m.file} {m.name}" for n in options.only)]
    if options.list or not rows:
        print("\n".join(f"{m.file}: {m.name}{' (must die)' * m.must_die}" for m in rows) or "no such fault")
        return int(not rows)
    if not options.trust:
        refuse_failing_tests(rows, options.j)
    verdicts = []
    with ThreadPoolExecutor(options.j) as pool:
        for done in as_completed([pool.submit(try_out, row) for row in rows]):
            verdicts.append(done.result())
            print(verdicts[-1], flush=True)
    return conclude(verdicts)


if __name__ == "__main__":
    sys.exit(main())
