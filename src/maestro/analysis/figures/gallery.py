"""Levels that were served at the start, in the middle and at the end of training."""

from functools import partial
from typing import Any

import jax
import numpy as np

from maestro.analysis import curriculum
from maestro.analysis.figures import style
from maestro.analysis.figures.logs import by_label
from maestro.analysis.figures.source import FigureError, Made, Options, Row, Run, Source, drawn
from maestro.envs.base import Environment
from maestro.runs import entrants
from maestro.runs.entrants import Candidate
from maestro.runs.folder import RunError
from maestro.runs.served import Sample

MOMENTS: tuple[curriculum.Moment, ...] = ("start", "middle", "end")
SIDE = 96  # pixels of a level, about
GAP = 6  # pixels between two
COLUMNS, FEW = 4, 3  # levels beside each other; so many methods have two lines of them


def gallery(source: Source, options: Options) -> Made:
    """A line of levels for each method, those of its first seed."""
    labels = {label: runs[0] for label, runs in by_label(drawn(source, options)).items()}
    count = COLUMNS * (2 if len(labels) <= FEW else 1)
    rows: list[Row] = []
    mosaics: dict[str, list[np.ndarray]] = {}
    for label, run in labels.items():
        mosaics[label] = []
        for moment in MOMENTS:
            one, updates, sample = served(run, moment)
            facts, image = shown(one, sample, count)
            where = {"method": label, "seed": run.seeds[0], "moment": moment, "updates": updates}
            rows += [where | row for row in facts]
            mosaics[label].append(image)
    caption = "Levels drawn as the teacher serves them to updates at that moment, of one seed of each method."
    return Made(rows, style.finish(picture(mosaics, rows), options.title, caption))


def served(run: Run, moment: curriculum.Moment) -> tuple[Candidate, int, Sample]:
    """(the run's game and environment, updates, what was served then)."""
    try:
        one = entrants.open_run(run.folder.path)
        if one.game.draw.picture is None and one.game.draw.map is None:
            raise FigureError(f"{one.game.name} has no pictures of its levels")
        return one, *curriculum.served(run.folder, one.environment, moment)
    except RunError as error:
        raise FigureError(str(error)) from None


@partial(jax.jit, static_argnums=0)
def measured(env: Environment, levels: Any) -> tuple[Any, dict[str, Any]]:
    """(states at the start, statistics) of some levels."""
    reset = jax.vmap(lambda level: env.reset(jax.random.key(0), level)[0])
    return reset(levels), jax.vmap(env.statistics)(levels)


def shown(one: Candidate, sample: Sample, count: int) -> tuple[list[Row], np.ndarray]:
    """(what is known of the first levels of the first seed, their pictures as one)."""
    levels = jax.tree.map(lambda x: np.asarray(x)[0, :count], sample.levels)
    states, facts = jax.device_get(measured(one.environment, levels))
    rows, pictures = [], []
    for i in range(min(count, sample.coplayer.shape[1])):
        level, state = jax.tree.map(lambda x, i=i: x[i], (levels, states))
        pictures.append(picture_of(one, level, state))
        known = {"coplayer": int(sample.coplayer[0, i]), "score": float(sample.score[0, i])}
        known |= {"replayed": bool(sample.replayed[0, i])}
        rows.append({"level": i + 1, **known, **{name: float(values[i]) for name, values in facts.items()}})
    return rows, mosaic(pictures)


def mosaic(pictures: list[np.ndarray]) -> np.ndarray:
    """Pictures in lines, all in frames of one size."""
    side = max(max(picture.shape[:2]) for picture in pictures)
    tiles = [framed(picture, side) for picture in pictures]
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % COLUMNS)
    lines = [np.concatenate(tiles[i : i + COLUMNS], axis=1) for i in range(0, len(tiles), COLUMNS)]
    return np.concatenate(lines)


def picture_of(one: Candidate, level: Any, state: Any) -> np.ndarray:
    """A level large enough to look at: all of it if the game draws that, else the state at its start."""
    if (whole := one.game.draw.map) is not None:
        return whole(level, max(1, SIDE // max(whole(level, 1).shape[:2])))
    draw = one.game.draw.picture
    assert draw is not None
    return draw(level, state, max(1, SIDE // max(draw(level, state, 1).shape[:2])))


def framed(picture: np.ndarray, side: int) -> np.ndarray:
    """A picture in the middle of a white square."""
    tile = np.full((side + GAP, side + GAP, 3), 255, np.uint8)
    top, left = ((side + GAP - length) // 2 for length in picture.shape[:2])
    tile[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return tile


def picture(mosaics: dict[str, list[np.ndarray]], rows: list[Row]) -> Any:
    """The mosaics side by side."""
    shape = next(iter(mosaics.values()))[0].shape
    height = 2.25 * shape[0] / shape[1] * len(mosaics) + 0.6
    figure, axes = style.sheet(style.WIDTH, height, len(mosaics), len(MOMENTS))
    for i, (label, images) in enumerate(mosaics.items()):
        for panel, moment, image in zip(axes[i], MOMENTS, images, strict=True):
            panel.imshow(image, interpolation="nearest")
            panel.set_xticks([])
            panel.set_yticks([])
            panel.spines[:].set_visible(False)
            own = [row["updates"] for row in rows if row["method"] == label and row["moment"] == moment]
            alike = len({row["updates"] for row in rows if row["moment"] == moment}) == 1
            if i == 0 or not alike:
                panel.set_title(f"{moment}: after {own[0]} updates", fontsize=8)
        axes[i, 0].set_ylabel(style.plain(label, 18), fontsize=7.5, rotation=0, ha="right", va="center")
    return figure
