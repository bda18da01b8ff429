"""The 21 Formula 1 circuits of the evaluation (paper, appendix: evaluation environments), by name.

Their center lines were computed from bacinger/f1-circuits (Copyright (c) 2019-2022 Tomislav Bacinger) and,
for Laguna Seca, from juanmanzanero/fastest-lap (Copyright (c) 2021 Juan Manzanero), both under the MIT
License, which stands in `circuits.json`. Sizes, starts and directions are those of Jiang et al. (2021).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from maestro.envs.racing import line
from maestro.envs.racing.track import TILES

HALF_SIDE = 500
DENSE = 4096  # points of a curve, from which those of a track are taken
SPECIALIST = ("UK", "Belgium", "Spain")


def center_line(circuit: dict[str, Any]) -> np.ndarray:
    """A circuit's center line, mirrored, in driving order from the start on."""
    points = circuit["scale"] * np.stack([circuit["x"], np.negative(circuit["y"])], axis=1) / 10_000
    lap = circuit["start"] + circuit["way"] * np.arange(DENSE) / DENSE
    return line.resample(line.spline(points, len(points) * lap), TILES)


def text_of(name: str, circuit: dict[str, Any]) -> str:
    """A circuit as the text of a level."""
    center = center_line(circuit).round(3).tolist()
    level = {"name": name, "half_side": HALF_SIDE, "frames": circuit["frames"], "center": center}
    return json.dumps(level) + "\n"


CIRCUITS = json.loads((Path(__file__).parent / "circuits.json").read_text(encoding="utf-8"))["circuits"]
TEXTS = {name: text_of(name, circuit) for name, circuit in CIRCUITS.items()}
TEST = tuple(TEXTS)
