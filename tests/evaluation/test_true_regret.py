"""True regret on a game in which it is known: hopeless levels, levels to be learned, and won ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from ledger import AGENT, certain
from maestro import cohort
from maestro.envs.base import Discrete
from maestro.evaluation import true_regret
from maestro.evaluation.ranks import rank_correlation, spearman
from maestro.evaluation.true_regret import (
    Responder,
    difference,
    estimates,
    mean_ends,
    on,
    picked,
    played,
    scorers,
)
from maestro.regret import SCORES
from probes import QUICK, SMALL, Level, Probe, experiment, image, with_changes

HOPELESS, LEARNABLE, WON = range(3)
LUCK = 8  # one of so many games on a hopeless level is won, whatever anyone does
PPO = {"workers": 32, "epochs": 4, "gamma": 0.5, "learning_rate": 1e-2}


class Luck(Probe):
    """One step. Hopeless: a win by luck alone. Learnable: action 1 wins. Won: action 0 wins. Else a loss."""

    action = Discrete(3)
    zero_sum = True

    def sample_level(self, key):
        return Level(jax.random.randint(key, (), 0, 48), jnp.int32(9))

    def reset(self, key, level):
        state, _ = super().reset(key, level)
        state = state.replace(cue=jax.random.randint(key, (), 0, LUCK))
        return state, self.observe(level, state)

    def observe(self, level, state):
        return image(*(level.number % 3 == i for i in range(3)))

    def reward(self, level, state, actions):
        wins = jnp.stack([state.cue == 0, actions[0] == 1, actions[0] == 0])[level.number % 3]
        return jnp.where(wins, 1, -1) * jnp.array([1, -1])


EXPERIMENT = experiment(with_changes(SMALL, method="maestro", ppo=PPO), Luck(), AGENT)
KINDS = np.array([HOPELESS, LEARNABLE, WON] * 2)
LEVELS = Level(jnp.arange(6), jnp.full(6, 9))


def state(levels=LEVELS, method="maestro"):
    """One seed: the student takes action 0 and expects to lose; the member takes action 2."""
    exp = experiment(with_changes(SMALL, method=method, ppo=PPO), Luck(), AGENT)
    one = jax.tree.map(
        lambda x: x[0], jax.jit(lambda: cohort.init(exp, 0, 1), compiler_options=QUICK)().seeds
    )
    known, count = one.curriculum, levels.number.shape[0]
    buffers, slots = known.buffers, jnp.arange(known.buffers.size.shape[0])
    buffers = buffers.replace(
        levels=jax.tree.map(lambda x, y: x.at[:, :count].set(y[None]), buffers.levels, levels),
        score=buffers.score.at[:, :count].set(jnp.arange(float(count))[None]),
        size=jnp.where((slots > 0) | (len(slots) == 1), count, 0),
        clock=10 * slots,
    )
    params = jax.tree.map(lambda p, x: p.at[1].set(x), known.population.params, certain(2))
    games = jnp.arange(known.population.games.shape[0])[::-1]
    people = known.population.replace(params=params, games=games)
    return one.replace(
        learner=one.learner.replace(params=certain(0, value=-1.0)),
        curriculum=known.replace(buffers=buffers, population=people),
    )


def test_true_regret_is_what_a_response_can_earn_and_luck_is_none_of_it():
    seed = state()
    member = true_regret.member_of(seed, 1)
    heard = []
    responder = Responder(EXPERIMENT, 7, 40, "scratch")
    response = responder.train(seed, member, LEVELS, lambda *told: heard.append(told))
    assert heard[-1][0] == 40 and heard[-1][1] > heard[0][1] and responder.steps == 40 * 32 * 16
    who = [seed.learner.params, response]
    returns, outcomes = played(jax.random.key(0), EXPERIMENT, who, member, LEVELS, 256)
    assert returns.shape == outcomes.shape == (2, 6, 256)
    value, low, high = difference(returns[1], returns[0], 1.0)
    truth = np.array([0.0, 2.0, 0.0])[KINDS]
    assert (low <= truth).all() and (truth <= high + 0.05).all()  # a response still explores a little
    assert (value[KINDS == LEARNABLE] > 1.9).all() and (np.abs(value[KINDS != LEARNABLE]) < 0.25).all()
    np.testing.assert_allclose(returns[0, KINDS == HOPELESS].mean(), 2 / LUCK - 1, atol=0.15)


def test_every_score_is_estimated_and_max_mc_prefers_luck_to_what_can_be_learned():
    seed = state()
    measure = jax.jit(lambda key, *who: estimates(key, EXPERIMENT, *who, 8))
    found = jax.device_get(measure(jax.random.key(1), seed, true_regret.member_of(seed, 1), LEVELS))
    assert {"max_mc", "positive_value_loss"} <= set(found) and all(x.shape == (6,) for x in found.values())
    np.testing.assert_allclose(found["max_mc"], np.array([2.0, 0.0, 2.0])[KINDS], atol=1e-5)
    if "mean_mc" in found:
        assert found["mean_mc"][KINDS == HOPELESS].max() < 0.6
    if "learnability" in found:
        lucky = found["learnability"][KINDS == HOPELESS]
        np.testing.assert_allclose(lucky, 7 / 64, atol=0.06)
        assert (found["learnability"][KINDS != HOPELESS] == 0).all()


@pytest.mark.parametrize("method", ["maestro", "maestro-l"])
def test_every_score_is_estimated_by_itself_also_where_the_method_has_its_own(method):
    exp = experiment(with_changes(SMALL, method=method, ppo=PPO), Luck(), AGENT)
    assert {name: own.teacher.score for name, own in scorers(exp).items()} == {name: name for name in SCORES}


def test_a_response_begins_as_the_student_and_meets_the_member_alone():
    seed, member = state(), certain(1, seed=3)
    for start, same in (("student", True), ("scratch", False)):
        responder = Responder(EXPERIMENT, 7, 3, start)
        first = responder.first(seed, member)
        equal = jax.tree.map(
            lambda p, x: bool((p[0] == x).all()), first.seeds.learner.params, seed.learner.params
        )
        assert all(jax.tree.leaves(equal)) is same
        people = first.seeds.curriculum.population
        there = jax.tree.map(lambda p, x: bool((p[0, 1] == x).all()), people.params, member)
        assert all(jax.tree.leaves(there)) and int(people.size[0]) == 1


def test_a_response_begins_with_the_students_scale_of_rewards():
    exp = experiment(
        with_changes(SMALL, method="maestro", ppo={**PPO, "normalize_returns": True}), Luck(), AGENT
    )
    one = jax.tree.map(lambda x: x[0], jax.jit(lambda: cohort.init(exp, 0, 1))().seeds)
    scale = jax.tree.map(lambda x: x + 3, one.normalizer)
    for start, added in (("student", 3), ("scratch", 0)):
        first = Responder(exp, 7, 3, start).first(one.replace(normalizer=scale), certain(1))
        assert [float((a[0] - b).ravel()[0]) for a, b in zip(
            *map(jax.tree.leaves, (first.seeds.normalizer, one.normalizer)), strict=True
        )] == [added] * len(jax.tree.leaves(scale))  # fmt: skip


def test_levels_of_a_response_are_those_given_each_alike():
    some = Level(jnp.array([7, 30, 12]), jnp.full(3, 9))
    drawn = jax.vmap(on(EXPERIMENT, some).teacher.generate)(jax.random.split(jax.random.key(0), 300))
    numbers, counts = np.unique(drawn.number, return_counts=True)
    assert numbers.tolist() == [7, 12, 30] and counts.min() > 70


def test_levels_are_picked_from_the_top_the_middle_and_anywhere():
    buffer = true_regret.buffer_of(state(Level(jnp.arange(8), jnp.full(8, 9))).curriculum, 1)
    buffer = buffer.replace(score=jnp.array([3.0, 9, 1, 7, 5, -1, 99, 98]), size=jnp.int32(6))
    found = picked(buffer, 2, np.random.default_rng(0))
    assert (found["top"].tolist(), found["middle"].tolist()) == ([1, 3], [4, 0])
    seen = {int(i) for n in range(50) for i in picked(buffer, 2, np.random.default_rng(n))["random"]}
    assert seen == set(range(6))
    assert all(
        sorted(x.tolist()) == list(range(6)) for x in picked(buffer, 99, np.random.default_rng(0)).values()
    )
    assert true_regret.levels_at(buffer, found["top"]).number.tolist() == [1, 3]


def test_who_was_served_is_told_by_the_buffers_or_by_the_games_of_a_shared_one():
    own = state().curriculum
    slots = own.chosen_at.shape[0]
    assert true_regret.served(own).tolist() == [10 * i for i in range(slots)]  # slot 0 holds no level
    common = state(method="plr-fsp").curriculum
    assert true_regret.served(common).tolist() == list(range(slots))[::-1]
    assert int(true_regret.buffer_of(common, 3).size) == 6
    empty = own.replace(buffers=own.buffers.replace(size=jnp.zeros_like(own.buffers.size)))
    assert not true_regret.served(empty).any()


def test_an_interval_has_a_width_where_all_games_end_alike():
    lost = np.full((1, 64), -1.0)
    low, high = mean_ends(lost, 1.0)[0]
    assert low == -1 and -0.95 < high < -0.8
    value, low, high = (float(x[0]) for x in difference(lost, lost, 1.0))
    assert value == 0 and -0.2 < low < -0.05 and high == -low


def test_the_interval_of_a_difference_is_newcombes_for_won_and_lost_games():
    """Newcombe (1998): 56 of 70 and 48 of 80 differ by .0524 to .3339."""
    first, second = (np.where(np.arange(n) < won, 1.0, -1.0)[None] for won, n in ((56, 70), (48, 80)))
    value, low, high = (float(x[0]) / 2 for x in difference(first, second, 1.0))
    assert (value, low, high) == pytest.approx((0.2, 0.0524, 0.3339), abs=0.005)


@pytest.mark.parametrize("chances", [(0.02, 0.02), (0.5, 0.9), (0.3, 0.1)])
def test_the_interval_covers_the_truth_as_often_as_it_says(chances):
    dice = np.random.default_rng(0)
    response, student = (np.where(dice.random((1000, 64)) < p, 1.0, -1.0) for p in chances)
    _, low, high = difference(response, student, 1.0)
    truth = 2 * (chances[0] - chances[1])
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 1.0


def test_rank_correlation_is_spearmans_with_ties():
    dice = np.random.default_rng(1)
    x, y = dice.integers(0, 5, (2, 30)).astype(float)
    assert float(spearman(x, y)) == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert np.isnan(spearman(np.ones(4), np.arange(4.0)))


def test_the_interval_of_a_rank_correlation_is_over_levels_drawn_within_their_stratum():
    x, strata = np.arange(20.0), np.repeat([0, 1], 10)
    assert rank_correlation(x, x**3, strata) == (1, 1, 1)
    noise = np.random.default_rng(0).normal(size=20)
    value, low, high = rank_correlation(x, x + 8 * noise, strata)
    assert low < value < high and high - low > 0.1
    alike = rank_correlation(np.repeat([0.0, 1.0], 10), np.repeat([0.0, 1.0], 10), strata)
    assert alike == (1, 1, 1)  # no draw holds one stratum alone
    alone = rank_correlation(x, x + 8 * noise, np.arange(20))
    assert alone == (value, value, value)  # a stratum of one level is always drawn as it is
    unknown = np.where(x < 18, np.nan, x)
    assert np.isnan(rank_correlation(unknown, x, strata)).all()
    holed = rank_correlation(np.where(x == 3, np.nan, x), np.where(x == 3, -99, x), strata)
    assert holed == (1, 1, 1)
