"""Recorded games: a decided one among a few, as what moves in its states, and what the players expected."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from maestro.analysis.film import how_it_ended, states_of
from maestro.analysis.report.numbers import listed
from maestro.analysis.report.people import People
from maestro.analysis.report.scenes import Scenes
from maestro.envs.base import Environment, Level
from maestro.envs.players import Player
from maestro.evaluation.opponents import Trained
from maestro.evaluation.play import Episode, begin, step_bound, turn
from maestro.evaluation.replay import value_of
from maestro.regret import accumulated, lead
from maestro.runs.reporter import Reporter

TRIES = 4  # games of which one is shown
LONGEST = 200  # states of a game that nobody minds watching
DICE = 13
PLAYED, LEVELS = 0, 1  # folded into its key: games, and levels that are generated for them
RESULTS = {1: "a", 0: "draw", -1: "b"}
Named = tuple[str, Any]  # a level, or a player, with what to call it
Played = tuple[Named, Episode, Any]  # on which level, the game, what the players expected


def dice(what: int) -> PRNGKeyArray:
    """The key of one kind of chance, apart from that of the others."""
    return jax.random.fold_in(jax.random.key(DICE), what)


@partial(jax.jit, static_argnames=("env", "steps"))
def watch(
    key: PRNGKeyArray, env: Environment, level: Level, a: Player, b: Player, steps: int
) -> tuple[Episode, Float[Array, "T 2"]]:
    """(the game that `play.episode` plays, the values that `replay.minds` finds), by one program."""
    first = begin(key, env, level, a, b)

    def step(now: Any, t: Any) -> Any:
        after, actions, info = turn(key, env, level, a, b, now, t)
        values = [value_of(player, memory) for player, memory in zip((a, b), after.memories, strict=True)]
        return after, (after.state, actions, info["score"], ~now.done, jnp.stack(values))

    _, (states, actions, scores, played, values) = jax.lax.scan(step, first, jnp.arange(1, steps + 1))
    states = jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first.state, states)
    total = accumulated(scores, jnp.zeros(scores.shape, bool))[-1]
    outcome = lead(total[0], total[1]).astype(jnp.int32)
    return Episode(states, actions, scores, jnp.sum(played), outcome), values


class Recorder:
    """Plays and keeps games; others point to them by their place."""

    def __init__(self, scenes: Scenes, people: People, told: Reporter) -> None:
        self.scenes, self.people, self.told = scenes, people, told
        self.found: list[dict[str, Any]] = []
        self.played = 0
        self.steps = 0  # that the longest game so far could have taken: few programs are compiled

    def record(
        self, env: Environment, a: Named, b: Named, levels: Sequence[Named], tries: int = TRIES
    ) -> int:
        """The place of a game of two players on one of some levels, a in the first seat."""
        games = []
        for number in range(tries):
            games.append(self.play(env, a, b, levels, number))
            if games[-1][1].outcome and int(games[-1][1].length) < LONGEST:
                break
        return self.show(a, b, games)

    def play(self, env: Environment, a: Named, b: Named, levels: Sequence[Named], number: int) -> Played:
        """One of the games of two players; each has dice of its own."""
        self.told.show({"doing": f"recording games: {self.played + 1}"})
        self.steps = max(self.steps, *(step_bound(level) for _, level in levels))
        self.played += 1
        name, level = levels[number % len(levels)]
        key = jax.random.fold_in(dice(PLAYED), self.played)
        found = watch(key, env, jax.device_get(level), a[1], b[1], self.steps)
        return (name, level), *jax.device_get(found)

    def show(self, a: Named, b: Named, games: list[Played]) -> int:
        """The place of that one of some games which is shown: one that somebody won, and the shortest."""
        level, game, values = max(games, key=lambda one: (bool(one[1].outcome), -int(one[1].length)))
        expects = any(isinstance(player, Trained) for player in (a[1], b[1]))
        return self.keep((a[0], b[0]), level, game, values if expects else None)

    def keep(self, names: tuple[str, str], level: Named, game: Episode, values: Any = None) -> int:
        """The place of a game that was played; `values` [T, 2] are what the players expected."""
        scenes = self.scenes
        shown = scenes.frame if scenes.draws else scenes.text
        told: list[Any] = [shown(level[1], state) for state in states_of(game)]
        expected = None if values is None else listed(np.asarray(values)[: int(game.length)].round(3))
        self.found.append(
            {
                "scene": scenes.add(level[1], level[0]),
                "names": list(names),
                "level": level[0],
                "result": RESULTS[int(game.outcome)],
                "told": how_it_ended(game, *names),
                "frames": told if scenes.draws else [],
                "text": None if scenes.draws else told,
                "values": expected,
            }
        )
        return len(self.found) - 1
