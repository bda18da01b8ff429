"""Draw the pictures of docs/figures.md and docs/results.md from a study, all or those that are named.

python docs/scripts/figures.py runs/first
python docs/scripts/figures.py runs/first landscape pairs
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from maestro.analysis import figures
from maestro.analysis.figures import Options, style

IMAGES = Path(__file__).parent.parent / "images" / "figures"
DOTS, COLORS = 140, 256  # in an inch, and in a picture: small files
FEW = {  # who is shown, where not all are
    "pairs": ("plr-pfsp", "maestro", "maestro-r", "maestro-p"),
    "gallery": ("dr-sp", "plr-sp", "plr-pfsp", "maestro", "maestro-r", "maestro-p"),
}
CURVES = ("round-robin-curves", "levels-curves", "emergent")  # where intervals of 95 % would hide each other
TWICE = ("round-robin", "round-robin-curves")  # on generated levels, too
GENERATED = "generated:64"


def pictures():
    """(file's name, figure, options) of each picture."""
    for name, kind in figures.KINDS.items():
        if kind.endings == style.ENDINGS:
            options = Options(methods=FEW.get(name, ()), error="standard-error" if name in CURVES else "95")
            yield name, name, options
            if name in TWICE:
                yield f"{name}-generated", name, replace(options, split=GENERATED)


def small(image):
    """A picture of few colors, among them those of thin lines."""
    whole = image.convert("RGB")
    return whole.quantize(COLORS, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)


def main(study, *wanted):
    """Write the pictures."""
    style.DOTS = DOTS
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for file, name, options in pictures():
            if file in wanted or not wanted:
                _, picture, _ = figures.draw(name, [Path(study)], Path(folder) / file, options)
                with Image.open(picture) as image:
                    small(image).save(IMAGES / f"{file}.png", optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
