"""The loop on tabular games: its student, its teachers, and how close it comes to the exact equilibrium."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.theory import convergence, exact, learner, practice, table_1, tabular
from maestro.theory.convergence import APART, BUFFERS, COPIES, EVERYONE, EXPLOITERS, JOINT, RANDOM
from maestro.theory.tabular import TABLE_1

STEPS = 400


def hedge(losses: list[np.ndarray], actions: int) -> np.ndarray:
    """The policy after some losses, slowly."""
    total = sum(losses, np.zeros(actions))
    weights = np.exp(-np.sqrt(8 * np.log(actions) / (len(losses) + 1)) * (total - total.min()))
    return weights / weights.sum()


@pytest.fixture(scope="module")
def practised():
    """The package's teacher on three games, each seen in its own way, with what the games were."""
    payoffs = tabular.random_payoffs(5, 3)
    games = tabular.stacked([tabular.game(p, view) for p, view in zip(payoffs, tabular.VIEWS, strict=True)])
    plan = practice.Plan(STEPS)
    return games, practice.run(jax.random.key(1), plan, games, jnp.zeros(3, jnp.int32))


@pytest.fixture(scope="module", params=[8_000, pytest.param(20_000, marks=pytest.mark.long)])
def taught(request):
    """The study of the page: 20 games, 20,000 steps, or not so many."""
    found = convergence.teachers(seed=0, count=20, steps=request.param)
    return {(one.view, one.name): one for one in found}


@pytest.mark.parametrize("adversary", ["punishes what is likely", "never changes"])
def test_hedge_loses_no_more_than_its_bound_to_the_best_action(adversary):
    steps, actions = 500, 3

    def loss(policy: np.ndarray) -> np.ndarray:
        likely = np.eye(actions)[policy.argmax()]
        return likely if adversary == "punishes what is likely" else np.array([1.0, 0.0, 1.0])

    update, policy = jax.jit(learner.update), jax.jit(learner.policy)
    state, lost, total = learner.init(1, actions), 0.0, np.zeros(actions)
    for _ in range(steps):
        now = np.asarray(policy(state)[0], float)
        told = loss(now)
        lost, total = lost + now @ told, total + told
        state = update(state, jnp.int32(0), jnp.asarray(told, jnp.float32))
    bound = 2 * np.sqrt(steps * np.log(actions) / 2) + np.sqrt(np.log(actions) / 8)
    assert 0 < lost - total.min() <= bound


def test_the_student_of_the_loop_is_hedge_on_the_replayed_levels_alone(practised):
    games, outcome = practised
    for number, game in enumerate(convergence.apart(games)):
        told = [[] for _ in range(4)]
        policies = []
        for level, slot, trains in zip(
            *(np.asarray(x[number]) for x in (outcome.level, outcome.coplayer, outcome.trained)), strict=True
        ):
            if not trains:
                continue
            policies.append([hedge(losses, 3) for losses in told])
            gained = game.payoff[level, :, slot - 1]
            told[game.sees[level]].append((gained.max() - gained) / np.ptp(game.payoff))
        average = np.mean(policies, axis=0)
        np.testing.assert_allclose(outcome.student[number], average, atol=1e-4)
        worst = np.einsum("la,lab->lb", average[game.sees], tabular.regret(game.payoff)).max()
        assert outcome.worst[number, -1] == pytest.approx(worst, abs=1e-4)


def test_the_loop_fills_its_buffers_and_never_trains_when_a_co_player_is_met_for_the_first_time(practised):
    _, outcome = practised
    assert outcome.curriculum.buffers.score.shape == (3, 4, 3)  # a place less than there are levels
    assert (np.asarray(outcome.curriculum.buffers.size)[:, 1:] == 3).all()
    for slots, trained in zip(np.asarray(outcome.coplayer), np.asarray(outcome.trained), strict=True):
        assert not any(trained[np.argmax(slots == slot)] for slot in (1, 2, 3)) and trained.mean() > 0.95
    assert set(np.unique(outcome.level)) == {0, 1, 2, 3} and set(np.unique(outcome.coplayer)) == {1, 2, 3}


def test_exact_teachers_choose_as_table_1_says():
    regret = jnp.asarray(TABLE_1.T)
    keys = jax.random.split(jax.random.key(0), 300)
    pairs = {name: jax.vmap(lambda k, c=c: c(k, regret))(keys) for name, c in exact.TEACHERS.items()}
    often = {name: np.asarray(4 * b + a) for name, (a, b) in pairs.items()}  # places in TABLE_1
    assert np.mean(often["joint"] == 0) == pytest.approx(1 - exact.EXPLORATION * 2 / 3, abs=0.05)
    assert np.mean(often["independent"] == 10) == pytest.approx(1 - exact.EXPLORATION * 2 / 3, abs=0.05)
    assert len(np.unique(often["random"])) == 12
    assert set(np.unique(often["joint"])) <= {0, 5, 9, 10, 11}  # each co-player with its level of most regret


def test_the_teacher_of_the_package_picks_06_jointly_and_04_apart():
    found = table_1.run(seed=0, steps=STEPS)
    assert (found.joint.coplayer, found.joint.level) == ("A", 1) and found.joint.regret == pytest.approx(0.6)
    assert (found.independent.coplayer, found.independent.level) == ("C", 3)
    assert found.independent.regret == pytest.approx(0.4)
    assert found.served.sum() == pytest.approx(1) and found.served.argmax() == 0
    assert (found.served * TABLE_1).sum() > 0.4


@pytest.mark.parametrize("view", tabular.VIEWS)
def test_a_joint_teacher_leads_to_minimax_regret_and_others_stay_away(taught, view):
    assert 0 <= np.median(taught[view, JOINT].end) < 0.02
    assert 0 <= np.median(taught[view, BUFFERS].end) < 0.05
    for name in (APART, RANDOM):
        assert np.median(taught[view, name].end) > 0.05
        assert taught[view, name].worse_than(taught[view, BUFFERS]) >= 0.95


def test_no_student_is_better_than_the_exact_value(taught):
    assert min(one.curves.min() for one in taught.values()) > -1e-5


def test_copies_of_a_mixed_student_do_not_suffice_and_exploiters_do():
    found = convergence.populations(seed=0, count=4, steps=3_000)
    end = {(one.view, one.name): np.median(one.end) for one in found}
    for view in convergence.GROWING_VIEWS:
        assert max(end[view, EVERYONE], end[view, EXPLOITERS]) < 0.07
        assert end[view, COPIES] > 0.1
