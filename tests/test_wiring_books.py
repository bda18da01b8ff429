"""A cycle through the real wiring: which levels are played, and where what came of them is booked."""

import numpy as np
import pytest

from ledger import (
    EACH,
    LENGTH,
    OUTCOMES,
    PLAYLIST,
    STEPS,
    VALUE,
    WORKERS,
    cycle,
    equal,
)

EVEN = (("staleness", 1.0), ("member_buffer_size", 64))  # a large buffer in which all levels are alike


@pytest.mark.parametrize(
    "steps, playlist", [(8, 4), (10, 4), (10, 2), pytest.param(8, 2, marks=pytest.mark.long)]
)
def test_the_clock_moves_by_the_levels_that_were_started(steps, playlist) -> None:
    """An episode that ends with the last step starts no other."""
    found = cycle(1, steps=steps, curriculum=(("playlist", playlist), *EVEN))
    started = min(playlist, -(-steps // LENGTH))
    clock = np.zeros(len(found.buffers.clock), int)
    clock[1] = WORKERS * started
    np.testing.assert_array_equal(found.buffers.clock, clock)
    stamped = np.zeros(found.buffers.played.shape, int)
    stamped[1, found.task.slots[:started]] = clock[1]
    np.testing.assert_array_equal(found.buffers.played, stamped)
    assert started == playlist or (stamped[1, found.task.slots[started:]] == 0).any()


@pytest.mark.parametrize("coplayer", [1, EACH], ids=["one co-player", "one for each worker"])
def test_every_worker_has_a_queue_of_its_own(coplayer) -> None:
    slots = cycle(coplayer, curriculum=EVEN).task.slots
    assert slots.shape == (PLAYLIST, WORKERS) and len(set(map(tuple, slots.T))) == WORKERS
    assert len(set(slots.ravel())) > PLAYLIST


def test_new_levels_move_the_clock_once_each() -> None:
    found = cycle(1, kind="parallel", offset=500)
    assert found.buffers.clock[1] == WORKERS * (1 + -(-STEPS // LENGTH))
    assert cycle(1, explores=True).buffers.clock.tolist() == [0, WORKERS, 0, 0, 0]


BOOKS = {
    "one co-player": {"coplayer": 2},
    "one for each worker": {"coplayer": EACH},
    "side by side": {"coplayer": 2, "kind": "parallel"},
    "side by side, one for each worker": {"coplayer": np.concatenate([EACH, EACH[::-1]]), "kind": "parallel"},
    "one shared buffer": {"coplayer": 2, "method": "plr-fsp"},
    "positive value loss": {"coplayer": EACH, "curriculum": (("score", "positive_value_loss"),)},
}


@pytest.mark.parametrize("name", BOOKS)
def test_what_came_of_a_level_is_booked_in_its_slot_of_its_coplayers_buffer(name) -> None:
    found = cycle(offset=500, **BOOKS[name])
    coplayer = np.resize(BOOKS[name]["coplayer"], found.trajectory.num_envs)
    whose = np.zeros_like(coplayer) if "shared" in name else coplayer
    replayed, buffers, slots = found.task.levels.number[:, -WORKERS:], found.buffers, found.task.slots
    np.testing.assert_array_equal(replayed, 100 * whose[None, -WORKERS:] + slots + 1)
    booked = np.isfinite(buffers.best_return)
    finished = np.zeros_like(booked)
    finished[whose[-WORKERS:], slots[: STEPS // LENGTH]] = True
    tried = dict.fromkeys(range(len(buffers.size)), ())
    if "side by side" in name:
        numbers = found.task.levels.number[0, :WORKERS]
        tried |= {b: numbers[whose[:WORKERS] == b] for b in set(whose)}
        finished |= buffers.levels.number >= 500
        assert (buffers.levels.number >= 500).any()
    assert all(set(n[n >= 500]) <= set(tried[b]) for b, n in enumerate(buffers.levels.number))
    np.testing.assert_array_equal(booked, finished)
    np.testing.assert_array_equal(buffers.best_return[booked], buffers.levels.number[booked])
    np.testing.assert_array_equal(buffers.score != 0, booked)
    if "loss" not in name:
        np.testing.assert_allclose(buffers.score[booked], buffers.levels.number[booked] - VALUE, rtol=1e-5)


FINISHED = STEPS // LENGTH  # episodes of each environment


@pytest.mark.parametrize("score", ["mean_mc", "learnability"])
def test_what_is_remembered_of_a_level_is_of_all_its_finished_episodes(score) -> None:
    """A level pays its number, and the co-player decides who wins: the memories show both."""
    found = cycle(EACH, curriculum=(("score", score), ("coplayer_per", "worker")))
    memory, games = found.buffers.memory, np.zeros(found.buffers.score.shape)
    np.add.at(games, (EACH[None], found.task.slots[:FINISHED]), 1)
    assert games.max() > 1
    np.testing.assert_array_equal(memory.episodes, games)
    if score == "mean_mc":
        gain = found.buffers.levels.number - VALUE
        np.testing.assert_array_equal(memory.returns, games * found.buffers.levels.number)
        np.testing.assert_allclose(found.buffers.score, games * gain / (games + 4), rtol=1e-5)
        logged = np.sum(games * found.buffers.score) / games.sum()
        np.testing.assert_allclose(found.metrics.replayed.regret, logged, rtol=1e-5)
    else:
        outcomes = np.array([[OUTCOMES.get(slot, 0)] for slot in range(len(games))])
        np.testing.assert_array_equal(memory.results, games * outcomes)
        np.testing.assert_array_equal(memory.squares, games * outcomes**2)
        np.testing.assert_array_equal(memory.count, games)


def test_a_methods_own_score_is_what_is_stored_and_remembered() -> None:
    """With the settings' score left at `max_mc`, all is as with `maestro` and that score in the settings."""
    own = cycle(EACH, method="maestro-l", curriculum=(("coplayer_per", "worker"),))
    named = cycle(EACH, curriculum=(("score", "learnability"), ("coplayer_per", "worker")))
    assert equal(own.buffers, named.buffers)
    assert own.metrics.replayed.regret == named.metrics.replayed.regret
    assert (own.buffers.memory.count > 1).any()


@pytest.mark.parametrize("num_levels", [None, 1], ids=["generated levels", "one level"])
def test_without_a_buffer_a_level_remembers_this_rollout_alone(num_levels) -> None:
    """A generated level has one episode; the one level of a specialist has those of all workers."""
    offset = 500 if num_levels is None else 7
    few = {"offset": offset, "method": "dr-fsp", "num_levels": num_levels}
    found = cycle(1, curriculum=(("score", "mean_mc"),), **few)
    paid = found.trajectory.reward[found.trajectory.truncated]
    if num_levels is None:
        expected = np.mean((paid - VALUE) / 5)
    else:
        expected = paid.mean() - VALUE
        expected *= paid.size / (paid.size + 4)
    np.testing.assert_allclose(found.metrics.new.regret, expected, rtol=1e-5)
    if num_levels is None:
        assert cycle(1, curriculum=(("score", "learnability"),), **few).metrics.new.regret == 0


@pytest.mark.parametrize("best", [50, -50])
def test_a_level_is_scored_by_the_best_return_that_was_ever_seen_on_it(best) -> None:
    found = cycle(EACH, best=best)
    buffers, finished = found.buffers, np.zeros(found.buffers.score.shape, bool)
    finished[EACH, found.task.slots[: STEPS // LENGTH]] = True
    expected = (buffers.levels.number + max(best, 0) - VALUE)[finished]
    np.testing.assert_allclose(buffers.score[finished], expected, rtol=1e-5)
    np.testing.assert_array_equal(buffers.best_return[finished], expected + VALUE)
    assert (buffers.best_return[~finished] == (buffers.levels.number + best)[~finished]).all()


def test_with_a_coplayer_for_each_worker_each_result_is_remembered_of_its_own() -> None:
    found = cycle(EACH)
    population = found.after.curriculum.population
    met = np.bincount(EACH, minlength=len(population.games)) * (STEPS // LENGTH)
    np.testing.assert_array_equal(population.games, met)
    for slot, outcome in OUTCOMES.items():
        assert (population.results[slot, : met[slot]] == outcome).all()
    np.testing.assert_allclose(found.metrics.chosen, np.bincount(EACH, minlength=len(met)) / len(EACH))


@pytest.mark.parametrize("explores", [True, False])
def test_the_turnover_is_the_share_of_new_levels_that_were_stored(explores) -> None:
    """All that were tried are worth more than all that is stored, and none is like another."""
    found = cycle(1, offset=500, explores=explores, kind="parallel")
    numbers = found.task.levels.number[0, :WORKERS]
    assert found.metrics.turnover == len(set(numbers)) / WORKERS
