"""Estimated against true regret: stored levels of a run, what was estimated there and what is true."""

from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np

from maestro.analysis.landscapes import text_of
from maestro.cohort import Cohort
from maestro.config import RunConfig, ScheduleConfig
from maestro.curriculum import Curriculum
from maestro.evaluation import true_regret
from maestro.evaluation.true_regret import KINDS, Responder, Start
from maestro.exploiters import newcomers
from maestro.games import Game
from maestro.runs.entrants import label_of
from maestro.runs.reporter import Reporter
from maestro.train import Experiment, TrainState

RESPONSE_SEED = 2_000_000  # apart from the seeds of runs and of other best responses
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How much is measured of each co-player."""

    levels: int = 12  # of each kind
    games: int = 128  # on each level, of the student and of the response
    updates: int = 200  # of the response to each kind
    rollouts: int = 8  # for the fresh estimates
    start: Start = "student"  # what a response begins as
    dice: int = 0


def about(name: str, game: Game, config: RunConfig, updates: int, plan: Plan) -> dict[str, Any]:
    """Of whom regret was measured, and how."""
    ppo = config.ppo
    made = {
        "run": name,
        "game": game.name,
        "method": label_of({"method": config.method, "level": config.level}),
    }
    steps = plan.updates * ppo.workers * ppo.rollout_length
    return {
        **made,
        "student": updates,  # after so many updates
        "score": config.curriculum.score,
        **asdict(plan),
        "response_steps": steps,
        "rollout_length": ppo.rollout_length,
    }


def chosen(known: Curriculum, everyone: bool) -> list[int]:
    """The slots whose levels are looked at: the one that was served most, or all that have levels."""
    served = true_regret.served(known)
    if not served.any():
        return []
    return [int(i) for i in np.flatnonzero(served)] if everyone else [int(served.argmax())]


def name_of(slot: int, schedule: ScheduleConfig) -> str:
    """A co-player in words: after how many updates of the student it has joined."""
    names = ["the student itself", *map(str, newcomers(schedule))]
    return names[slot] if slot < len(names) else f"member {slot}"


def of_seed(states: Cohort, number: int) -> TrainState:
    """One of the seeds."""
    return jax.tree.map(lambda x: x[number], states.seeds)


class Survey:
    """Measures co-players one after another; what is compiled is shared by all."""

    def __init__(self, game: Game, experiment: Experiment, plan: Plan) -> None:
        self.game, self.experiment, self.plan = game, experiment, plan
        self.responder = Responder(experiment, RESPONSE_SEED + plan.dice, plan.updates, plan.start)

        def estimates(key: Any, state: TrainState, member: Any, levels: Any) -> Any:
            return true_regret.estimates(key, experiment, state, member, levels, plan.rollouts)

        self.estimates = jax.jit(estimates)

    def measure(self, seed: int, state: TrainState, slot: int, reporter: Reporter) -> list[Row]:
        """A row for each level that was picked from one co-player's buffer."""
        plan, member = self.plan, true_regret.member_of(state, slot)
        name = name_of(slot, self.experiment.schedule)
        buffer = true_regret.buffer_of(state.curriculum, slot)
        one = jax.random.fold_in(jax.random.key(plan.dice), seed)
        keys = jax.random.split(jax.random.fold_in(one, slot), 4)
        picked = true_regret.picked(buffer, plan.levels, np.random.default_rng([plan.dice, seed, slot]))
        slots = np.concatenate([picked[kind] for kind in KINDS])
        levels = true_regret.levels_at(buffer, slots)
        reporter.show({"doing": f"seed {seed}, {name}: {len(slots)} levels, estimates"})
        fresh = jax.device_get(self.estimates(keys[3], state, member, levels))
        scores = {"stored": np.asarray(buffer.score)[slots], **fresh}
        games = [
            self.play(keys[i], state, member, true_regret.levels_at(buffer, picked[kind]), kind, reporter)
            for i, kind in enumerate(KINDS)
        ]
        texts = [text_of(self.game, levels, i, f"{seed}-{slot}-{i + 1}") for i in range(len(slots))]
        where = {"seed": seed, "member": slot, "joined": name}
        kinds = [kind for kind in KINDS for _ in picked[kind]]
        told = numbers(scores, *(np.concatenate(x, axis=1) for x in zip(*games, strict=True)))
        return [
            {**where, "kind": kind, "slot": int(at), "text": text, **row}
            for kind, at, text, row in zip(kinds, slots, texts, told, strict=True)
        ]

    def play(
        self, key: Any, state: TrainState, member: Any, levels: Any, kind: str, reporter: Reporter
    ) -> Any:
        """(returns, outcomes) [2, L, N] of the student and of a response trained on these levels."""

        def report(done: int, mean: float | None) -> None:
            reporter.show({"updates": done, "total": self.plan.updates, "return": mean})

        reporter.say(f"a best response on the {kind} levels, {self.plan.updates} updates")
        response = self.responder.train(state, member, levels, report)
        reporter.show({"doing": f"games on the {kind} levels"})
        who = [state.learner.params, response]
        return true_regret.played(key, self.experiment, who, member, levels, self.plan.games)


def numbers(scores: dict[str, np.ndarray], returns: np.ndarray, outcomes: np.ndarray) -> list[Row]:
    """What is known of each level; `returns` and `outcomes` are of (student, response) x levels x games."""
    bound = float(np.abs(returns).max()) or 1.0
    value, low, high = true_regret.difference(returns[1], returns[0], bound)
    ends = [true_regret.mean_ends(x, bound) for x in returns]
    rows = []
    for i in range(returns.shape[1]):
        row: Row = {"estimates": {name: float(values[i]) for name, values in scores.items()}}
        for j, who in enumerate(("student", "response")):
            row[f"{who}_return"] = float(returns[j, i].mean())
            row[f"{who}_return_95"] = ends[j][i].tolist()
            row[f"{who}_won"] = float((outcomes[j, i] > 0).mean())
        rows.append(
            {**row, "true_regret": float(value[i]), "true_regret_95": [float(low[i]), float(high[i])]}
        )
    return rows
