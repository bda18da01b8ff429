"""Draw the documentation's pictures of racing tracks: all circuits with their names, and generated tracks."""

from pathlib import Path

import jax
import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.collections import PolyCollection

from maestro.envs.racing import circuits, levels, track
from maestro.envs.racing.text import LEVELS

IMAGES = Path(__file__).parent.parent / "images"
GRASS, ROAD, INK, START = "#66cc66", "#55585e", "#1f2430", "#ffffff"
CREDIT = (
    "Center lines computed from bacinger/f1-circuits (c) 2019-2022 Tomislav Bacinger and, for LagunaSeca, "
    "juanmanzanero/fastest-lap (c) 2021 Juan Manzanero; both MIT License."
)


def draw_road(axes, level, reach):
    """The road at its true width, with its curbs, on grass that reaches so far from the middle."""
    road = track.along(level.center)
    curbed = np.asarray(track.curbed(road))
    colors = np.where(np.arange(len(curbed)) % 2 == 0, "#ffffff", "#e02020")
    axes.set_facecolor(GRASS)
    axes.add_collection(PolyCollection(np.asarray(track.curbs(road))[curbed], facecolors=colors[curbed]))
    tiles = PolyCollection(np.asarray(track.tiles(road)), facecolors=ROAD, edgecolors=ROAD, linewidths=0.2)
    axes.add_collection(tiles)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])


def mark_start(axes, level, reach):
    """A line across the road where cars start, and beside it an arrow the way they drive."""
    road = track.along(level.center)
    here, normal = np.asarray(road.point[0]), np.asarray(road.normal[0])
    ahead = np.array([-normal[1], normal[0]])
    ends = np.stack([here - 12 * normal, here + 12 * normal])
    axes.plot(*ends.T, color=START, linewidth=1.6)
    style = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.4, "mutation_scale": 9}
    tail = here + 0.07 * reach * normal
    axes.annotate("", tail + 0.25 * reach * ahead, tail, arrowprops=style)


def card(axes, name, level, reach):
    """One track, its name and its length."""
    draw_road(axes, level, reach)
    mark_start(axes, level, reach)
    length = float(np.linalg.norm(levels.edges(level.center), axis=1).sum())
    axes.set_title(name, fontsize=9, color=INK, pad=3)
    axes.text(0.02, 0.02, f"{length:,.0f} units", transform=axes.transAxes, fontsize=6.5, color=INK)


def sheet(path, named, columns, below=""):
    """All tracks in rows, and words below them."""
    rows = -(-len(named) // columns)
    reach = max(float(abs(level.center).max()) for level in named.values()) + 60
    size = (2.1 * columns, 2.25 * rows + 0.3)
    figure, grid = pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in grid.flat[len(named) :]:
        axes.axis("off")
    for axes, (name, level) in zip(grid.flat, named.items(), strict=False):
        card(axes, name, level, reach)
    if below:
        figure.supxlabel(below, fontsize=7, color=INK)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main():
    """Write both pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    sheet(IMAGES / "racing_circuits.png", {name: LEVELS.load(name) for name in circuits.TEST}, 7, CREDIT)
    generated = [levels.sample_level(key) for key in jax.random.split(jax.random.key(0), 12)]
    named = {f"{number}": level for number, level in enumerate(generated, 1)}
    sheet(IMAGES / "racing_generated.png", named, 6)


if __name__ == "__main__":
    main()
