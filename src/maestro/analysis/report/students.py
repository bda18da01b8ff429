"""The student of one run against the members of its population, where nobody else has played yet."""

from typing import Any

import jax
import numpy as np

from maestro.analysis.figures.source import Run
from maestro.analysis.report.games import LEVELS, Recorder, dice
from maestro.analysis.report.numbers import short
from maestro.analysis.report.people import kept
from maestro.analysis.report.runs import joined
from maestro.envs.base import Environment
from maestro.exploiters import Newcomer
from maestro.runs import entrants

GAMES = 8  # on generated levels, of the student against each member
MOST = 8  # members


def matrix(run: Run, recorder: Recorder) -> dict[str, Any] | None:
    """One row: the student of the first seed against those who had joined; None if none was kept."""
    seed = next(iter(kept(run)), None)
    newest = None if seed is None else recorder.people.newest(run, seed)
    if seed is None or newest is None:
        return None
    updates, student = newest
    known = {who: recorder.people.member(run, seed, who) for who in spread(joined(run, updates))}
    others = {who: player for who, player in known.items() if player is not None}
    if not others:
        return None
    env = entrants.open_run(run.folder.path, recorder.people.game).environment
    levels = generated(env)
    names = [f"member of {who}" for who in others]
    told = (f"the student (update {updates})", student)
    cells = [meet(env, told, pair, levels, recorder) for pair in zip(names, others.values(), strict=True)]
    unknown = [[None for _ in names]]
    return {
        "name": f"{run.label}: the student of seed {seed} against its co-players",
        "levels": f"{GAMES} generated levels, one game on each; too few for an interval",
        "rows": [told[0]],
        "columns": names,
        "mean": [[mean for mean, _ in cells]],
        "low": unknown,
        "high": unknown,
        "games": [[game for _, game in cells]],
    }


def spread(everyone: list[Newcomer]) -> list[Newcomer]:
    """Some of many, the first and the last among them."""
    places = np.linspace(0, len(everyone) - 1, min(MOST, len(everyone))).round().astype(int)
    return [everyone[i] for i in np.unique(places)]


def generated(env: Environment) -> list[tuple[str, Any]]:
    """A few levels, the same for all."""
    keys = jax.random.split(dice(LEVELS), GAMES)
    levels = jax.device_get(jax.jit(jax.vmap(env.sample_level))(keys))
    return [(f"generated level {i + 1}", jax.tree.map(lambda x, i=i: x[i], levels)) for i in range(GAMES)]


def meet(env: Environment, a: Any, b: Any, levels: Any, recorder: Recorder) -> tuple[Any, int]:
    """(the mean return of the first, the place of one of the games)."""
    games = [recorder.play(env, a, b, levels, number) for number in range(len(levels))]
    scores = [float(np.sum(game.rewards[:, 0])) for _, game, _ in games]
    return short(np.mean(scores)), recorder.show(a, b, games)
