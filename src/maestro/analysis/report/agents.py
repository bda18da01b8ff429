"""Agents that play within the page: the students of the best methods, in half precision."""

import base64
from typing import Any

import numpy as np

from maestro.analysis.figures.source import Run, method_of
from maestro.analysis.report.people import People, kept
from maestro.analysis.report.runs import names
from maestro.evaluation.opponents import Trained
from maestro.games import Game
from maestro.runs.agent_file import AgentError, halved
from maestro.runs.checkpoint import flatten

MOST = 3


def play(people: People, runs: list[Run], order: list[str]) -> tuple[dict[str, Any] | None, str]:
    """(agents and levels, why there are none); the methods named first come first."""
    game = people.game
    if game.page is None or not any(game.page.glob("*.js")):
        return None, ""  # no game that is played in pages
    rank = {name: place for place, name in enumerate(order)}
    named = zip(runs, names(runs), strict=True)
    best = sorted(named, key=lambda one: ("@" in one[0].label, rank.get(one[0].label, len(rank))))
    found, reasons = [], ["no run has kept a student"]
    for run, name in best:
        agent, why = agent_of(people, run, name)
        found += [agent] if agent else []
        reasons += [why] if why else []
        if len(found) == MOST:
            break
    if not found:
        return None, f"Nobody can be played here: {reasons[-1]}."
    return {"agents": found, "levels": levels(game)}, ""


def agent_of(people: People, run: Run, name: str) -> tuple[dict[str, Any] | None, str]:
    """(the newest student of a run's first seed, why there is none)."""
    seed = next(iter(kept(run)), None)
    newest = None if seed is None else people.newest(run, seed)
    if newest is None:
        return None, ""
    updates, player = newest
    try:
        arrays = arrays_of(people.game, player)
    except AgentError as error:
        return None, f"{run.label}: {error}"
    about = f"{method_of(run)}, seed {seed}, {updates} updates"
    return {"name": name, "about": about, "hidden": int(player.agent.hidden), "arrays": arrays}, ""


def arrays_of(game: Game, player: Trained) -> dict[str, Any]:
    """The parameters by their names, as numbers of two bytes each."""
    if type(player.agent) is not game.agent or not hasattr(player.agent, "hidden"):
        raise AgentError(f"the page runs {game.agent.__name__} only, not {type(player.agent).__name__}")
    small = halved(flatten(player.params))
    return {name: {"shape": list(array.shape), "f16": encoded(array)} for name, array in small.items()}


def encoded(array: np.ndarray) -> str:
    """The bytes of an array, the lower byte of a number first."""
    return base64.b64encode(np.ascontiguousarray(array).astype("<f2").tobytes()).decode()


def levels(game: Game) -> list[dict[str, str]]:
    """The levels that have names."""
    return [{"name": name, "text": text} for name, text in game.levels.named]
