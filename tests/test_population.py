"""The population: members that never change, and the memory of results against each beside its twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import population
from maestro.population import MEMORY
from oracles.coplayers import WinMemory

SLOTS = 4
T, E = 50, 6
RECORD = jax.jit(population.record)


def student(seed: int) -> dict:
    """Some parameters."""
    return {"w": jax.random.normal(jax.random.key(seed), (3, 2)), "b": jnp.float32(seed)}


def random_results(random: np.random.Generator, share: float) -> np.ndarray:
    """Results [T, E], NaN where no episode ended."""
    results = random.choice([0.0, 0.5, 1.0], (T, E))
    return np.where(random.random((T, E)) < share, results, np.nan).astype(np.float32)


def known(results: np.ndarray) -> list[float]:
    """The results in order: by step, then by environment."""
    return [float(x) for x in results.ravel() if not np.isnan(x)]


def remembered(state: population.Population, slot: int) -> list[float]:
    """A slot's ring, oldest first."""
    games, ring = int(state.games[slot]), np.asarray(state.results[slot])
    first = max(0, games - MEMORY)
    return [float(ring[number % MEMORY]) for number in range(first, games)]


def assert_equal(state: population.Population, twin: WinMemory) -> None:
    """The rings in order, and the win rates."""
    rates = np.asarray(population.win_rate(state))
    for slot in range(SLOTS):
        assert remembered(state, slot) == twin.outcomes.get(slot, [])
        assert rates[slot] == pytest.approx(twin.win_rate(slot), abs=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 1.0])  # of 300: none, a few, dozens, more than 128
def test_the_latest_128_results_are_remembered_in_order(share):
    random = np.random.default_rng(1)
    state, twin = population.init(student(0), SLOTS - 1), WinMemory(MEMORY)
    for _ in range(8):
        slot, results = int(random.integers(SLOTS)), random_results(random, share)
        state = RECORD(state, jnp.int32(slot), jnp.asarray(results))
        twin.record(slot, known(results))
        assert_equal(state, twin)


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_with_a_coplayer_for_each_environment_each_remembers_its_own(share):
    random = np.random.default_rng(2)
    state, twin = population.init(student(0), SLOTS - 1), WinMemory(MEMORY)
    for turn in range(8):
        slots = random.integers(SLOTS, size=E) if turn else np.ones(E, int)  # first all results for one slot
        results = random_results(random, share)
        state = RECORD(state, jnp.asarray(slots), jnp.asarray(results))
        for slot in range(SLOTS):
            twin.record(slot, known(results[:, slots == slot]))
        assert_equal(state, twin)


def test_results_against_one_member_leave_the_others_alone():
    state = population.init(student(0), SLOTS - 1)
    after = RECORD(state, jnp.int32(2), jnp.ones((T, E)))
    others = np.array([0, 1, 3])
    np.testing.assert_array_equal(after.results[others], state.results[others])
    np.testing.assert_array_equal(after.games, [0, 0, T * E, 0])
    np.testing.assert_array_equal(population.win_rate(after), [0.5, 0.5, 1.0, 0.5])


def test_members_take_slots_in_order_and_never_change_after_joining():
    state = population.init(student(0), SLOTS - 1)
    joined = []
    for seed in range(1, 8):
        joins = seed in (2, 3, 6)
        state = population.mirror(state, student(seed))
        state = population.add(state, student(seed), jnp.bool_(joins))
        if joins:
            joined.append(student(seed))
        assert int(state.size) == len(joined)
        np.testing.assert_array_equal(
            population.members(state), [False, *(i < len(joined) for i in range(SLOTS - 1))]
        )
        for slot, params in enumerate([student(seed), *joined]):
            kept = population.member(state, jnp.int32(slot))
            assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), kept, params))


def test_several_members_at_once_are_those_one_by_one():
    state = population.init(student(0), SLOTS - 1)
    for seed in (1, 2):
        state = population.add(state, student(seed), jnp.bool_(True))
    several = population.member(state, jnp.array([2, 0, 1]))
    np.testing.assert_array_equal(several["b"], [2.0, 0.0, 1.0])
    np.testing.assert_array_equal(several["w"][0], student(2)["w"])


def test_a_member_joins_without_results():
    state = population.add(population.init(student(0), SLOTS - 1), student(1), jnp.bool_(True))
    assert remembered(state, 1) == []
    assert float(population.win_rate(state)[1]) == 0.5


@pytest.mark.parametrize("most", [0, 1, 3])
def test_until_someone_joins_slot_1_keeps_the_initial_student_who_is_no_member(most):
    """Also where nobody ever will."""
    state = population.init(student(0), most)
    for seed in (1, 2):
        state = population.mirror(state, student(seed))
        state = population.add(state, student(seed), jnp.bool_(False))
    assert not population.members(state).any() and int(state.size) == 0
    kept = population.member(state, jnp.array([0, 1]))
    np.testing.assert_array_equal(kept["b"], [2.0, 0.0])
    np.testing.assert_array_equal(kept["w"][1], student(0)["w"])


def test_so_many_games_that_nobody_can_count_them_are_still_games():
    state = population.init(student(0), 2)
    state = state.replace(games=state.games.at[1].set(population.MOST_GAMES - 3), size=jnp.int32(1))
    lost = jnp.zeros((1, 2))
    rates, games = [], []
    for _ in range(80):
        state = RECORD(state, jnp.int32(1), lost)
        rates.append(float(population.win_rate(state)[1]))
        games.append(int(state.games[1]))
    assert rates[-1] == 0.0 and 0 < min(games) < max(games) < population.MOST_GAMES
    assert remembered(state, 1) == [0.0] * population.MEMORY
