"""The rules that weigh the co-players beside their twins, and the draws that follow them."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import curriculum, level_buffer
from maestro.config import CurriculumConfig
from maestro.curriculum import Curriculum, Source, Teacher
from maestro.curriculum.results import split
from maestro.methods import METHODS
from maestro.population import MEMORY
from oracles import coplayers

SLOTS, K = 7, 4  # one for the live student, up to six members; levels in a buffer
WEIGHTS = jax.jit(curriculum.weights, static_argnums=0)
WARM = jax.jit(curriculum.warm, static_argnums=0)
ASK = jax.jit(curriculum.ask, static_argnums=1, static_argnames=("new", "replay"))


def generate(key: jax.Array) -> jax.Array:
    """Levels are numbers."""
    return jax.random.randint(key, (), 0, 100)


def edit(key: jax.Array, level: jax.Array, changes: int) -> jax.Array:
    """Edited ones are negative."""
    return -1 - level - 1000 * changes


def teacher_of(name: str, **settings) -> Teacher:
    """A teacher of small buffers."""
    config = replace(CurriculumConfig(buffer_size=K, member_buffer_size=K), **settings)
    return Teacher(config, METHODS[name], generate, workers=2, max_members=SLOTS - 1, edit=edit)


def state_of(teacher: Teacher, size: int, scores: list[list[float]]) -> Curriculum:
    """N members whose buffers hold these scores; the live student's holds a huge one that must not count."""
    state = curriculum.init(teacher, jnp.zeros(1))
    state = state.replace(population=state.population.replace(size=jnp.int32(size)))
    if teacher.method.levels is not Source.PER_COPLAYER:
        return state
    rows = [[9.0]] + scores + [[8.0]] * (SLOTS - 1 - len(scores))  # slots beyond N must not count either
    table = np.full((SLOTS, K), -np.inf, np.float32)
    for row, stored in zip(table, rows, strict=True):
        row[: len(stored)] = stored
    sizes = jnp.array([len(stored) for stored in rows])
    return state.replace(buffers=state.buffers.replace(score=jnp.asarray(table), size=sizes))


def random_scores(random: np.random.Generator, size: int) -> list[list[float]]:
    """Scores of N buffers, some of them empty, from few values so that maxima tie."""
    return [[float(x) for x in random.integers(-3, 3, random.integers(0, K + 1)) / 4] for _ in range(size)]


@pytest.mark.parametrize("empty", ["pessimistic", "optimistic"])
@pytest.mark.parametrize("exploration", [0.0, 0.1, 1.0])
def test_highest_regret_is_equation_2(empty, exploration):
    teacher = teacher_of("maestro", empty=empty, exploration=exploration)
    random = np.random.default_rng(0)
    for size in [1, 2, 3, 6] * 8:
        scores = random_scores(random, size)
        expected = coplayers.highest_regret(
            [max(stored, default=-np.inf) for stored in scores], exploration, empty
        )
        weights = np.asarray(WEIGHTS(teacher, state_of(teacher, size, scores)))
        np.testing.assert_allclose(weights[1 : size + 1], expected, atol=1e-6)
        assert weights[0] == 0 and (weights[size + 1 :] == 0).all()


@pytest.mark.parametrize("empty", ["pessimistic", "optimistic"])
def test_with_nothing_stored_anywhere_every_member_is_alike(empty):
    teacher = teacher_of("maestro", empty=empty)
    weights = WEIGHTS(teacher, state_of(teacher, 4, [[]] * 4))
    np.testing.assert_allclose(weights, [0, 0.25, 0.25, 0.25, 0.25, 0, 0], atol=1e-7)


