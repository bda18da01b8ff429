"""Do two forms of the LSTM learn the same? The same seeds trained in each, and the difference at the end.

    python benchmarks/forms.py [--preset fast] [--seeds 5] [--forms kernel portable] [--out runs/forms]

Each form is a run of its own, `maestro train lasertag` under $MAESTRO_LSTM, one after the other. A run ends
with games of each student against its own first co-player, and the share won is compared seed by seed: mean
difference, and Student's 95 % interval over the pairs. The aim is an interval within .05 of 0. A run that is
there already is taken as it is, if it was finished. Other options go to `maestro train`.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from maestro.agents.lstm.form import VARIABLE
from maestro.evaluation.resampling import student_interval

AIM = 0.05


def trained(form: str, out: Path, words: list[str]) -> list[float]:
    """The share of games that each student of a form has won at the end."""
    summary = out / "summary.json"
    if not summary.is_file():
        call = [sys.executable, "-m", "maestro", "train", "lasertag", *words, "--out", str(out)]
        done = subprocess.run(call, env={**os.environ, VARIABLE: form, "MAESTRO_REPORT": "no"})
        if done.returncode:
            raise SystemExit(f"forms.py: {form} ended with {done.returncode}")
    return list(json.loads(summary.read_text())["won_by_seed"])


def told(won: dict[str, list[float]]) -> str:
    """Both shares, and how far the first form is ahead of the second."""
    (first, second), values = won, np.array(list(won.values()))
    apart = values[0] - values[1]
    low, high = (float(end[0]) for end in student_interval(apart[None]))
    shares = ", ".join(f"{name} {np.mean(shares):.3f}" for name, shares in won.items())
    within = "within" if low >= -AIM and high <= AIM else "not within"
    ahead = f"{first} is ahead of {second} by {apart.mean():+.3f} (95 % {low:+.3f} to {high:+.3f})"
    return f"won by {len(apart)} students: {shares}; {ahead}, {within} {AIM} of 0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--forms", nargs=2, default=["kernel", "portable"])
    parser.add_argument("--out", type=Path, default=Path("runs/forms"))
    options, more = parser.parse_known_args()
    words = ["--preset", options.preset, "--seeds", str(options.seeds), "--evaluation.times", "0", *more]
    print(told({form: trained(form, options.out / form, words) for form in options.forms}))


if __name__ == "__main__":
    main()
