"""Draw the pictures of LaserTag in the documentation: a duel, and the levels it is tested on."""

from pathlib import Path

import imageio.v3 as imageio
import jax
import numpy as np

from maestro.envs.lasertag import maps
from maestro.envs.lasertag.draw import draw
from maestro.envs.lasertag.game import LaserTag
from maestro.evaluation.play import episode, step_bound
from maestro.games.lasertag import GAME

IMAGES = Path(__file__).parent.parent / "docs" / "images"
COLUMNS = 5


def busiest_moment(env, level, seed):
    """The state with most bolts in flight in an episode between two hunters."""
    hunter = GAME.player("hunter")
    played = episode(jax.random.key(seed), env, level, hunter, hunter, step_bound(level))
    states = jax.device_get(played.states)
    bolts = (states.bolts > 0).sum(axis=(1, 2)) * states.alive.all(axis=1)
    return jax.tree.map(lambda x: x[bolts.argmax()], states)


def gallery(env, names, scale):
    """All levels at their starts, side by side on white."""
    levels = map(maps.LEVELS.load, names)
    pictures = [draw(level, env.reset(jax.random.key(0), level)[0], scale) for level in levels]
    cell = max(max(p.shape[:2]) for p in pictures) + scale
    rows = -(-len(pictures) // COLUMNS)
    sheet = np.full((rows * cell, COLUMNS * cell, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        height, width = picture.shape[:2]
        top = i // COLUMNS * cell + (cell - height) // 2
        left = i % COLUMNS * cell + (cell - width) // 2
        sheet[top : top + height, left : left + width] = picture
    return sheet


def main():
    """Write both pictures."""
    env, level = LaserTag(), maps.LEVELS.load("SixteenRooms")
    IMAGES.mkdir(parents=True, exist_ok=True)
    imageio.imwrite(IMAGES / "lasertag.png", draw(level, busiest_moment(env, level, seed=3), 48))
    imageio.imwrite(IMAGES / "lasertag_levels.png", gallery(env, maps.NAMES, 14))


if __name__ == "__main__":
    main()
