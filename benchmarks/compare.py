"""Two results of training.py beside each other: what got slower, what faster.

    python benchmarks/compare.py old.json new.json [--most 1.05]

Its exit code is 1 if a cell takes more than `--most` times as long as it did, by medians, and the two ranges
of repeats do not overlap. Results of different devices are not compared.
"""

import argparse
import json
from typing import Any


def rows(path: str) -> tuple[str, dict[str, Any]]:
    """(device, rows by name)."""
    with open(path) as file:
        found = json.load(file)
    return found["device"], {row["name"]: row for row in found["rows"]}


def slower(old: dict[str, Any], new: dict[str, Any], most: float) -> bool:
    """Whether a cell got slower, beyond what repeats differ by."""
    return bool(new["cycle_ms"][1] > most * old["cycle_ms"][1] and new["cycle_ms"][0] > old["cycle_ms"][2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--most", type=float, default=1.05, help="times as long that is no slowdown")
    options = parser.parse_args()
    (device, old), (other, new) = rows(options.old), rows(options.new)
    if device != other:
        parser.error(f"{options.old} is of {device}, {options.new} of {other}")
    worse = []
    for name in [name for name in old if name in new]:
        before, after = old[name]["cycle_ms"][1], new[name]["cycle_ms"][1]
        told = "slower" if slower(old[name], new[name], options.most) else ""
        worse += [name] if told else []
        print(f"{name:<30} {before:9.2f} ms {after:9.2f} ms  {after / before:6.3f} x  {told}")
    for name in sorted(set(old) ^ set(new)):
        print(f"{name:<30} only in {options.old if name in old else options.new}")
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
