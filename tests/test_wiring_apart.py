"""One parallel cycle whose halves have different co-players: who plays whom, and whose books change."""

import numpy as np
import pytest

from ledger import LENGTH, OUTCOMES, STEPS, VALUE, WORKERS, cycle

GAMES = WORKERS * (STEPS // LENGTH)  # of a half
APART = {"cold": (("cold", "redraw"),), "tried": (("try_against", "uniform"),)}


@pytest.fixture(scope="module", params=APART)
def found(request):
    """New levels, which pay 100 and more, against member 1, replayed ones, which pay 7, against member 2."""
    whose = np.repeat([1, 2], WORKERS)
    return cycle(whose, offset=100, numbers=7, kind="parallel", curriculum=APART[request.param])


def test_each_half_of_a_cycle_plays_against_its_own_coplayer(found) -> None:
    for half, slot in ((found.metrics.new, 1), (found.metrics.replayed, 2)):
        assert [half.won, half.drawn, half.lost] == [OUTCOMES[slot] == x for x in (1.0, 0.5, 0.0)]
    np.testing.assert_array_equal(found.metrics.chosen, [0, 0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(found.metrics.replayed_against, [0, 0, 1, 0, 0])


def test_each_halfs_results_are_remembered_of_its_own_coplayer(found) -> None:
    population = found.after.curriculum.population
    np.testing.assert_array_equal(population.games, [0, GAMES, GAMES, 0, 0])
    for slot in (1, 2):
        assert (population.results[slot, :GAMES] == OUTCOMES[slot]).all()


def test_new_levels_go_to_the_buffer_of_whom_they_were_tried_against_and_scores_to_that_of_the_other(
    found,
) -> None:
    before, after = found.before.curriculum.buffers, found.buffers
    stored = (after.levels.number >= 100).sum(axis=1)
    assert 0 < stored[1] <= WORKERS and stored.sum() == stored[1]
    played = np.unique(found.task.slots[: STEPS // LENGTH])
    np.testing.assert_allclose(after.score[2, played], 7 - VALUE)
    np.testing.assert_array_equal(after.levels.number[2], before.levels.number[2])
    assert after.clock.tolist() == [0, WORKERS, WORKERS * -(-STEPS // LENGTH), 0, 0]
