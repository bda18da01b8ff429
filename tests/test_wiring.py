"""A cycle through the real wiring: who plays whom on which level, and what is learned, kept and logged."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import (
    BAD,
    LENGTH,
    MEMBERS,
    NOW,
    OUTCOMES,
    PLAYLIST,
    STEPS,
    VALUE,
    WORKERS,
    certain,
    crafted,
    cycle,
    equal,
    experiment,
)
from maestro import cohort, curriculum, ppo, train
from probes import QUICK, record, start

EACH = np.array([1, 2, 0, 1, 1, 2, 0, 2])  # a co-player for each worker
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


EVEN = (("staleness", 1.0), ("member_buffer_size", 64))  # a large buffer in which all levels are alike


@pytest.mark.parametrize("steps", [8, 10])
@pytest.mark.parametrize("playlist", [2, 4])
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
    "side by side, one for each worker": SIDE_BY_SIDE["one for each worker"] | {"kind": "parallel"},
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


@pytest.mark.parametrize("best", [50, -50])
def test_a_level_is_scored_by_the_best_return_that_was_ever_seen_on_it(best) -> None:
    found = cycle(EACH, best=best)
    buffers, finished = found.buffers, np.zeros(found.buffers.score.shape, bool)
    finished[EACH, found.task.slots[: STEPS // LENGTH]] = True
    expected = (buffers.levels.number + max(best, 0) - VALUE)[finished]
    np.testing.assert_allclose(buffers.score[finished], expected, rtol=1e-5)
    np.testing.assert_array_equal(buffers.best_return[finished], expected + VALUE)
    assert (buffers.best_return[~finished] == (buffers.levels.number + best)[~finished]).all()


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


def test_with_a_coplayer_for_each_worker_each_result_is_remembered_of_its_own() -> None:
    found = cycle(EACH)
    population = found.after.curriculum.population
    met = np.bincount(EACH, minlength=len(population.games)) * (STEPS // LENGTH)
    np.testing.assert_array_equal(population.games, met)
    for slot, outcome in OUTCOMES.items():
        assert (population.results[slot, : met[slot]] == outcome).all()
    assert found.metrics.coplayer == EACH[-1]


CYCLES = 3
OF_TEACHER = ("choose", "ask", "ask_new", "ask_replay")
KEYS = dict.fromkeys(OF_TEACHER, curriculum) | {"rollout": train, "update": ppo}  # who is given a key


def two_students(exp):
    """Two seeds whose students take actions 2 and 0; the only member takes action 1."""
    one = crafted(exp)
    population = one.curriculum.population.replace(size=jnp.int32(1))
    one = one.replace(curriculum=one.curriculum.replace(population=population))
    both = jax.tree.map(lambda x: jnp.stack([x, x]), one)
    students = jax.tree.map(lambda *x: jnp.stack(x), certain(2, VALUE), certain(0, VALUE))
    both = both.replace(
        learner=both.learner.replace(params=students), key=jax.random.split(jax.random.key(8), 2)
    )
    return cohort.Cohort(both, jax.random.key(9), jnp.int32(0), jnp.int32(0))


@pytest.fixture(scope="module")
def two_seeds():
    """(states, metrics, the keys of each function) of a few cycles by `cohort.train_step` itself."""
    exp, keys = experiment(kind="parallel"), {name: [] for name in KEYS}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in KEYS.items():
            patch.setattr(module, name, listening(keys[name], getattr(module, name)))
        states, metrics, _ = record(exp, jax.jit(lambda: two_students(exp), compiler_options=QUICK)(), CYCLES)
    return states, metrics, keys


def listening(keys, real):
    """The function itself; the keys that it is given are noted when it really happens."""

    def call(key, *arguments, **more):
        jax.debug.callback(lambda words: keys.append(tuple(words.tolist())), jax.random.key_data(key))
        return real(key, *arguments, **more)

    return call


def test_each_seed_of_a_cohort_has_its_own_student_and_its_own_results(two_seeds) -> None:
    (_, after, *_), (metrics, *_), _ = two_seeds
    assert metrics.trained.all() and after.updates == after.cycles == 1
    assert (metrics.won.tolist(), metrics.lost.tolist()) == ([1, 0], [0, 1])
    assert after.seeds.curriculum.population.results[:, 1, 0].tolist() == [1, 0]
    assert metrics.win_rate[:, 1].tolist() == [1, 0]


def test_no_key_serves_two_purposes_two_seeds_or_two_cycles(two_seeds) -> None:
    """Only the co-player is chosen twice by one key: to decide on the replay, and to play."""
    states, _, keys = two_seeds
    assert states[-1].updates == CYCLES
    times = {name: len(found) for name, found in keys.items()}
    assert times == {name: CYCLES * 2 * (2 if name == "choose" else 1) for name in KEYS}
    assert all(len(set(found)) == CYCLES * 2 for found in keys.values())
    assert len(set().union(*keys.values())) == CYCLES * 2 * len(KEYS)


@pytest.mark.parametrize("explores", [True, False])
def test_the_turnover_is_the_share_of_new_levels_that_were_stored(explores) -> None:
    """All that were tried are worth more than all that is stored, and none is like another."""
    found = cycle(1, offset=500, explores=explores, kind="parallel")
    numbers = found.task.levels.number[0, :WORKERS]
    assert found.metrics.turnover == len(set(numbers)) / WORKERS


def test_the_keys_of_seeds_of_the_coin_and_of_first_parameters_are_all_different() -> None:
    """A seed's key depends on the seed alone, wherever it stands in a cohort."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo, "init", listening(seen, ppo.init))
        state = start(experiment(), 3, 2)
        jax.effects_barrier()
    keys = [tuple(key.tolist()) for key in jax.random.key_data(jnp.append(state.seeds.key, state.key))]
    assert len(seen) == 2 and len({*keys, *seen}) == 5
    again = start(experiment(), 4, 1)
    assert jax.random.key_data(again.seeds.key[0]).tolist() == list(keys[1])
    assert equal(
        *(jax.tree.map(lambda x, i=i: x[i], s.seeds.learner.params) for s, i in ((state, 1), (again, 0)))
    )
