"""A cycle through the real wiring: who plays whom, what is learned, remembered and logged."""

import jax
import numpy as np
import pytest

from ledger import (
    BAD,
    EACH,
    LENGTH,
    MEMBERS,
    NOW,
    OUTCOMES,
    STEPS,
    VALUE,
    WORKERS,
    cycle,
    equal,
)

SIDE_BY_SIDE = {
    "one co-player": {"coplayer": 1},
    "one for each worker": {"coplayer": np.concatenate([EACH, EACH[::-1]])},
    "both seats": {"coplayer": 0, "method": "plr-sp", "sp_train_both": True},
}


@pytest.mark.parametrize("who", SIDE_BY_SIDE)
@pytest.mark.parametrize("broken", ["no levels", "new levels", "replayed levels"])
def test_under_parallel_the_student_learns_from_replayed_levels_only(who, broken) -> None:
    """And what is logged of the levels and their regret is of those."""
    replayed = BAD + 7 if broken == "replayed levels" else 7
    offset = BAD if broken == "new levels" else 100
    found = cycle(offset=offset, numbers=replayed, kind="parallel", **SIDE_BY_SIDE[who])
    assert found.after.learner.skipped == found.metrics.skipped == (broken == "replayed levels")
    assert equal(found.before.learner.params, found.after.learner.params) == (broken == "replayed levels")
    assert (found.batch.obs[..., 0, 0, 0] == replayed).all()
    assert found.batch.action.shape[1] == (2 * WORKERS if who == "both seats" else WORKERS)
    assert found.metrics.levels["number"] == replayed
    np.testing.assert_allclose(found.metrics.regret, np.nan if replayed >= BAD else 7 - VALUE, rtol=1e-6)


def test_a_cycle_of_new_levels_logs_those() -> None:
    found = cycle(explores=True, offset=100)
    numbers = found.task.levels.number[0]
    assert (numbers >= 100).all() and found.batch is None
    np.testing.assert_allclose(found.metrics.levels["number"], numbers.mean())
    np.testing.assert_allclose(found.metrics.regret, numbers.mean() - VALUE, rtol=1e-6)


@pytest.fixture(scope="module", params=OUTCOMES)
def met(request):
    """(the co-player's slot, a replay cycle against it, on levels of number 7, after which one joins)."""
    return request.param, cycle(request.param, numbers=7, updates=1)


def test_the_coplayer_that_was_drawn_plays_in_the_second_seat(met) -> None:
    slot, found = met
    shares = [found.metrics.won, found.metrics.drawn, found.metrics.lost]
    assert shares == [OUTCOMES[slot] == outcome for outcome in (1.0, 0.5, 0.0)]
    assert found.metrics.coplayer == slot
    assert (found.trajectory.action == 2).all()


def test_results_are_remembered_of_the_coplayer_that_was_met(met) -> None:
    slot, found = met
    games = np.zeros(len(found.metrics.win_rate), int)
    games[slot] = WORKERS * (STEPS // LENGTH)
    population = found.after.curriculum.population
    np.testing.assert_array_equal(population.games, games)
    assert (population.results[slot, : games[slot]] == OUTCOMES[slot]).all()
    np.testing.assert_array_equal(found.metrics.win_rate, np.where(games > 0, OUTCOMES[slot], 0.5))


def test_returns_and_lengths_are_of_the_students_finished_episodes(met) -> None:
    _, found = met
    assert found.metrics.student_return == 7  # by the reward, not by the score
    assert found.metrics.episode_length == LENGTH
    assert found.metrics.episodes == WORKERS * (STEPS // LENGTH)


def test_the_member_that_joins_is_the_student_after_the_update(met) -> None:
    _, found = met
    population, student = found.after.curriculum.population, found.after.learner.params
    assert population.size == found.metrics.members == MEMBERS + 1
    assert not equal(found.before.learner.params, student)
    for slot in (0, MEMBERS + 1):
        assert equal(jax.tree.map(lambda x, i=slot: x[i], population.params), student)


def test_targets_are_discounted_returns_with_the_students_own_values(met) -> None:
    """A time limit cuts the episodes, so that what follows still has a value."""
    _, found = met
    gamma, decay = 0.995, 0.995 * 0.95
    advantage = [7 + gamma * VALUE - VALUE]
    for _ in range(LENGTH - 1):
        advantage.insert(0, gamma * VALUE - VALUE + decay * advantage[0])
    targets = np.tile(np.array(advantage)[:, None] + VALUE, WORKERS)
    np.testing.assert_allclose(found.batch.target[:LENGTH], targets, rtol=1e-5)
    np.testing.assert_allclose(found.batch.target[LENGTH : 2 * LENGTH], targets, rtol=1e-5)
    np.testing.assert_allclose(found.batch.value, VALUE, rtol=1e-6)


def test_what_is_logged_of_the_teacher_is_what_it_knew_and_what_it_was_told(met) -> None:
    """Whom it weighed how before the cycle; what the buffers hold after it."""
    slot, found = met
    metrics, after = found.metrics, found.after.curriculum
    slots = np.arange(len(metrics.chosen_ago))
    np.testing.assert_array_equal(metrics.chosen_ago, NOW - slots)
    np.testing.assert_array_equal(after.chosen_at, np.where(slots == slot, NOW, slots))
    assert after.cycle == NOW + 1
    np.testing.assert_allclose(metrics.coplayer_weights, np.where((slots == 1) | (slots == 2), 0.5, 0))
    np.testing.assert_allclose(metrics.coplayer_entropy, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(metrics.max_score, np.where(slots == slot, 7 - VALUE, 0))
    np.testing.assert_array_equal(metrics.buffer_fill, 1)
    assert metrics.trained and metrics.active
