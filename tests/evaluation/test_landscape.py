"""The regret landscape: the cells are what training would have stored, and the marks are the paper's."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ledger
from ledger import AGENT, VALUE, certain
from maestro import regret, train
from maestro.curriculum import Task
from maestro.evaluation import landscape
from maestro.evaluation.landscape import Cells, compared, marks, measure, numbers, summary, survey
from probes import QUICK, Level, experiment, start, with_changes

TABLE_1 = np.array(  # rows pi_A, pi_B, pi_C, columns theta_1 .. theta_4
    [[0.6, 0.1, 0.4, 0.2], [0.1, 0.5, 0.4, 0.3], [0.2, 0.4, 0.4, 0.4]]
)
NAMES = ("independent", "joint", "gap")
KEY = jax.random.key(4)
ROLLOUTS = 4
KINDS = {
    "max_mc": {},
    "positive_value_loss": {"curriculum": {"score": "positive_value_loss"}},
    "mean_mc": {"curriculum": {"score": "mean_mc"}},
    "learnability": {"curriculum": {"score": "learnability"}},
}


def jitted(function):
    return jax.jit(function, compiler_options=QUICK)


def cells(*halves):
    """Cells with these halves, and their mean as scores."""
    both = np.array(halves, float)
    return Cells(both.mean(axis=0), both, np.full(both.shape[1:], 2))


def places(scores):
    """The cell that is marked red, and the green one."""
    at = jax.device_get(marks(scores))
    return tuple(map(int, at.independent)), tuple(map(int, at.joint))


def test_the_marks_of_table_1_are_the_papers() -> None:
    assert places(TABLE_1) == ((2, 2), (0, 0))
    found = compared(TABLE_1, TABLE_1)
    np.testing.assert_allclose([found[name] for name in NAMES], [0.4, 0.6, 0.2], rtol=1e-6)


def test_of_equals_the_first_is_marked() -> None:
    assert places(np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]])) == ((0, 1), (0, 1))


def test_unknown_cells_are_nobodys_maximum_and_count_in_no_mean() -> None:
    """The first row's only known cell makes it the best; the second column is known to nobody."""
    nan = np.nan
    few = np.array([[-1.0, nan, nan], [-3.0, nan, -2.0], [nan, nan, -5.0]])
    assert places(few) == ((0, 0), (0, 0))
    more = np.array([[nan, nan, 4.0], [3.0, nan, 3.0], [9.0, nan, -9.0]])
    assert places(more) == ((0, 0), (2, 0))


def test_without_a_known_cell_nothing_is_known() -> None:
    assert all(np.isnan(x) for x in numbers(cells(*np.full((2, 2, 3), np.nan))).values())


def test_where_the_independent_maxima_meet_in_an_unknown_cell_the_gap_is_unknown() -> None:
    found = compared(*[np.array([[np.nan, 3.0], [3.0, -9.0]])] * 2)
    assert np.isnan(found["independent"]) and found["joint"] == 3 and np.isnan(found["gap"])


def test_split_half_marks_by_one_half_and_scores_by_the_other_both_ways() -> None:
    """The first half marks (1, 0) and (0, 0), the second (0, 0) and (1, 0)."""
    one, other = np.array([[9.0, 0.0], [5.0, 8.0]]), np.array([[1.0, 7.0], [8.0, -4.0]])
    assert places(one) == ((1, 0), (0, 0)) and places(other) == ((0, 0), (1, 0))
    found = numbers(cells(one, other))
    independent, joint = (8 + 9) / 2, (1 + 5) / 2
    expected = [independent, joint, joint - independent]
    np.testing.assert_allclose([found[f"split_{name}"] for name in NAMES], expected)


def test_halves_that_agree_say_what_the_whole_says() -> None:
    found = numbers(cells(TABLE_1, TABLE_1))
    for name in NAMES:
        np.testing.assert_allclose(found[f"split_{name}"], found[name])


def test_only_cells_known_to_both_halves_are_marked() -> None:
    one, other = TABLE_1.copy(), TABLE_1.copy()
    other[0, 0] = np.nan
    found = numbers(cells(one, other))
    np.testing.assert_allclose([found[f"split_{name}"] for name in NAMES], [0.4, 0.5, 0.1], rtol=1e-5)


def test_noise_alone_has_a_gap_that_the_split_half_check_takes_away() -> None:
    """400 landscapes of 5 members x 16 levels without any structure."""
    noise = np.random.default_rng(0).normal(size=(400, 2, 5, 16))
    found = jitted(jax.vmap(lambda h: numbers(Cells(h.mean(axis=0), h, jnp.ones((5, 16), int)))))(noise)
    error = np.std(found["split_gap"]) / np.sqrt(400)
    assert error < 0.06 and abs(np.mean(found["split_gap"])) < 3 * error
    assert np.mean(found["gap"]) > 10 * error


def test_a_pair_that_stands_out_is_found_by_both_checks() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 5, 16)) / 10
    noise[:, 3, 7] += 5
    noise[:, 3] -= 1  # so that its row is not the best
    found = numbers(cells(*noise))
    assert found["gap"] > 3 and abs(found["split_gap"] - found["gap"]) < 0.5


SHORT = ("max_mc", "learnability")


