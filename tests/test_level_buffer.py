"""The level buffer beside its slow twin on random sequences, and the draws and digests it relies on."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.struct import PyTreeNode

from maestro import level_buffer
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Method, Source, Task, Teacher, best_returns, tell
from maestro.envs.lasertag.levels import sample_level
from maestro.level_buffer import LevelBuffer, Played
from maestro.methods import self_play
from maestro.population import init as no_members
from oracles.level_buffer import Buffer, proportional_shares

W = 6  # workers with new levels, and as many that replay
Q = 3  # levels in a queue
NAMES = 20  # levels that exist: few, so that they come again
CONFIG = CurriculumConfig(playlist=Q)
CASES = {  # settings, slots
    "paper": ({}, 8),
    "one slot": ({}, 1),
    "more slots than levels": ({"temperature": 1.0, "staleness": 0.7}, 32),
    "fewer slots than workers": ({"temperature": 1.0}, 4),
    "by score": ({"eviction": "score"}, 8),
    "by score, one slot": ({"eviction": "score", "staleness": 0.0}, 1),
    "only staleness": ({"staleness": 1.0}, 8),
    "proportional": (
        {"prioritization": "proportional", "score": "positive_value_loss", "temperature": 1.0},
        8,
    ),
}


class Toy(PyTreeNode):
    """A level that is its number."""

    number: Any


def teacher_of(config: CurriculumConfig) -> Teacher:
    """A teacher with one shared buffer."""
    return Teacher(config, Method(self_play, Source.SHARED), lambda key: Toy(jnp.int32(0)), W, 1)


def curriculum_of(buffer: LevelBuffer) -> Curriculum:
    """That buffer and nobody to play against."""
    shared = jax.tree.map(lambda x: x[None], buffer)
    return Curriculum(no_members({}, 1), shared, jnp.zeros(2, jnp.int32), jnp.int32(0))


@partial(jax.jit, static_argnums=0)
def advance(config: CurriculumConfig, buffer: LevelBuffer, task: Task, episodes: Any) -> tuple:
    """(buffer, P_replay) after one rollout: what train.remember does, from episodes instead of steps."""
    returns, means, counts, started = episodes  # best return, sum of means, number, each [Q, E]
    teacher, state = teacher_of(config), curriculum_of(buffer)
    best = best_returns(teacher, state, task, returns)
    gap = jnp.where(counts > 0, counts * best, 0.0) - means
    score = gap if config.score == "max_mc" else means
    nothing = jnp.full((1, counts.shape[1]), jnp.nan)
    state = tell(teacher, state, task, Played(score, counts, best, started), nothing)
    after = jax.tree.map(lambda x: x[0], state.buffers)
    return after, level_buffer.priorities(config, after)


def empty_buffer(slots: int) -> LevelBuffer:
    """No levels yet."""
    return level_buffer.empty(jax.eval_shape(lambda: Toy(jnp.int32(0))), slots)


def random_episodes(random: np.random.Generator, queue: int, envs: int, signed: bool) -> list:
    """For each environment a list of (entry, return, mean), the values on a coarse grid; often nothing."""
    low = -8 if signed else 0
    everyone = []
    for _ in range(envs):
        finished = random.integers(0, 5) if random.random() < 0.7 else 0
        grid = random.integers(low, 9, (finished, 2)) / 8
        everyone.append([(min(e, queue - 1), float(a), float(b)) for e, (a, b) in enumerate(grid)])
    return everyone


def as_arrays(played: list, queue: int) -> tuple:
    """The same episodes as the arrays that the code under test takes."""
    shape = (queue, len(played))
    returns, means, counts = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape, np.int32)
    started = np.zeros(shape, bool)
    for e, episodes in enumerate(played):
        started[: len(episodes) + 1, e] = True
        for entry, result, mean in episodes:
            returns[entry, e] = max(returns[entry, e], result)
            means[entry, e] += mean
            counts[entry, e] += 1
    return jnp.float32(returns), jnp.float32(means), jnp.asarray(counts), jnp.asarray(started)


def random_rollout(random: np.random.Generator, twin: Buffer, kind: str, signed: bool) -> tuple[Task, tuple]:
    """A random task and what came of it, told to the twin at once."""
    fresh, again = W * (kind != "replay"), W * (kind != "new")
    queue = Q if again else 1
    names = random.integers(0, NAMES, fresh)
    slots = random.integers(0, max(1, twin.filled.sum()), (queue, again))
    levels = np.concatenate([np.broadcast_to(names, (queue, fresh)), np.zeros((queue, again), int)], axis=1)
    played = random_episodes(random, queue, fresh + again, signed)
    arrays = as_arrays(played, queue)
    new = [
        (int(name), [x[1:] for x in episodes]) for name, episodes in zip(names, played[:fresh], strict=True)
    ]
    old = [
        (int(slots[entry, w]), [(result, mean)])
        for w, episodes in enumerate(played[fresh:])
        for entry, result, mean in episodes
    ]
    replayed = np.asarray(arrays[3])[:, fresh:]
    twin.step(fresh, [int(s) for s in slots[replayed]], new, old)
    task = Task(jnp.int32(0), Toy(jnp.asarray(levels, jnp.int32)), jnp.asarray(slots) if again else None)
    return task, arrays


def assert_equal(buffer: LevelBuffer, chances: jax.Array, twin: Buffer, where: str) -> None:
    """Every field of both."""
    buffer = jax.device_get(buffer)
    has = np.arange(twin.K) < buffer.size
    np.testing.assert_array_equal(has, twin.filled, where)
    np.testing.assert_array_equal(buffer.score, np.float32(twin.score), where)
    np.testing.assert_array_equal(buffer.best_return, np.float32(twin.best), where)
    np.testing.assert_array_equal(buffer.played, twin.stamp, where)
    assert int(buffer.clock) == twin.clock, where
    assert [int(n) for n in buffer.levels.number[has]] == twin.level[: has.sum()], where
    np.testing.assert_allclose(chances, twin.priorities(), rtol=2e-5, atol=1e-7, err_msg=where)


@pytest.mark.parametrize("name", CASES)
def test_a_random_sequence_of_rollouts_leaves_what_the_twin_has(name):
    settings, slots = CASES[name]
    config = replace(CONFIG, **settings)
    signed = config.score == "max_mc"
    for seed, kinds in enumerate([("new",), ("both",), ("new", "replay")] + 5 * [("new", "replay", "both")]):
        random = np.random.default_rng(seed)
        twin = Buffer(
            slots,
            config.temperature,
            config.staleness,
            config.prioritization,
            config.eviction,
            score="max_mc" if signed else "given",
        )
        buffer = empty_buffer(slots)
        for step in range(30):
            kind = kinds[random.integers(len(kinds))] if twin.filled.any() else "new"
            task, episodes = random_rollout(random, twin, kind, signed)
            buffer, chances = advance(config, buffer, task, episodes)
            assert_equal(buffer, chances, twin, f"{name}, seed {seed}, step {step}, {kind}")


@pytest.mark.parametrize("slots", [1, 8])
def test_where_nothing_finishes_only_the_clock_moves(slots):
    buffer = empty_buffer(slots)
    task = Task(jnp.int32(0), Toy(jnp.arange(W, dtype=jnp.int32)[None]), None)
    after, chances = advance(CONFIG, buffer, task, as_arrays([[] for _ in range(W)], 1))
    assert int(after.clock) == W and int(after.size) == 0
    np.testing.assert_array_equal(chances, np.zeros(slots))
    np.testing.assert_array_equal(after.score, buffer.score)


def test_a_lost_level_keeps_its_running_maximum():
    buffer = empty_buffer(2)
    new = Task(jnp.int32(0), Toy(jnp.zeros((1, W), jnp.int32)), None)
    buffer, _ = advance(CONFIG, buffer, new, as_arrays([[(0, 1.0, 0.5)], *[[]] * (W - 1)], 1))
    replay = Task(jnp.int32(0), Toy(jnp.zeros((Q, W), jnp.int32)), jnp.zeros((Q, W), jnp.int32))
    buffer, _ = advance(CONFIG, buffer, replay, as_arrays([[(0, -1.0, -0.5)], *[[]] * (W - 1)], Q))
    assert float(buffer.best_return[0]) == 1.0
    assert float(buffer.score[0]) == 1.5


@pytest.mark.parametrize(
    "slots, size, num_levels, min_fill, expected",
    [
        (8, 3, None, 0.5, False),
        (8, 4, None, 0.5, True),
        (8, 1, 1, 0.5, True),
        (8, 0, 1, 0.5, False),
        (8, 3, 100, 0.5, False),
        (8, 0, None, 0.0, False),
        (8, 1, None, 0.0, True),
        (1, 1, None, 0.5, True),
    ],
)
def test_a_buffer_is_warm_when_half_full_or_when_it_holds_all_that_exists(
    slots, size, num_levels, min_fill, expected
):
    buffer = empty_buffer(slots).replace(size=jnp.int32(size))
    config = replace(CONFIG, min_fill=min_fill)
    assert bool(level_buffer.is_warm(config, buffer, num_levels)) is expected


@pytest.mark.parametrize("staleness", [0.0, 0.3, 1.0])
def test_slots_are_drawn_as_often_as_p_replay_says(staleness):
    draws = 40_000
    buffer = empty_buffer(12).replace(
        score=jnp.where(jnp.arange(12) < 9, jnp.sin(jnp.arange(12.0)), -jnp.inf),
        played=jnp.arange(12) // 2,
        size=jnp.int32(9),
        clock=jnp.int32(6),
    )
    config = replace(CONFIG, temperature=1.0, staleness=staleness)
    chances = np.asarray(level_buffer.priorities(config, buffer), np.float64)
    slots = np.asarray(level_buffer.sample(jax.random.key(3), jnp.float32(chances), draws))
    counts = np.bincount(slots, minlength=12)
    deviation = np.sqrt(draws * chances * (1 - chances))
    assert (np.abs(counts - draws * chances) <= 5 * deviation).all()
    assert (counts[9:] == 0).all()


def test_a_draw_never_falls_into_an_empty_slot_however_the_sum_is_rounded():
    random = np.random.default_rng(0)

    draw = jax.jit(lambda chances: level_buffer.sample(jax.random.key(0), chances, 2**18))
    for _ in range(20):
        chances = np.zeros(1000, np.float32)
        where = random.random(1000) < 0.3
        chances[where] = random.random(where.sum())
        slots = draw(jnp.asarray(chances / chances.sum()))
        assert where[np.unique(slots)].all()


def test_digests_of_lasertag_levels_collide_only_for_equal_levels():
    keys = jax.random.split(jax.random.key(0), 10_000)
    levels = jax.jit(jax.vmap(lambda k: sample_level(k, 5, 6)))(keys)
    digests = np.asarray(jax.jit(jax.vmap(level_buffer.digest))(levels))
    words = np.concatenate([np.asarray(x).reshape(10_000, -1) for x in jax.tree.leaves(levels)], axis=1)
    different = len(np.unique(words, axis=0))
    assert different < 10_000, "no equal levels: the test needs some"
    assert len(np.unique(digests, axis=0)) == different
    assert len(np.unique(np.concatenate([words, digests], axis=1), axis=0)) == different
    for half in (0, 1):  # each half alone spreads too: 10k of 2^32 collide about 0.01 times
        assert len(np.unique(digests[:, half])) >= different - 1


def test_a_digest_depends_on_every_entry_and_its_place():
    level = sample_level(jax.random.key(1))
    digest = jax.jit(level_buffer.digest)
    seen = {tuple(np.asarray(digest(level)))}
    leaves, shape = jax.tree.flatten(level)
    count = 1
    for i, leaf in enumerate(leaves):
        for place in np.ndindex(leaf.shape):
            changed = [x.at[place].add(1) if j == i else x for j, x in enumerate(leaves)]
            seen.add(tuple(np.asarray(digest(jax.tree.unflatten(shape, changed)))))
            count += 1
    swapped = level.replace(position=level.position[::-1], facing=level.facing)
    seen.add(tuple(np.asarray(digest(swapped))))
    assert len(seen) == count + 1


def test_proportional_prioritization_refuses_a_score_that_may_be_negative():
    with pytest.raises(ValueError, match=r"proportional.*max_mc"):
        teacher_of(replace(CONFIG, prioritization="proportional"))


EXTREMES = {
    "that overflow": ([10.0, 9.0, 0.0, 10.0], 0.02),
    "that underflow": ([1e-5, 5e-6, 1e-30], 0.1),
    "tiny ones": ([1e-30, 2e-30, 0.0, 4e-30], 1.0),
    "of the lowest temperature": ([3.0, 3.1, 1e6], 1e-3),
    "of the highest temperature": ([3.0, 1e-6, 0.0], 1e6),
    "that are all 0": ([0.0, 0.0], 0.02),
    "equal ones": ([10.0, 10.0], 0.001),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_proportional_shares_of_scores(name):
    """In logarithms: neither NaN nor uniform."""
    scores, temperature = EXTREMES[name]
    config = replace(
        CONFIG,
        prioritization="proportional",
        score="positive_value_loss",
        temperature=temperature,
        staleness=0.0,
    )
    stored = np.full(6, -np.inf)
    stored[: len(scores)] = scores
    buffer = empty_buffer(6).replace(score=jnp.float32(stored), size=jnp.int32(len(scores)))
    found = np.asarray(level_buffer.score_probabilities(config, buffer))
    expected = proportional_shares([float(np.float32(s)) for s in scores], temperature)
    np.testing.assert_allclose(found[: len(scores)], expected, rtol=2e-3, atol=1e-6)
    assert (found[len(scores) :] == 0).all()


def test_levels_may_hold_random_keys():
    """Two that differ in nothing else are two levels."""
    levels = {"dice": jax.random.split(jax.random.key(0), 3), "number": jnp.zeros(3, jnp.int32)}
    digests = np.asarray(jax.vmap(level_buffer.digest)(levels))
    assert len(np.unique(digests, axis=0)) == 3
    buffer = level_buffer.empty(jax.tree.map(lambda x: x[0], levels), 4)
    played = Played(jnp.ones(3), jnp.ones(3, jnp.int32), jnp.zeros(3), jnp.ones(3, bool))
    buffer = level_buffer.insert(CurriculumConfig(), buffer, levels, played)
    held = level_buffer.take(buffer, jnp.arange(3))["dice"]
    assert int(buffer.size) == 3
    data = jax.random.key_data
    assert (np.sort(data(held), axis=0) == np.sort(data(levels["dice"]), axis=0)).all()
