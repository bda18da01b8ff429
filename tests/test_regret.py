"""Advantages, regret estimates and results beside their slow twins on random rollouts with playlists."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import curriculum, level_buffer, regret
from maestro.config import CurriculumConfig
from maestro.curriculum import Task, Teacher
from maestro.level_buffer import Played
from maestro.methods import METHODS
from maestro.trajectory import Trajectory
from oracles import regret as twin
from oracles.coplayers import outcome

T, E, Q, K = 24, 8, 3, 6
SHARES = (0.0, 0.1, 0.5, 1.0)  # of the steps that end an episode
GAE = jax.jit(lambda trajectory: regret.generalized_advantage(trajectory, 0.9, 0.8))
SPANS = jax.jit(regret.spans)
BEST = jax.jit(lambda trajectory: regret.best_returns(trajectory, Q))
RESULTS = jax.jit(regret.results)
SCORES = {name: jax.jit(score) for name, score in regret.SCORES.items()}
TWINS = {"max_mc": twin.max_mc, "positive_value_loss": twin.pvl}


def random_trajectory(seed: int, share: float) -> Trajectory:
    """Random steps; every third environment ends an episode at the last one."""
    random = np.random.default_rng(seed)
    terminated, truncated = random.random((2, T, E)) < share / 2
    terminated[-1, ::3] |= share > 0
    done = terminated | truncated
    value = random.normal(size=(T, E)).astype(np.float32)
    next_value = random.normal(size=(T, E)).astype(np.float32)  # where an episode goes on, the next value
    next_value[:-1] = np.where(done[:-1], next_value[:-1], value[1:])
    finished = np.concatenate([np.zeros((1, E), int), np.cumsum(done, axis=0)[:-1]])
    reward = random.integers(-4, 5, (T, E)) / 4
    score = random.integers(-1, 2, (T, E, 2))
    nothing = np.zeros((T, E))
    fields = (nothing, nothing, nothing, value, next_value, reward, score)
    as_float = [jnp.asarray(x, jnp.float32) for x in fields]
    flags = [jnp.asarray(x) for x in (terminated, truncated, finished)]
    return Trajectory(*as_float, *flags, first_level=jnp.zeros(E))


def column(trajectory: Trajectory, name: str, e: int) -> list:
    """One environment's entries."""
    return np.asarray(getattr(trajectory, name))[:, e].tolist()


def position(trajectory: Trajectory, e: int) -> list[int]:
    """The playlist entry of each step."""
    return [min(n, Q - 1) for n in column(trajectory, "finished", e)]