@pytest.fixture(
    scope="module", params=[pytest.param(n, marks=[pytest.mark.long] * (n not in SHORT)) for n in KINDS]
)
def wired(request):
    """(experiment, a state whose second member is someone else, eight levels that differ)."""
    exp = experiment(with_changes(**KINDS[request.param]), agent=AGENT)
    state = jax.tree.map(lambda x: x[0], start(exp, 0, 1).seeds)
    other = AGENT.init(jax.random.key(9))
    people = state.curriculum.population
    params = jax.tree.map(lambda p, x: p.at[2].set(x), people.params, other)
    people = people.replace(params=params, size=jnp.int32(2))
    number = jnp.arange(8)
    levels = Level(number, 2 + number % 4)
    return exp, state.replace(curriculum=state.curriculum.replace(population=people)), levels


def remembered(exp, state, levels):
    """(member, rollouts) -> [L]: what `train.remember` makes of the games, if it sees some rollouts only."""

    def remember(number, columns):
        tiled = jax.tree.map(lambda x: jnp.tile(x, ROLLOUTS)[None], levels)
        task = Task(coplayer=number + 1, levels=tiled, slots=None)
        trajectory = train.play(jax.random.fold_in(KEY, number), exp, state, task)
        some = trajectory.columns(columns)
        some = some.replace(first_level=jax.tree.map(lambda x: x[columns], trajectory.first_level))
        task = task.replace(levels=jax.tree.map(lambda x: x[:, columns], tiled))
        advantage = regret.generalized_advantage(some, exp.ppo.gamma, exp.ppo.gae_lambda)
        return train.remember(exp, state, task, some, advantage)[1]

    program = jitted(remember)

    def stored(number, rollouts):
        columns = jnp.concatenate([jnp.arange(8) + 8 * i for i in rollouts])
        played = jax.device_get(program(jnp.int32(number), columns))
        total, episodes = (x.reshape(-1, 8).sum(axis=0) for x in (played.score, played.episodes))
        return total / episodes, episodes

    return stored


def test_a_cell_is_what_training_would_have_stored(wired, monkeypatch) -> None:
    """Over all rollouts, and over either half of them with a best return of its own; so it is one by one."""
    exp, state, levels = wired
    members = jax.tree.map(lambda x: x[1:3], state.curriculum.population.params)
    measured = partial(measure, KEY, exp, state.learner.params, members, levels, ROLLOUTS)
    found = jitted(measured)()
    monkeypatch.setattr(landscape, "AT_ONCE", 0)
    one_by_one = jitted(lambda: measured())()
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), found, one_by_one)
    stored = remembered(exp, state, levels)
    for number in range(2):
        whole, episodes = stored(number, (0, 1, 2, 3))
        np.testing.assert_allclose(found.scores[number], whole, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found.episodes[number], episodes)
        for half, rollouts in enumerate(((0, 1), (2, 3))):
            some, _ = stored(number, rollouts)
            np.testing.assert_allclose(found.halves[half, number], some, rtol=1e-5, atol=1e-6)
    assert (found.scores[0] != found.scores[1]).any() and (found.halves[0] != found.halves[1]).any()


def test_every_environment_plays_its_own_level_and_cells_without_an_end_are_unknown() -> None:
    """A level pays its own number; the last takes longer than a rollout."""
    exp = ledger.experiment(steps=10)
    members = jax.tree.map(lambda *x: jnp.stack(x), certain(0), certain(1))
    levels = Level(jnp.array([3, 5, 8]), jnp.array([4, 2, 11]))
    found = jitted(lambda: measure(KEY, exp, certain(2, VALUE), members, levels, 2))()
    np.testing.assert_allclose(found.scores, [[3 - VALUE, 5 - VALUE, np.nan]] * 2)
    np.testing.assert_allclose(found.halves, [[[3 - VALUE, 5 - VALUE, np.nan]] * 2] * 2)
    np.testing.assert_array_equal(found.episodes, [[4, 10, 0]] * 2)


@pytest.mark.parametrize("rollouts", [0, 1, 3])
def test_rollouts_that_cannot_be_halved_are_refused(rollouts) -> None:
    with pytest.raises(ValueError, match=f"{rollouts} rollouts: the two halves need an even number"):
        measure(KEY, experiment(agent=AGENT), {}, {}, Level(jnp.arange(2), jnp.arange(2)), rollouts)


@pytest.mark.parametrize("wired", ["max_mc"], indirect=True)
def test_the_summary_of_a_state_is_that_of_its_members_alone_on_fresh_levels(wired) -> None:
    """Side by side for seeds of which one has two members, one has one, and one has none."""
    exp, state, _ = wired
    people = state.curriculum.population
    sizes = (2, 1, 0)

    def all_seeds(keys):
        def one(key, size):
            crowd = people.replace(size=size)
            seed = state.replace(curriculum=state.curriculum.replace(population=crowd))
            return summary(key, exp, seed, 4, 2)

        return jax.vmap(one)(keys, jnp.array(sizes))

    keys = jax.random.split(KEY, 3)
    found = jitted(all_seeds)(keys)
    for i, size in enumerate(sizes[:2]):
        members = jax.tree.map(lambda x, n=size: x[1 : n + 1], people.params)
        direct = jitted(lambda key, members=members: survey(key, exp, state.learner.params, members, 4, 2))
        levels, found_cells = direct(keys[i])
        assert len(set(levels.number.tolist())) > 1
        expected = numbers(found_cells)
        assert set(expected) == set(found) and all(np.isfinite(x) for x in expected.values())
        for name, value in expected.items():
            np.testing.assert_allclose(found[name][i], value, rtol=1e-5, atol=1e-6)
    assert all(np.isnan(x[2]) for x in found.values())
