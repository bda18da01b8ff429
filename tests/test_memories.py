"""What levels remember of their games, beside the slow twin on random sequences, and two worked examples."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro import curriculum, regret
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Method, Source, Task, Teacher
from maestro.level_buffer import Played
from maestro.memories import KINDS, Evidence
from maestro.methods import highest_regret
from oracles import regret as twin
from oracles.level_buffer import REMEMBERING, Buffer
from test_regret import SHARES, column, position, random_trajectory

W, Q, SLOTS, P = 5, 2, 6, 2  # workers of each kind, levels in a queue, slots of a buffer, buffers
NAMES = 14  # levels that exist: few, so that they come again
FIELDS = tuple(Evidence.__dataclass_fields__)
CONFIG = CurriculumConfig(playlist=Q, member_buffer_size=SLOTS, temperature=1.0)
TEACHERS = {
    score: Teacher(
        replace(CONFIG, score=score),
        Method(highest_regret, Source.PER_COPLAYER),
        lambda key: jnp.int32(0),
        W,
        P - 1,
    )
    for score in KINDS
}


@partial(jax.jit, static_argnums=0)
def advance(teacher: Teacher, state: Curriculum, task: Task, seen: Evidence, best: Any, started: Any) -> Any:
    """What `train.remember` does, from episodes instead of steps: (curriculum, scores [Q, E])."""
    memory, score = curriculum.recall(teacher, state, task, seen)
    best = curriculum.best_returns(teacher, state, task, best)
    total = jnp.where(seen.episodes > 0, seen.episodes * score, 0.0)
    played = Played(total, seen.episodes, best, started, memory)
    return curriculum.tell(teacher, state, task, played, jnp.full((1, best.shape[1]), jnp.nan)), score


def as_arrays(played: list, queue: int) -> tuple:
    """(evidence, best returns, started), each [Q, E]; an episode is (entry, return, mean value, result)."""
    shape = (queue, len(played))
    sums = {name: np.zeros(shape, np.int32 if name == "episodes" else np.float32) for name in FIELDS}
    best, started = np.full(shape, -np.inf, np.float32), np.zeros(shape, bool)
    for e, episodes in enumerate(played):
        started[: len(episodes) + 1, e] = True
        for entry, won, value, result in episodes:
            best[entry, e] = max(best[entry, e], won)
            for name, x in zip(FIELDS, (1, value, won, result, result**2), strict=True):
                sums[name][entry, e] += x
    return Evidence(**{k: jnp.asarray(v) for k, v in sums.items()}), jnp.asarray(best), jnp.asarray(started)


class Story:
    """A buffer of each of two co-players, and its twin."""

    def __init__(self, score: str, seed: int) -> None:
        self.random, self.score, self.teacher = np.random.default_rng(seed), score, TEACHERS[score]
        self.twins = [Buffer(SLOTS, CONFIG.temperature, CONFIG.staleness, score=score) for _ in range(P)]
        self.state = curriculum.init(self.teacher, {})

    def episodes(self, queue: int, envs: int) -> list:
        """Of each environment, often none; no two numbers are equal, so that rounding decides nothing."""
        counts = self.random.integers(0, 5, envs) * (self.random.random(envs) < 0.7)
        rows = [self.random.random((count, 3)) * [2, 2, 1] - [1, 1, 0] for count in counts]
        return [[(min(i, queue - 1), *map(float, row)) for i, row in enumerate(one)] for one in rows]

    def rollout(self, kind: str, each: bool) -> None:
        """One rollout of W environments with new levels, W that replay, or both, told to all."""
        if any(not twin.filled.any() for twin in self.twins):
            kind = "new"
        fresh, again = W * (kind != "replay"), W * (kind != "new")
        queue, envs = Q if again else 1, fresh + again
        coplayer = self.random.integers(0, P, envs if each else ())
        whose = np.broadcast_to(coplayer, envs)
        names = self.random.integers(0, NAMES, fresh)
        sizes = np.array([max(1, self.twins[b].filled.sum()) for b in whose[fresh:]], int)
        slots = self.random.integers(0, sizes, (queue, again))
        played = self.episodes(queue, envs)
        arrays = as_arrays(played, queue)
        for b in range(P):
            self.tell_twin(b, whose, names, slots, played, np.asarray(arrays[2]))
        levels = np.concatenate([np.broadcast_to(names, (queue, fresh)), np.zeros((queue, again), int)], 1)
        task = Task(jnp.asarray(coplayer), jnp.int32(levels), jnp.asarray(slots) if again else None)
        self.state, _ = advance(self.teacher, self.state, task, *arrays)

    def tell_twin(self, b: int, whose: Any, names: Any, slots: Any, played: list, started: Any) -> None:
        """What the environments of one buffer did."""
        fresh = len(names)
        mine = whose == b
        new = [(int(names[e]), [x[1:] for x in played[e]]) for e in range(fresh) if mine[e]]
        old = [
            (int(slots[x[0], e - fresh]), [x[1:]])
            for e in range(fresh, len(whose))
            for x in played[e]
            if mine[e]
        ]
        stamped = slots[started[:, fresh:] & mine[None, fresh:]]
        self.twins[b].step(len(new), [int(s) for s in stamped], new, old)

    def check(self, where: str) -> None:
        """Everything that the buffers hold is what the twins hold."""
        for b, slow in enumerate(self.twins):
            buffer = jax.device_get(jax.tree.map(lambda x, b=b: x[b], self.state.buffers))
            size = int(slow.filled.sum())
            assert int(buffer.size) == size and int(buffer.clock) == slow.clock, where
            assert buffer.levels[:size].tolist() == slow.level[:size], where
            np.testing.assert_allclose(buffer.score, slow.score, rtol=1e-4, atol=1e-5, err_msg=where)
            np.testing.assert_array_equal(buffer.best_return, np.float32(slow.best), where)
            found = np.stack(jax.tree.leaves(buffer.memory), axis=1)[:size]
            expected = np.array(slow.memory[:size], float).reshape(found.shape)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=where)


@pytest.mark.parametrize("score", REMEMBERING)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.sampled_from(["new", "replay", "both"]), st.booleans()), min_size=8, max_size=20),
)
def test_a_random_sequence_of_rollouts_is_remembered_as_the_twin_does(score, seed, kinds):
    """Levels are inserted, played again, twice at once and evicted, for one co-player or one for each."""
    story = Story(score, seed)
    for step, (kind, each) in enumerate(kinds):
        story.rollout(kind, each)
        story.check(f"{score}, seed {seed}, step {step}, {kind}, {each}")


def alone(score: str, rollouts: list[list]) -> list[float]:
    """The score of a level after each rollout; all workers play it, the first one alone finishes."""
    teacher, state, found = TEACHERS[score], curriculum.init(TEACHERS[score], {}), []
    for episodes in rollouts:
        task = Task(jnp.int32(1), jnp.zeros((1, W), jnp.int32), None)
        state, _ = advance(teacher, state, task, *as_arrays([episodes, *[[]] * (W - 1)], 1))
        found.append(float(state.buffers.score[1, 0]))
    return found


def games(returns: list[int], value: float = -1.0) -> list:
    """Episodes that returned these, where the critic expected a value."""
    return [(0, float(x), value, (x + 1) / 2) for x in returns]


def test_a_lucky_first_win_scores_two_fifths_and_fades():
    scores = alone("mean_mc", [games([1]), *[games([-1] * 4)] * 6])
    assert scores[0] == pytest.approx(0.4)
    assert all(late < early for early, late in pairwise(scores))
    assert scores[-1] < 0.25


def test_a_level_that_begins_to_be_won_scores_much():
    assert alone("mean_mc", [games([-1] * 8), games([1, -1] * 20)])[1] == pytest.approx(0.7937, abs=1e-4)


def test_an_optimistic_critic_is_not_locked_in():
    """It expects a win and always loses: the best mean is the mean, and stays when the critic has learned."""
    scores = alone("mean_mc", [games([-1] * 4, 1.0), games([-1] * 4, -1.0)])
    assert scores == pytest.approx([-2.0, 0.0], abs=1e-6)


def test_learnability_is_highest_where_every_second_game_is_won():
    found = [alone("learnability", [games(x)])[0] for x in ([1, -1], [0, 0], [1, 1, 1, -1], [1])]
    assert found == pytest.approx([0.25, 0.0, 0.1875, 0.0])
    assert alone("learnability", [games([1]), games([-1])])[1] == pytest.approx(0.8 / 1.8 - (0.8 / 1.8) ** 2)


@pytest.mark.parametrize("score", KINDS)
def test_a_rollout_without_a_finished_episode_changes_no_memory(score):
    once = alone(score, [games([1, -1, 0])])
    assert alone(score, [games([1, -1, 0]), [], []]) == [*once, *once, *once]


@pytest.mark.parametrize("score", ["max_mc", "positive_value_loss"])
def test_other_scores_remember_nothing(score):
    config = replace(CONFIG, score=score)
    teacher = replace(TEACHERS["mean_mc"], config=config)
    assert curriculum.init(teacher, {}).buffers.memory is None


@pytest.mark.parametrize("share", SHARES)
def test_evidence_is_of_each_entrys_finished_episodes(share):
    gather = jax.jit(lambda t: regret.of_entries(t, regret.evidence(t), 3))
    for seed in range(3):
        trajectory = random_trajectory(seed, share)
        found = jax.device_get(gather(trajectory))
        results = np.asarray(regret.results(trajectory))
        for e in range(trajectory.num_envs):
            reward, done, value = (column(trajectory, name, e) for name in ("reward", "done", "value"))
            expected = np.zeros((5, 3))
            spans = twin.episodes(done)
            for (_, stop), episode in zip(
                spans, twin.finished(value, reward, done, position(trajectory, e)), strict=True
            ):
                result = results[stop - 1, e]
                expected[:, episode[0]] += 1, episode[2], episode[1], result, result**2
            for name, numbers in zip(FIELDS, expected, strict=True):
                np.testing.assert_allclose(getattr(found, name)[:, e], numbers, rtol=1e-4, atol=1e-5)


def test_scores_of_what_is_remembered_count_once_for_each_finished_episode():
    trajectory = random_trajectory(1, 0.3)
    score = jnp.where(jnp.arange(trajectory.num_envs) % 2 == 0, 0.5, -jnp.inf)
    total, episodes = regret.remembered(trajectory, trajectory.value, jnp.tile(score, (3, 1)))
    assert not np.isnan(total).any()
    np.testing.assert_array_equal(total[:, ::2], 0.5 * np.asarray(episodes)[:, ::2])


def test_equal_levels_of_two_coplayers_are_remembered_apart():
    """The first worker's level is like the second's, whose buffer is another."""
    teacher = TEACHERS["learnability"]
    task = Task(jnp.array([0, 1, 1, 0, 0]), jnp.zeros((1, W), jnp.int32), None)
    played = [games([1, 1]), games([1, -1]), [], [], []]
    state, score = advance(teacher, curriculum.init(teacher, {}), task, *as_arrays(played, 1))
    assert state.buffers.score[:, 0].tolist() == [0.0, 0.25]
    assert state.buffers.memory.results[:, 0].tolist() == [2.0, 1.0]
    assert score[0].tolist() == [0.0, 0.25, 0.25, 0.0, 0.0]


def test_a_score_that_may_be_negative_or_lacks_games_is_refused():
    def with_config(**changes: Any) -> Teacher:
        return replace(TEACHERS["mean_mc"], config=replace(CONFIG, **changes))

    with pytest.raises(ValueError, match=r"proportional.*mean_mc.*learnability"):
        with_config(score="mean_mc", prioritization="proportional")
    with pytest.raises(ValueError, match=r"learnability.*playlist is 1"):
        with_config(score="learnability", playlist=1)
    with_config(score="learnability", prioritization="proportional")
    with_config(score="mean_mc", playlist=1)


def test_every_score_that_remembers_has_a_twin():
    assert set(KINDS) == set(REMEMBERING) == set(regret.SCORES) - {"max_mc", "positive_value_loss"}