@pytest.mark.parametrize("share", SHARES)
def test_gae_tells_time_limits_from_endings(share):
    for seed in range(5):
        trajectory = random_trajectory(seed, share)
        advantage = np.asarray(GAE(trajectory))
        for e in range(E):
            names = ("reward", "value", "next_value", "terminated", "truncated")
            reward, value, following, terminated, truncated = (column(trajectory, n, e) for n in names)
            expected, _ = twin.gae(
                reward, value, following[-1], terminated, truncated, following, gamma=0.9, lam=0.8
            )
            np.testing.assert_allclose(advantage[:, e], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("share", SHARES)
def test_spans_are_the_finished_episodes(share):
    for seed in range(5):
        trajectory = random_trajectory(seed, share)
        first, last = (np.asarray(x) for x in SPANS(trajectory.done))
        for e in range(E):
            spans = twin.episodes(column(trajectory, "done", e))
            tail = spans[-1][1] if spans else 0
            expected = [(a, b - 1) for a, b in spans for _ in range(a, b)] + [(tail, T)] * (T - tail)
            assert list(zip(first[:, e].tolist(), last[:, e].tolist(), strict=True)) == expected


@pytest.mark.parametrize("share", SHARES)
def test_best_returns_are_those_of_finished_episodes(share):
    for seed in range(5):
        trajectory = random_trajectory(seed, share)
        best = np.asarray(BEST(trajectory))
        for e in range(E):
            reward, done = column(trajectory, "reward", e), column(trajectory, "done", e)
            _, _, expected = twin.max_mc([0.0] * T, reward, done, position(trajectory, e), [-np.inf] * Q)
            np.testing.assert_array_equal(best[:, e], expected)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", TWINS)
def test_scores_are_sums_of_episode_means(name, share):
    for seed in range(5):
        trajectory = random_trajectory(seed, share)
        advantage = GAE(trajectory)
        best = BEST(trajectory)
        total, count = SCORES[name](trajectory, advantage, best)
        assert np.isfinite(total).all()
        per_step = {"max_mc": trajectory.value, "positive_value_loss": advantage}[name]
        for e in range(E):
            sums, counts, _ = TWINS[name](
                np.asarray(per_step)[:, e].tolist(),
                column(trajectory, "reward", e),
                column(trajectory, "done", e),
                position(trajectory, e),
                [-np.inf] * Q,
            )
            np.testing.assert_array_equal(count[:, e], counts)
            np.testing.assert_allclose(total[:, e], sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("share", SHARES)
def test_results_compare_the_unshaped_rewards_of_both_players(share):
    for seed in range(5):
        trajectory = random_trajectory(seed, share)
        results, score = np.asarray(RESULTS(trajectory)), np.asarray(trajectory.score)
        for e in range(E):
            expected = np.full(T, np.nan)
            for start, stop in twin.episodes(column(trajectory, "done", e)):
                expected[stop - 1] = outcome(*score[start:stop, e].sum(axis=0))
            np.testing.assert_array_equal(results[:, e], expected)


def fractions(random: np.random.Generator, steps: int, games: int) -> np.ndarray:
    """Scores [steps, games, 2] as of a race: both players earn the same fractions, in another order."""
    tiles = random.integers(200, 400, games)  # of a track, each worth 1000 / tiles
    mine = np.where(random.random((steps, games)) < 0.3, 1000 / tiles, 0.0) - 0.1
    return np.stack([mine, random.permuted(mine, axis=0)], axis=-1).astype(np.float32)


@pytest.mark.parametrize("length", [5, 25, 125, 1000])
def test_equal_fractions_in_another_order_are_a_draw(length):
    """Also after other episodes of the same rollout; a hundredth of a tile more is a win."""
    random, games, episodes = np.random.default_rng(length), 200, 2000 // length
    score = np.concatenate([fractions(random, length, games) for _ in range(episodes)])
    ends = np.arange(len(score)) % length == length - 1
    done = jnp.asarray(np.broadcast_to(ends[:, None], score.shape[:2]))
    none = jnp.zeros(score.shape[:2])
    trajectory = Trajectory(*[none] * 6, jnp.asarray(score), done, done & False, none, jnp.zeros(games))
    for extra, result in ((0.0, 0.5), (0.025, 1.0), (-0.025, 0.0)):
        more = trajectory.replace(score=trajectory.score.at[length - 1 :: length, :, 0].add(extra))
        found = np.asarray(jax.jit(regret.results)(more))
        assert np.isnan(found[~ends]).all() and (found[ends] == result).all()


def test_a_draw_is_a_difference_of_a_millionth():
    for mine, theirs, expected in [(0, 9e-7, 0), (0, 3e-6, -1), (1e3, 1e3 + 1e-3, 0), (1e3, 1e3 - 5e-3, 1)]:
        assert float(regret.lead(jnp.float32(mine), jnp.float32(theirs))) == expected
        assert outcome(mine, theirs) == 0.5 + 0.5 * expected
    assert np.isnan(regret.lead(jnp.float32(jnp.nan), jnp.float32(0)))


def test_what_is_no_number_in_one_episode_says_nothing_of_the_next():
    trajectory = random_trajectory(0, 0.5)
    bad = trajectory.replace(reward=trajectory.reward.at[0, 0].set(jnp.nan))
    first = int(np.flatnonzero(trajectory.done[:, 0])[0])
    found, expected = (np.asarray(regret.episode_returns(t))[:, 0] for t in (bad, trajectory))
    assert np.isnan(found[: first + 1]).all()
    np.testing.assert_array_equal(found[first + 1 :], expected[first + 1 :])


def teacher_of(name: str) -> Teacher:
    """A teacher of two members with small buffers."""
    config = CurriculumConfig(buffer_size=K, member_buffer_size=K, playlist=Q)
    return Teacher(config, METHODS[name], lambda key: jnp.int32(0), workers=E, max_members=2)


@partial(jax.jit, static_argnums=0)
def told(teacher: Teacher, state: curriculum.Curriculum, task: Task, trajectory: Trajectory):
    """The buffers after a rollout scored by MaxMC."""
    best = regret.best_returns(trajectory, task.levels.shape[0])
    best = curriculum.best_returns(teacher, state, task, best)
    score, episodes = regret.max_mc(trajectory, trajectory.value, best)
    started = trajectory.finished[-1][None, :] >= jnp.arange(best.shape[0])[:, None]
    played = Played(score, episodes, best, started)
    return curriculum.tell(teacher, state, task, played, regret.results(trajectory)).buffers


def worker(trajectory: Trajectory, e: int, queue: int) -> tuple:
    """What the twin wants to know of an environment."""
    place = [min(n, queue - 1) for n in column(trajectory, "finished", e)]
    return *(column(trajectory, name, e) for name in ("value", "reward", "done")), place


def random_buffers(teacher: Teacher, random: np.random.Generator) -> curriculum.Curriculum:
    """Full buffers: level 10 b + i in slot i of buffer b, with the best returns so far."""
    state = curriculum.init(teacher, jnp.zeros(1))
    count = state.buffers.size.shape[0]
    levels = 10 * jnp.arange(count)[:, None] + jnp.arange(K)[None, :]
    return state.replace(
        buffers=state.buffers.replace(
            levels=levels,
            digest=jax.vmap(jax.vmap(level_buffer.digest))(levels),
            score=jnp.zeros((count, K)),
            best_return=jnp.asarray(random.integers(-8, 3, (count, K)) / 4, jnp.float32),
            size=jnp.full(count, K),
        )
    )


COPLAYERS = {"one for all": jnp.int32(2), "one for each": jnp.array([1, 2, 2, 1, 2, 1, 1, 2])}


@pytest.mark.parametrize("method", ["maestro", "plr-fsp"])
@pytest.mark.parametrize("whose", COPLAYERS)
def test_replayed_levels_pool_their_episodes_over_workers(method, whose):
    teacher, coplayer = teacher_of(method), COPLAYERS[whose]
    which = np.broadcast_to(np.asarray(curriculum.buffer_index(teacher, coplayer)), E)
    for seed in range(4):
        random = np.random.default_rng(seed)
        state, slots = random_buffers(teacher, random), random.integers(0, K, (Q, E))
        trajectory = random_trajectory(seed, 0.15)
        levels = jnp.asarray(10 * which[None, :] + slots)
        buffers = told(teacher, state, Task(coplayer, levels, jnp.asarray(slots)), trajectory)
        for b in range(buffers.size.shape[0]):
            mine = [e for e in range(E) if which[e] == b]
            best = dict(enumerate(np.asarray(state.buffers.best_return[b]).tolist()))
            workers = [worker(trajectory, e, Q) for e in mine]
            expected = twin.pooled(twin.max_mc, workers, [slots[:, e].tolist() for e in mine], best)
            for slot in range(K):
                score, _, r_max = expected.get(slot, (None, 0, best[slot]))
                assert float(buffers.score[b, slot]) == pytest.approx(score or 0.0, abs=1e-5)
                assert float(buffers.best_return[b, slot]) == r_max


@pytest.mark.parametrize("method", ["maestro", "plr-fsp"])
@pytest.mark.parametrize("whose", COPLAYERS)
@pytest.mark.parametrize("queue", [1, Q])
def test_new_levels_pool_their_episodes_over_workers(method, whose, queue):
    teacher, coplayer = teacher_of(method), COPLAYERS[whose]
    which = np.broadcast_to(np.asarray(curriculum.buffer_index(teacher, coplayer)), E)
    for seed in range(4):
        names = np.random.default_rng(seed).integers(0, 4, E)
        trajectory = random_trajectory(seed, 0.15)
        state = curriculum.init(teacher, jnp.zeros(1))
        levels = jnp.tile(jnp.asarray(names), (queue, 1))
        buffers = told(teacher, state, Task(coplayer, levels, None), trajectory)
        for b in range(buffers.size.shape[0]):
            mine = [e for e in range(E) if which[e] == b]
            workers = [worker(trajectory, e, queue) for e in mine]
            playlists = [[int(names[e])] * queue for e in mine]
            expected = twin.pooled(twin.max_mc, workers, playlists, dict.fromkeys(range(4), -np.inf))
            expected = {name: result for name, result in expected.items() if result[1]}
            size = int(buffers.size[b])
            assert sorted(np.asarray(buffers.levels[b, :size]).tolist()) == sorted(expected)
            for slot in range(size):
                score, _, r_max = expected[int(buffers.levels[b, slot])]
                assert float(buffers.score[b, slot]) == pytest.approx(score, abs=1e-5)
                assert float(buffers.best_return[b, slot]) == r_max
