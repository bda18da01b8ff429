"""A game of two players as pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from maestro.analysis import caption, video
from maestro.cohort import Cohort
from maestro.envs.base import Level
from maestro.evaluation.opponents import first_members, trained
from maestro.evaluation.play import Episode, episode, step_bound
from maestro.games import Drawing
from maestro.runs.agent_file import student
from maestro.runs.summary import LAST_KEY
from maestro.train import Experiment

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


def film_student(path: Path, experiment: Experiment, draw: Drawing, cohort: Cohort) -> None:
    """The first student against its first co-player, the longest of a few decided games."""
    first = jax.tree.map(lambda x: x[0], first_members(cohort))
    players = trained(experiment.agent, student(cohort, 0)), trained(experiment.agent, first)
    games = []
    for i in range(GAMES):
        key = jax.random.fold_in(jax.random.key(LAST_KEY), i)
        level = experiment.env.sample_level(key)
        games.append((level, episode(key, experiment.env, level, *players, step_bound(level))))
    level, game = max(games, key=lambda g: (int(g[1].outcome) > 0, min(60, int(g[1].length))))
    frames = frames_of(draw, level, game, ("the trained student", "its first co-player"))
    video.write(path, frames + frames[-1:] * PAUSE)