@pytest.mark.parametrize("name", ["dr-pfsp", "plr-pfsp", "maestro-p"])
@pytest.mark.parametrize("power, smoothing", [(2.0, 0.1), (1.5, 0.2), (3.0, 0.0), (0.0, 0.1)])
def test_hardest_is_pfsp(name, power, smoothing):
    teacher = teacher_of(name, hard_power=power, smoothing=smoothing)
    random = np.random.default_rng(1)
    for size in [1, 2, 5, 6] * 3 + [3]:
        won = random.integers(0, 2 * MEMORY + 1, SLOTS) if size != 3 else np.full(SLOTS, 2 * MEMORY)
        games = np.where(random.random(SLOTS) < 0.3, 0, MEMORY)
        state = state_of(teacher, size, [[]] * size)
        results = np.zeros((SLOTS, MEMORY), np.float32)
        for ring, halves in zip(results, won, strict=True):
            ring[: halves // 2] = 1.0
            ring[halves // 2 : halves // 2 + halves % 2] = 0.5
        many = state.population.replace(results=jnp.asarray(results), games=jnp.asarray(games))
        rates = np.where(games > 0, won / (2 * MEMORY), 0.5)
        expected = coplayers.hardest(list(rates[1 : size + 1]), power, smoothing)
        weights = np.asarray(WEIGHTS(teacher, state.replace(population=many)))
        np.testing.assert_allclose(weights[1 : size + 1], expected, rtol=1e-5, atol=1e-6)
        assert weights[0] == 0 and (weights[size + 1 :] == 0).all()


@pytest.mark.parametrize("power", [20.0, 100.0])
def test_hardest_tells_members_apart_whom_the_student_nearly_always_beats(power):
    """Powers of small numbers underflow, their ratios do not."""
    teacher = teacher_of("dr-pfsp", hard_power=power, smoothing=0.0)
    lost = [1, 2, 2, 0]  # of the games remembered
    results = np.ones((SLOTS, MEMORY), np.float32)
    for slot, number in enumerate(lost, start=1):
        results[slot, :number] = 0.0
    state = state_of(teacher, len(lost), [])
    many = state.population.replace(results=jnp.asarray(results), games=jnp.full(SLOTS, MEMORY))
    expected = coplayers.hardest([1 - number / MEMORY for number in lost], power, 0.0)
    weights = np.asarray(WEIGHTS(teacher, state.replace(population=many)))
    np.testing.assert_allclose(weights[1:5], expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", ["dr-fsp", "plr-fsp", "maestro-r"])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_uniform_weighs_every_member_alike(name, size):
    teacher = teacher_of(name)
    scores = [[0.5 - slot / 8] for slot in range(size)]
    weights = np.asarray(WEIGHTS(teacher, state_of(teacher, size, scores)))
    np.testing.assert_allclose(weights[1 : size + 1], coplayers.uniform(size), atol=1e-6)
    assert weights[0] == 0


def test_full_exploration_makes_maestro_maestro_r():
    scores = [[0.5], [], [0.1, 0.2]]
    explores, uniform = teacher_of("maestro", exploration=1.0), teacher_of("maestro-r")
    np.testing.assert_array_equal(
        WEIGHTS(explores, state_of(explores, 3, scores)), WEIGHTS(uniform, state_of(uniform, 3, scores))
    )


@pytest.mark.parametrize("name", METHODS)
def test_without_members_and_in_self_play_the_live_student_plays(name):
    teacher = teacher_of(name)
    sizes = [0, 3] if name.endswith("-sp") else [0]
    for size in sizes:
        weights = WEIGHTS(teacher, state_of(teacher, size, [[0.5]] * size))
        np.testing.assert_array_equal(weights, np.eye(SLOTS)[0])


@partial(jax.jit, static_argnums=(0, 3))
def draws(teacher: Teacher, state: Curriculum, key: jax.Array, among_warm: bool) -> jax.Array:
    """20,000 choices."""
    choose = curriculum.choose_warm if among_warm else curriculum.choose
    return jax.vmap(lambda k: choose(k, teacher, state))(jax.random.split(key, 20_000))


@pytest.mark.parametrize("name", ["maestro", "maestro-r", "maestro-p"])
@pytest.mark.parametrize("among_warm", [False, True])
def test_coplayers_are_drawn_as_often_as_the_rule_says(name, among_warm):
    teacher = teacher_of(name)
    scores = [[0.1, 0.2], [0.9], [0.3, 0.1, 0.0], [], [-0.5] * K]  # warm from two levels on
    state = state_of(teacher, 5, scores)
    expected = [float(x) for x in WEIGHTS(teacher, state)]
    if among_warm:
        expected = coplayers.restricted(expected, [False, True, False, True, False, True, False])
    counts = np.bincount(draws(teacher, state, jax.random.key(0), among_warm), minlength=SLOTS)
    chances = np.array(expected) / sum(expected)
    assert (np.abs(counts - 20_000 * chances) <= 5 * np.sqrt(20_000 * chances * (1 - chances)) + 1e-3).all()


def test_only_slots_that_may_be_chosen_are_warm():
    teacher = teacher_of("maestro")
    state = state_of(teacher, 3, [[0.1, 0.2], [0.9], [0.3] * K])
    filled = state.buffers.replace(size=jnp.array([K, 2, 1, K, K, K, K]))  # the live slot and absent ones too
    np.testing.assert_array_equal(WARM(teacher, state.replace(buffers=filled)), [0, 1, 0, 1, 0, 0, 0])


@pytest.mark.parametrize("stored, expected", [(1, False), (2, True)])
def test_one_shared_buffer_is_warm_for_every_member_or_for_none(stored, expected):
    teacher = teacher_of("plr-fsp")
    state = state_of(teacher, 3, [])
    state = state.replace(buffers=state.buffers.replace(size=jnp.array([stored])))
    members = np.array([0, 1, 1, 1, 0, 0, 0], bool)
    np.testing.assert_array_equal(WARM(teacher, state), members & expected)


def test_methods_without_a_buffer_are_never_warm():
    teacher = teacher_of("dr-fsp")
    assert not np.asarray(WARM(teacher, state_of(teacher, 3, []))).any()


@pytest.mark.parametrize("name", ["maestro", "plr-fsp"])
def test_replayed_levels_come_from_the_coplayers_own_buffer(name):
    teacher = replace(teacher_of(name), workers=5)
    state = state_of(teacher, 3, [[0.1] * 2, [0.2] * 2, [0.3] * 2])
    count = state.buffers.size.shape[0]
    numbers = 10 * jnp.arange(count)[:, None] + jnp.arange(K)[None, :]
    state = state.replace(buffers=state.buffers.replace(levels=numbers, size=jnp.full(count, 2)))
    whose = jnp.array([3, 1, 2, 2, 1])
    buffers = whose if name == "maestro" else jnp.zeros_like(whose)
    for coplayer, rows in [(whose, buffers), (jnp.int32(2), jnp.broadcast_to(buffers[2], (5,)))]:
        task = ASK(jax.random.key(0), teacher, state, coplayer, new=False, replay=True)
        assert task.replayed == 5 and int(task.slots.max()) < 2
        np.testing.assert_array_equal(task.levels, 10 * rows[None, :] + task.slots)


def test_new_levels_are_kept_for_the_whole_rollout_and_differ_between_workers():
    teacher = replace(teacher_of("maestro"), workers=6)
    state = state_of(teacher, 1, [[0.1] * 3])
    task = ASK(jax.random.key(0), teacher, state, jnp.int32(1), new=True, replay=True)
    new, _ = split(task, task.levels)
    assert new.shape == (teacher.config.playlist, 6) and task.replayed == 6
    assert (np.asarray(new) == np.asarray(new)[:1]).all()
    assert len(np.unique(np.asarray(new)[0])) > 1


def test_sampling_needs_a_positive_weight_and_takes_no_other():
    weights = jnp.array([0.0, 0.5, 0.0, 0.0, 0.5, 0.0])
    drawn = level_buffer.sample(jax.random.key(0), weights, 10_000)
    assert set(np.asarray(drawn)) == {1, 4}
