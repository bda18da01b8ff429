"""Slow twin of the level buffer: slots in lists, one obvious loop for each rule of prioritised replay."""

import math

import numpy as np

from oracles.regret import learnability, mean_mc

# An episode is (undiscounted return, mean over its steps of V for `max_mc`, of the score itself for `given`),
# with its result (1, 0.5, 0) as the third number for the scores that remember more than a best return.
REMEMBERING = {"mean_mc": mean_mc, "learnability": learnability}
SIGNED = ("max_mc", "mean_mc")
OPTIONS = {
    "prioritization": ("rank", "proportional"),
    "eviction": ("replay", "score"),
    "score": ("max_mc", "given", *REMEMBERING),
    "victims": ("early", "late"),
}


def rank_shares(scores, beta):
    """Share of each score, (1/rank)^(1/beta) normalized; rank 1 is the highest, ties by lower index."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    weights = [0.0] * len(scores)
    for place, i in enumerate(order):
        weights[i] = (1.0 / (place + 1)) ** (1.0 / beta)
    return normalized(weights)


def proportional_shares(scores, beta):
    """Share of each score, max(S, 0)^(1/beta) normalized; uniform where no score is positive.

    Of scores relative to the highest, whose powers cannot overflow nor all underflow.
    """
    top = max(scores)
    return normalized([(max(score, 0.0) / top) ** (1.0 / beta) if top > 0 else 0.0 for score in scores])


def normalized(weights):
    """Weights divided by their sum; uniform where the sum is zero."""
    total = sum(weights)
    return [weight / total if total > 0 else 1.0 / len(weights) for weight in weights]


class Buffer:
    """K slots, each a level with its score, best return (R_max) and stamp, and one clock."""

    def __init__(self, K, beta, rho, prioritization="rank", eviction="replay", **more):
        """Empty buffer; more options: `score` (see OPTIONS), `victims` (early or late, see `step`)."""
        options = {
            "prioritization": prioritization,
            "eviction": eviction,
            "score": "max_mc",
            "victims": "early",
        }
        for name, value in (options | more).items():
            if value not in OPTIONS[name]:
                raise ValueError(f"{name} is {value!r}, allowed: {OPTIONS[name]}")
        self.options = options | more
        if prioritization == "proportional" and self.options["score"] in SIGNED:
            needs = "prioritization 'proportional' needs scores that are never negative"
            raise ValueError(f"{needs}, not {self.options['score']}")
        self.K, self.beta, self.rho = K, beta, rho
        self.level = [None] * K
        self.score = np.full(K, -np.inf)
        self.best = np.full(K, -np.inf)
        self.memory = [None] * K
        self.stamp = np.zeros(K, int)
        self.filled = np.zeros(K, bool)
        self.clock = 0

    def priorities(self):
        """P_replay = (1 - rho) P_S + rho P_C over the filled slots, zero elsewhere."""
        slots = [i for i in range(self.K) if self.filled[i]]
        result = np.zeros(self.K)
        if not slots:
            return result
        shares = {"rank": rank_shares, "proportional": proportional_shares}[self.options["prioritization"]]
        by_score = shares([self.score[i] for i in slots], self.beta)
        by_age = normalized([float(self.clock - self.stamp[i]) for i in slots])
        for i, p_score, p_age in zip(slots, by_score, by_age, strict=True):
            result[i] = (1 - self.rho) * p_score + self.rho * p_age
        return result

    def max_score(self):
        """Highest stored score, -inf when nothing is stored."""
        return max((self.score[i] for i in range(self.K) if self.filled[i]), default=-math.inf)

    def warm(self, min_fill, levels_that_exist=math.inf):
        """Whether levels may be replayed: filled >= min(min_fill K, levels that exist), and at least one."""
        count = sum(self.filled)
        return bool(count >= 1 and count >= min(min_fill * self.K, levels_that_exist))

    def step(self, started_new, started_replay, new, replayed):
        """One batched step; `started_new` a count, `started_replay` slots (repeated when started again),
        `new` (level, episodes) in worker order, `replayed` (slot, episodes), a slot in any number of records.

        1. clock += started_new + len(started_replay).
        2. Started slots get stamp = clock, whether an episode finished or not.
        3. Replayed slots with a finished episode: R_max grows over all of them, then the score is overwritten
           by the mean over all of them. Scores that remember more pool them with the episodes of an equal new
           level: what a rollout shows of a level counts once.
        4. P_replay is computed, once (`victims="early"`; with "late" it is computed after 5 instead).
        5. New levels without a finished episode anywhere are dropped and touch nothing; equal ones are merged
           and stand at their first worker. Those stored already overwrite their slot's score (also one that
           was replayed in this very step), let its R_max grow and set stamp = clock.
        6. The rest, best score first, then lower worker, fill free slots, lowest first.
        7. The j-th of those left meets the slot with the j-th smallest P_replay (eviction "score": the j-th
           smallest score, as it is after 5) among slots filled before this step, lower slot on ties, and
           replaces it iff S_new >= S_victim, the victim's score being the one after 5. With no slot left to
           meet it is dropped.
        """
        before = [i for i in range(self.K) if self.filled[i]]
        self.clock += started_new + len(started_replay)
        for slot in started_replay:
            self.stamp[slot] = self.clock
        groups, told = pooled(new), set()
        for slot, episodes in pooled(replayed).items():
            if self.options["score"] in REMEMBERING:
                episodes = episodes + groups.get(self.level[slot], [])
                told.add(slot)
            self._rescore(slot, episodes)
        early = self.priorities()
        strangers = self._update_stored(groups, told)
        keys = early if self.options["victims"] == "early" else self.priorities()
        if self.options["eviction"] == "score":
            keys = self.score.copy()
        self._admit(strangers, sorted(before, key=lambda i: (keys[i], i)))

    def _update_stored(self, groups, told):
        """Rescore, unless told, and stamp the levels that are stored; return the others for `_store`."""
        strangers = []
        for level, episodes in groups.items():
            if level in self.level:
                slot = self.level.index(level)
                if slot not in told:
                    self._rescore(slot, episodes)
                self.best[slot] = max(self.best[slot], *(episode[0] for episode in episodes))
                self.stamp[slot] = self.clock
            else:
                strangers.append((level, *self._evaluate(-math.inf, None, episodes)))
        return strangers

    def _admit(self, strangers, victims):
        """Best first: free slots in order, then each remaining one against its own victim."""
        ranked = sorted(range(len(strangers)), key=lambda w: (-strangers[w][1], w))
        free = [i for i in range(self.K) if not self.filled[i]]
        for slot, w in zip(free, ranked, strict=False):
            self._store(slot, *strangers[w])
        for slot, w in zip(victims, ranked[len(free) :], strict=False):
            if strangers[w][1] >= self.score[slot]:
                self._store(slot, *strangers[w])

    def _store(self, slot, level, score, best, memory):
        self.level[slot], self.score[slot], self.best[slot] = level, score, best
        self.stamp[slot], self.filled[slot], self.memory[slot] = self.clock, True, memory

    def _rescore(self, slot, episodes):
        known = self._evaluate(self.best[slot], self.memory[slot], episodes)
        self.score[slot], self.best[slot], self.memory[slot] = known

    def _evaluate(self, best, memory, episodes):
        """(score, R_max, memory) after these finished episodes: R_max first, then the mean over episodes."""
        for episode in episodes:
            best = max(best, episode[0])
        if self.options["score"] in REMEMBERING:
            score, memory = REMEMBERING[self.options["score"]](memory, episodes)
            return score, best, memory
        if self.options["score"] == "max_mc":
            return sum(best - mean_value for _, mean_value in episodes) / len(episodes), best, None
        return sum(mean_score for _, mean_score in episodes) / len(episodes), best, None


def pooled(records):
    """Episodes of all records of one level or slot, in order of its first record; unfinished ones dropped."""
    groups: dict = {}
    for name, episodes in records:
        groups.setdefault(name, []).extend(episodes)
    return {name: episodes for name, episodes in groups.items() if episodes}
