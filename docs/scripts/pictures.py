"""Draw the documentation's pictures of LaserTag: a duel, a film, and all levels with their names."""

from pathlib import Path

import imageio.v3 as imageio
import jax
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from maestro.analysis import caption, video
from maestro.analysis.film import frames_of
from maestro.envs.lasertag import maps
from maestro.envs.lasertag.draw import draw
from maestro.envs.lasertag.game import LaserTag
from maestro.evaluation.play import episode, step_bound
from maestro.games.lasertag import GAME

IMAGES = Path(__file__).parent.parent / "images"
COLUMNS, CELL, NAME = 3, 270, 40  # of the sheet of levels; the last two in pixels
WHO = "red: A, the student; blue: B, the opponent"


def duel(level, seed, a, b):
    """A game between two scripted players."""
    players = GAME.player(a), GAME.player(b)
    return jax.device_get(episode(jax.random.key(seed), LaserTag(), level, *players, step_bound(level)))


def busiest_moment(played):
    """The state with most bolts in flight while both are alive."""
    bolts = (played.states.bolts > 0).sum(axis=(1, 2)) * played.states.alive.all(axis=1)
    return jax.tree.map(lambda x: x[bolts.argmax()], played.states)


def captioned(picture, text):
    """A picture with words below it."""
    return caption.below(picture, caption.bar(text, picture.shape[1]))


def labeled(name, scale=16):
    """A level at its start, its name above it, on white."""
    level = maps.LEVELS.load(name)
    picture = Image.fromarray(draw(level, LaserTag().reset(jax.random.key(0), level)[0], scale))
    card = Image.new("RGB", (CELL, picture.height + NAME + 24), "white")
    words, font = ImageDraw.Draw(card), ImageFont.load_default(24)
    words.text((CELL // 2, NAME - 8), name, "#1f2430", font, anchor="ms")
    card.paste(picture, ((CELL - picture.width) // 2, NAME))
    return np.asarray(card)


def row(cards):
    """Cards side by side, as high as the highest."""
    height = max(len(card) for card in cards)
    padded = [np.pad(x, ((0, height - len(x)), (0, 0), (0, 0)), constant_values=255) for x in cards]
    return np.concatenate(padded, axis=1)


def gallery(names):
    """All levels, a few in each row."""
    cards = [labeled(name) for name in names]
    rows = [row(cards[i : i + COLUMNS]) for i in range(0, len(cards), COLUMNS)]
    return np.concatenate(rows)


def main():
    """Write all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    rooms = maps.LEVELS.load("SixteenRooms")
    moment = draw(rooms, busiest_moment(duel(rooms, 3, "hunter", "hunter")), 48)
    imageio.imwrite(IMAGES / "lasertag.png", captioned(moment, f"{WHO}; lighter: what each of them sees"))
    sheet = gallery(maps.NAMES)
    imageio.imwrite(IMAGES / "lasertag_levels.png", captioned(sheet, WHO))
    ruins = maps.LEVELS.load("Ruins2")
    played = duel(ruins, 1, "hunter", "wall-follower")
    video.write(IMAGES / "duel.gif", frames_of(GAME.draw, ruins, played, ("hunter", "wall-follower")), 8)


if __name__ == "__main__":
    main()
