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
from maestro import metrics

SIDE_BY_SIDE = {
    "one co-player": {"coplayer": 1},
    "one for each worker": {"coplayer": np.concatenate([EACH, EACH[::-1]])},
    "both seats": {"coplayer": 0, "method": "plr-sp", "sp_train_both": True},
}


@pytest.mark.parametrize("who", SIDE_BY_SIDE)
@pytest.mark.parametrize("broken", ["no levels", "new levels", "replayed levels"])
def test_under_parallel_the_student_learns_from_replayed_levels_only(who, broken) -> None:
    """And what is logged of the levels and their regret is told apart."""
    replayed = BAD + 7 if broken == "replayed levels" else 7
    offset = BAD if broken == "new levels" else 100
    found = cycle(offset=offset, numbers=replayed, kind="parallel", **SIDE_BY_SIDE[who])
    assert found.after.learner.skipped == found.metrics.skipped == (broken == "replayed levels")
    assert equal(found.before.learner.params, found.after.learner.params) == (broken == "replayed levels")
    assert (found.batch.obs[..., 0, 0, 0] == replayed).all()
    assert found.batch.action.shape[1] == (2 * WORKERS if who == "both seats" else WORKERS)
    new = found.task.levels.number[0, :WORKERS]
    for kind, numbers in ((found.metrics.replayed, replayed), (found.metrics.new, new)):
        mean = np.mean(numbers)
        np.testing.assert_allclose(kind.levels["number"], mean)
        np.testing.assert_allclose(kind.regret, np.nan if mean >= BAD else mean - VALUE, rtol=1e-6)
        np.testing.assert_allclose(kind.student_return, np.nan if mean >= BAD else mean, rtol=1e-6)
        assert kind.episode_length == LENGTH


def nothing_measured(served) -> bool:
    return all(np.isnan(x) for x in jax.tree.leaves(served))


def test_a_cycle_of_new_levels_logs_those_and_nothing_of_replayed_ones() -> None:
    found = cycle(explores=True, offset=100)
    numbers = found.task.levels.number[0]
    assert (numbers >= 100).all() and found.batch is None and not found.metrics.trained
    np.testing.assert_allclose(found.metrics.new.levels["number"], numbers.mean())
    np.testing.assert_allclose(found.metrics.new.regret, numbers.mean() - VALUE, rtol=1e-6)
    assert nothing_measured(found.metrics.replayed)


def test_a_cycle_of_replayed_levels_logs_those_and_nothing_of_new_ones() -> None:
    """Each level as often as it was started."""
    found = cycle(1)
    started = -(-STEPS // LENGTH)
    numbers = found.task.levels.number[:started]
    finished = numbers[: STEPS // LENGTH]
    assert numbers.mean() != found.task.levels.number.mean()
    np.testing.assert_allclose(found.metrics.replayed.levels["number"], numbers.mean())
    np.testing.assert_allclose(found.metrics.replayed.regret, finished.mean() - VALUE, rtol=1e-6)
    assert found.metrics.replayed.won == 1 and found.metrics.replayed.lost == 0
    assert nothing_measured(found.metrics.new)


def test_where_every_episode_has_a_level_of_its_own_its_regret_is_by_its_own_return() -> None:
    """Whatever the worker has earned on others, whose numbers differ."""
    found = cycle(1, method="dr-fsp", explores=False)
    done, paid = found.trajectory.truncated, found.trajectory.reward
    assert (np.ptp(paid[LENGTH - 1 :: LENGTH], axis=0) > 0).any()
    np.testing.assert_allclose(found.metrics.new.regret, paid[done].mean() - VALUE, rtol=1e-6)
    np.testing.assert_allclose(found.metrics.new.student_return, paid[done].mean(), rtol=1e-6)
    np.testing.assert_allclose(
        found.metrics.new.levels["number"], found.trajectory.first_level.number.mean(), rtol=1e-6
    )
    assert nothing_measured(found.metrics.replayed) and found.metrics.trained
    assert np.isnan(found.metrics.buffer_fill).all()


def test_a_level_that_all_play_has_one_best_return_for_all() -> None:
    """A fixed level under a method that keeps none: nobody's regret is by what he alone has earned."""
    found = cycle(1, method="dr-fsp", num_levels=1)
    done, paid = found.trajectory.truncated, found.trajectory.reward
    assert np.ptp(paid[done]) > 0  # in truth these levels differ
    np.testing.assert_allclose(found.metrics.new.regret, paid[done].max() - VALUE, rtol=1e-6)


@pytest.fixture(scope="module", params=OUTCOMES)
def met(request):
    """(the co-player's slot, a replay cycle against it, on levels of number 7, after which one joins)."""
    return request.param, cycle(request.param, numbers=7, updates=1)


def test_the_coplayer_that_was_drawn_plays_in_the_second_seat(met) -> None:
    slot, found = met
    shares = [found.metrics.won, found.metrics.drawn, found.metrics.lost]
    assert shares == [OUTCOMES[slot] == outcome for outcome in (1.0, 0.5, 0.0)]
    np.testing.assert_array_equal(found.metrics.chosen, np.arange(len(found.metrics.chosen)) == slot)
    assert (found.trajectory.action == 2).all()


def test_results_are_remembered_of_the_coplayer_that_was_met(met) -> None:
    slot, found = met
    games = np.zeros(len(found.metrics.win_rate), int)
    games[slot] = WORKERS * (STEPS // LENGTH)
    population = found.after.curriculum.population
    np.testing.assert_array_equal(population.games, games)
    assert (population.results[slot, : games[slot]] == OUTCOMES[slot]).all()
    np.testing.assert_array_equal(found.metrics.win_rate, np.where(games > 0, OUTCOMES[slot], np.nan))


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
    logged, after = found.metrics, found.after.curriculum
    slots = np.arange(len(logged.chosen_ago))
    np.testing.assert_array_equal(logged.chosen_ago, np.where(slots > 0, NOW - slots, np.nan))
    np.testing.assert_array_equal(after.chosen_at, np.where(slots == slot, NOW, slots))
    assert after.cycle == NOW + 1
    np.testing.assert_allclose(logged.coplayer_weights, np.where((slots == 1) | (slots == 2), 0.5, 0))
    np.testing.assert_allclose(logged.coplayer_entropy, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(logged.max_score, np.where(slots == slot, 7 - VALUE, 0))
    np.testing.assert_array_equal(logged.buffer_fill, 1)
    assert logged.trained and logged.active


def test_how_long_ago_is_known_of_those_who_were_ever_chosen() -> None:
    """Slots start as if chosen in cycle 0; a newcomer was not, and the first member was."""
    state = jax.device_get(cycle(1).before.curriculum)
    games = np.array([0, 3, 0, 0, 0])
    known = state.replace(
        chosen_at=np.array([0, 0, 5, 0, 0]), population=state.population.replace(games=games)
    )
    np.testing.assert_array_equal(metrics.chosen_ago(known), [np.nan, NOW, NOW - 5, np.nan, np.nan])
