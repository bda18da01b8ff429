"""A game of two players as pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from maestro.analysis import caption, video
from maestro.analysis.beside import WIDTH, Beside, framed
from maestro.cohort import Cohort
from maestro.envs.base import Level
from maestro.evaluation.opponents import first_members, trained
from maestro.evaluation.play import Episode, episode, step_bound
from maestro.evaluation.replay import Minds
from maestro.games import Drawing
from maestro.runs.agent_file import student
from maestro.train import Experiment

FILM_KEY = 2**31 - 6  # used nowhere else: of levels that neither training nor evaluation has used
GAMES = 8  # of which the longest won one is filmed
SIDE = 480  # pixels of a film's longer side, about
PAUSE = 10  # frames that the end is shown


def states_of(game: Episode) -> Iterator[Any]:
    """The states from the start to the end."""
    states = jax.device_get(game.states)
    for t in range(int(game.length) + 1):
        yield jax.tree.map(lambda x, t=t: x[t], states)


def frames_of(draw: Drawing, level: Level, game: Episode, names: Sequence[str] = ()) -> list[np.ndarray]:
    """A picture of each state, large enough to look at, with who is who below it."""
    assert draw.picture is not None
    states = list(states_of(game))
    scale = max(1, SIDE // max(draw.picture(level, states[0], 1).shape[:2]))
    pictures = [draw.picture(level, state, scale) for state in states]
    text = caption.who_is_who(draw.seats, names)
    words = caption.bar(text, pictures[0].shape[1]) if text else None
    return [caption.below(picture, words) for picture in pictures]


def frames_with_views(
    draw: Drawing, level: Level, game: Episode, minds: Minds, names: Sequence[str]
) -> Iterator[np.ndarray]:
    """A picture of each state, beside it what the players see, below it their values and how it goes."""
    length, (a, b) = int(game.length), names
    obs, values = jax.tree.map(np.asarray, (minds.obs, minds.values))
    players = Beside(draw, (a, b), jax.tree.map(lambda x: x[: length + 1], obs), values[:length])
    for t, picture in enumerate(frames_of(draw, level, game)):
        column = players.column(t)
        height, width = max(len(picture), len(column)), picture.shape[1]
        shown = np.concatenate([framed(picture, (height, width)), framed(column, (height, WIDTH))], axis=1)
        told = f"step {t}" if t < length else how_it_ended(game, players.called(0), players.called(1))
        shown = caption.below(shown, players.chart(t, shown.shape[1]))
        yield caption.below(shown, caption.line(told, shown.shape[1]))


def how_it_ended(game: Episode, a: str, b: str) -> str:
    """Who won, after how many steps."""
    result = {1: f"{a} won", 0: "a draw", -1: f"{b} won"}[int(game.outcome)]
    return f"{result} after {int(game.length)} steps"


def film_student(path: Path, experiment: Experiment, draw: Drawing, cohort: Cohort) -> None:
    """The first student against its first co-player, the longest of a few decided games."""
    first = jax.tree.map(lambda x: x[0], first_members(cohort))
    players = trained(experiment.agent, student(cohort, 0)), trained(experiment.agent, first)
    games, sample_level = [], jax.jit(experiment.env.sample_level)
    for i in range(GAMES):
        level_key, key = jax.random.split(jax.random.fold_in(jax.random.key(FILM_KEY), i))
        level = sample_level(level_key)
        games.append((level, episode(key, experiment.env, level, *players, step_bound(level))))
    level, game = max(games, key=lambda g: (int(g[1].outcome) > 0, min(60, int(g[1].length))))
    frames = frames_of(draw, level, game, ("the trained student", "its first co-player"))
    video.write(path, frames + frames[-1:] * PAUSE)
