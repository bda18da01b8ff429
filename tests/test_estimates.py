"""What Eq. 2 compares besides the highest score, and optimism, beside their twins; not in the paper."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro import curriculum
from maestro.config import CurriculumConfig
from maestro.curriculum import Counts, Curriculum, Task, Teacher
from maestro.level_buffer import Played
from maestro.methods import METHODS, ahead, estimates
from maestro.population import MEMORY
from oracles import coplayers
from oracles.level_buffer import Buffer

SLOTS, K, MEMBERS = 5, 128, 3  # slot 0, three members, one who has not joined
ESTIMATES = jax.jit(estimates, static_argnums=0)
WEIGHTS = jax.jit(curriculum.weights, static_argnums=0)


def generate(key: jax.Array) -> jax.Array:
    return jnp.int32(0)


def edit(key: jax.Array, level: jax.Array, changes: int) -> jax.Array:
    return level


def teacher_of(name: str = "maestro", **changes) -> Teacher:
    config = replace(CurriculumConfig(buffer_size=K, member_buffer_size=K), **changes)
    return Teacher(config, METHODS[name], generate, 4, SLOTS - 1, None, edit)


def twins_of(random: np.random.Generator, sizes: list[int], config: CurriculumConfig) -> list[Buffer]:
    """Buffers of these sizes, with scores that tie, of levels played at different times."""
    twins = []
    for size in sizes:
        twin = Buffer(K, config.temperature, config.staleness)
        twin.filled[:size], twin.clock = True, int(random.integers(50, 90))
        twin.score[:size] = random.integers(-8, 9, size) / 4
        twin.stamp[:size] = random.integers(0, 50, size)
        twins.append(twin)
    return twins


def state_of(teacher: Teacher, twins: list[Buffer]) -> Curriculum:
    """Members whose buffers are these; the first is the live student's, and must not count."""
    state = curriculum.init(teacher, jnp.zeros(1))
    buffers = state.buffers.replace(
        score=jnp.array([t.score for t in twins], jnp.float32),
        played=jnp.array([t.stamp for t in twins]),
        size=jnp.array([t.filled.sum() for t in twins]),
        clock=jnp.array([t.clock for t in twins]),
    )
    members = state.population.replace(size=jnp.int32(MEMBERS))
    return state.replace(buffers=buffers, population=members)


def expected_of(kind: str, twin: Buffer) -> float:
    scores = list(twin.score[twin.filled])
    if kind == "expected":
        return coplayers.expected_score(scores, list(twin.priorities()[twin.filled]))
    return coplayers.top_mean(scores) if kind == "top_mean" else twin.max_score()


sizes = st.lists(st.sampled_from([0, 1, 2, 9, 10, 11, 99, 100, 101, 110, K]), min_size=SLOTS, max_size=SLOTS)


@pytest.mark.parametrize("kind", ["max", "expected", "top_mean"])
@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 2**16))
def test_an_estimate_is_that_of_its_twin(kind, sizes, seed):
    teacher = teacher_of(estimate=kind)
    twins = twins_of(np.random.default_rng(seed), sizes, teacher.config)
    state = state_of(teacher, twins)
    expected = [expected_of(kind, twin) for twin in twins]
    np.testing.assert_allclose(ESTIMATES(teacher.config, state), expected, rtol=1e-4, atol=1e-5)
    hopeful = replace(teacher.config, empty="optimistic")
    found = np.asarray(ESTIMATES(hopeful, state))
    assert [x == math.inf for x in found] == [size == 0 for size in sizes]


def test_the_three_estimates_prefer_different_members():
    scores = [[9.0], [2.0] + [0.0] * 63, [1.5] * 10 + [-1.0] * 54, [0.5] * 64, [9.0]]
    chosen = {}
    for kind in ("max", "top_mean", "expected"):
        teacher = teacher_of(estimate=kind, temperature=10.0, exploration=0.0)
        twins = twins_of(np.random.default_rng(0), [len(row) for row in scores], teacher.config)
        for twin, row in zip(twins, scores, strict=True):
            twin.score[: len(row)] = row
        chosen[kind] = int(WEIGHTS(teacher, state_of(teacher, twins)).argmax())
    assert chosen == {"max": 1, "top_mean": 2, "expected": 3}


