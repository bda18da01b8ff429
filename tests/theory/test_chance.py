"""The tabular loop with estimated regrets: scores of games, and what luck does to them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import curriculum, regret
from maestro.theory import chance, practice, tabular

SCORES = ("max_mc", "positive_value_loss", "mean_mc", "learnability")
STEPS = 400


def told(score, likely, wins, trains=True):
    """What is told of a first step on two levels, on which the student plays its one action."""
    config = replace(chance.ESTIMATED, score=score)
    teacher = practice.Plan(1, config=config, scoring=chance.by_games).teacher(2, 1)
    known = curriculum.join(curriculum.init(teacher, jnp.zeros((2, 1))), jnp.zeros((2, 1)), jnp.bool_(True))
    levels = jnp.tile(jnp.array([0, 1]), (chance.QUEUE, 1))
    task = curriculum.Task(jnp.int32(1), levels, jnp.zeros((chance.QUEUE, 1), jnp.int32))
    gained = jnp.tile(jnp.array(likely), (chance.QUEUE, 1))[..., None]
    won = jnp.array(wins, jnp.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax.random, "bernoulli", lambda key, p: jnp.broadcast_to(won[:, None], p.shape))
        over = jnp.tile(jnp.array([True, trains]), (chance.QUEUE, 1))
        turn = practice.Turn(teacher, known, task, jnp.ones_like(gained), gained, over)
        return chance.by_games(jax.random.key(0), turn)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("max_mc", 4 * (1 - 0.25)),  # the best return of four games, less what the critic expects
        ("positive_value_loss", 0.75),  # one game of four is a surprise, by so much
        ("mean_mc", 0.0),  # the mean is what the critic expects
        ("learnability", 4 * (0.25 - 0.25**2)),
    ],
)
def test_four_games_on_a_new_level_of_which_one_is_won_score_so_much(score, expected):
    played, results = told(score, [0.25, 0.5], [0, 1, 0, 0])
    assert played.episodes[:, 0].tolist() == [1] * 4 and results[:, 0].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(played.score[:, 0].sum(), expected, atol=1e-6)
    np.testing.assert_array_equal(played.best_return[:, 0], np.ones(4))


@pytest.mark.parametrize("score", SCORES)
def test_what_a_cold_buffer_replays_did_not_take_place(score):
    played, results = told(score, [0.25, 0.5], [1, 1, 1, 1], trains=False)
    assert not played.started[:, 1].any() and not played.episodes[:, 1].any()
    np.testing.assert_array_equal(played.score[:, 1], np.zeros(4))
    assert np.isnan(results[:, 1]).all() and not np.isnan(results[:, 0]).any()


def test_hopeless_levels_have_no_regret_and_are_won_by_luck_alone():
    payoffs = chance.with_hopeless(tabular.random_payoffs(0, 2))
    assert payoffs.shape == (2, 6, 3, 3)
    np.testing.assert_array_equal(tabular.regret(payoffs)[:, 4:], np.zeros((2, 2, 3, 3)))
    assert (payoffs[:, 4:] == chance.LUCK).all()


@pytest.mark.parametrize(
    ("scoring", "low", "high"), [(chance.by_games, 0.4, 1.0), (practice.known_regrets, 0.0, 0.05)]
)
def test_the_best_return_ever_is_caught_by_luck_and_known_regrets_are_not(scoring, low, high):
    games = tabular.stacked([tabular.game(p) for p in chance.with_hopeless(tabular.random_payoffs(1, 4))])
    plan = practice.Plan(STEPS, config=chance.ESTIMATED, scoring=scoring)
    found = practice.run(jax.random.key(0), plan, games, jnp.zeros(4, jnp.int32))
    assert low <= chance.hopeless(found).mean() <= high
    assert regret.SCORES.keys() == set(SCORES)


def test_a_level_that_is_tried_apart_is_booked_with_whom_it_was_tried_against():
    """New levels are shared by all members, and the student learns as soon as one of these is warm."""
    games = tabular.stacked([tabular.game(p) for p in chance.with_hopeless(tabular.random_payoffs(1, 4))])
    plan = replace(chance.VARIANTS["max_mc, tried apart"], steps=STEPS)
    found = practice.run(jax.random.key(0), plan, games, jnp.zeros(4, jnp.int32))
    started = np.asarray(found.curriculum.buffers.clock)[:, 1:]
    assert found.trained[:, 10:].all()
    assert (started.sum(axis=1) == STEPS + chance.QUEUE * found.trained.sum(axis=1)).all()
    assert set(np.unique(found.coplayer[found.trained])) == {1, 2, 3}
    assert (started.min(axis=1) > STEPS / 5).all()  # a third of the new levels goes to each


def test_the_variants_are_methods_and_settings_that_training_has():
    for name, plan in chance.VARIANTS.items():
        teacher = plan.teacher(6, 3)
        assert teacher.score in (name.split(",")[0], "max_mc")
        assert ("tried apart" in name) == teacher.apart and ("one buffer" in name) != teacher.owned
        assert (plan.scoring is chance.by_games) == (name != chance.KNOWN)


@pytest.mark.long
def test_populations_that_grow_are_compared_by_score():
    excesses, shares = chance.populations(0, 2, 100)
    names = [
        f"{score}, {who}" for score in chance.GROWING for who in ("all actions", "copies of the student")
    ]
    assert set(names) < {one.name for one in excesses} and len(shares) == len(excesses) == 2 * 9
    assert min(one.curves.min() for one in excesses) > -1e-5