@settings(max_examples=60, deadline=None)
@given(sizes, st.integers(0, 2**16), st.sampled_from([0.5, 2.0]), st.booleans())
def test_optimism_is_that_of_its_twin(sizes, seed, c, hopeful):
    empty = "optimistic" if hopeful else "pessimistic"
    teacher = teacher_of(estimate="top_mean", optimism=c, exploration=0.25, empty=empty)
    random = np.random.default_rng(seed)
    twins = twins_of(random, sizes, teacher.config)
    played, since = random.random(SLOTS) * 30, random.integers(0, 40, SLOTS)
    state = state_of(teacher, twins).replace(counts=Counts(jnp.array(since), jnp.array(played, jnp.float32)))
    nothing = math.inf if hopeful else -math.inf
    plain = [m if (m := expected_of("top_mean", twin)) > -math.inf else nothing for twin in twins]
    members = slice(1, MEMBERS + 1)
    raised = coplayers.optimistic(plain[members], c, played[members], since[members])
    found = np.asarray(ESTIMATES(teacher.config, state))[members]
    np.testing.assert_allclose(found, raised, rtol=1e-4, atol=1e-4)
    assert np.isfinite(np.asarray(WEIGHTS(teacher, state))).all()


def test_optimism_lets_one_who_was_hardly_played_catch_up_with_the_best():
    teacher = teacher_of(optimism=0.5, exploration=0.0)
    twins = twins_of(np.random.default_rng(0), [4] * SLOTS, teacher.config)
    for twin, score in zip(twins, (9.0, 1.0, 0.8, 0.0, 9.0), strict=True):
        twin.score[:4] = score
    state = state_of(teacher, twins)
    since = jnp.full(SLOTS, 50)
    rarely = Counts(since, jnp.array([0.0, 45.0, 2.0, 45.0, 0.0]))
    evenly = Counts(since, jnp.full(SLOTS, 16.0))
    assert int(WEIGHTS(teacher, state.replace(counts=rarely)).argmax()) == 2
    assert int(WEIGHTS(teacher, state.replace(counts=evenly)).argmax()) == 1


def test_who_was_played_is_counted_by_the_share_of_the_environments_and_from_when_they_joined():
    teacher = teacher_of("maestro", optimism=0.5)
    state = curriculum.join(curriculum.init(teacher, jnp.zeros(1)), jnp.zeros(1), jnp.bool_(True))

    def told(state, coplayer):
        """Nothing came of it."""
        zeros = jnp.zeros((1, 4))
        played = Played(zeros, zeros.astype(int), zeros - jnp.inf, zeros > 0)
        task = Task(coplayer, jnp.zeros((1, 4), jnp.int32), None)
        return curriculum.tell(teacher, state, task, played, zeros * jnp.nan)

    @jax.jit
    def three_cycles(state):
        state = told(told(state, jnp.int32(1)), jnp.array([1, 1, 1, 2]))
        return told(curriculum.join(state, jnp.zeros(1), jnp.bool_(True)), jnp.int32(2))

    state = three_cycles(state)
    np.testing.assert_allclose(state.counts.played, [0, 1.75, 1.25, 0, 0])
    np.testing.assert_array_equal(state.counts.since, [0, 3, 1, 0, 0])


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_counted_and_no_parents_are_kept_where_nobody_asks(name):
    state = jax.eval_shape(lambda: curriculum.init(teacher_of(name), jnp.zeros(1)))
    assert state.counts is None
    assert (state.parents is not None) == ("accel" in name)
    assert state.population.results.shape == (SLOTS, MEMORY)


@pytest.mark.parametrize(
    "name, changes",
    [
        ("plr-pfsp", {"estimate": "expected"}),
        ("dr-fsp", {"estimate": "top_mean"}),
        ("plr-fsp", {"optimism": 0.5}),
        ("dr-pfsp", {"try_against": "uniform"}),
    ],
)
def test_a_teacher_refuses_what_its_method_has_no_use_for(name, changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        teacher_of(name, **changes)


@pytest.mark.parametrize("change", [{"edit": None}, {"num_levels": 1}, {"method": None}])
def test_a_teacher_refuses_edits_of_levels_that_cannot_be_edited(change):
    teacher = teacher_of("maestro-accel")
    if "method" in change:
        change = {"method": replace(METHODS["dr-fsp"], edits=True)}
    with pytest.raises(ValueError, match="edits need"):
        replace(teacher, **change)


def test_a_specialist_refuses_to_try_its_level_against_anyone():
    with pytest.raises(ValueError, match="try_against"):
        replace(teacher_of("maestro", try_against="uniform"), num_levels=1)


def test_somebody_has_the_highest_estimate_however_it_is_rounded():
    """Compiled in a hurry, estimates with optimism were computed twice, with different last bits."""
    who = jnp.array([False, True, True, True, False])
    most = jnp.where(who, jnp.array([9.0, 0.5, 0.7, 0.7, 9.0]), -jnp.inf)
    above = jnp.nextafter(jnp.float32(0.7), jnp.float32(1.0))
    assert ahead(who, most, most.max()).tolist() == [False, False, True, True, False]
    assert ahead(who, most, above).tolist() == [False, False, True, False, False]
    empty = jnp.full(5, -jnp.inf)  # all buffers, and none of them is to be preferred
    assert ahead(who, empty, empty.max()).tolist() == who.tolist()
    assert not ahead(who & False, empty, empty.max()).any()
