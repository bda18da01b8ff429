"""Tabular games and their exact equilibria, against grids, closed forms and games written out in full."""

from itertools import product

import numpy as np
import pytest

from maestro.theory import condition, equilibrium, knowing, tabular
from maestro.theory.knowing import Knowing
from maestro.theory.tabular import VIEWS, Tabular

PENNIES = np.array([[1.0, -1.0], [-1.0, 1.0]])
SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
FINE = np.linspace(0, 1, 2001)


def grid_value(game: Tabular) -> float:
    """Least worst regret over a grid of students of two actions who see nothing of the level."""
    worst = []
    for first in FINE:
        pairs = product(range(game.levels), range(game.payoff.shape[2]))
        losses = [
            max(game.payoff[le, :, b]) - np.dot([first, 1 - first], game.payoff[le, :, b]) for le, b in pairs
        ]
        worst.append(max(losses))
    return min(worst)


def written_out(told: Knowing) -> np.ndarray:
    """The knowing game as one matrix: the student's plans by what it observes, the co-player's by level."""
    levels, actions, coplayers = told.game.payoff.shape
    rows = []
    for plan in product(range(actions), repeat=levels):  # an action for each observation
        row = []
        for answer in product(range(coplayers), repeat=levels):  # an action for each level
            gains = [told.game.payoff[le, plan[told.game.sees[le]], answer[le]] for le in range(levels)]
            row.append(sum(p * gain for p, gain in zip(told.prior, gains, strict=True)))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
def test_the_linear_program_finds_the_least_worst_regret_of_a_fine_grid(seed):
    payoff = np.random.default_rng(seed).uniform(size=(3, 2, 4))
    found = equilibrium.maestro(tabular.game(payoff, "hidden"))
    assert found.value == pytest.approx(grid_value(tabular.game(payoff, "hidden")), abs=1e-3)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("seed", range(5))
def test_neither_student_nor_teacher_can_do_better_alone(seed, view):
    game = tabular.game(tabular.random_payoffs(seed, 1)[0], view)
    found, regret = equilibrium.maestro(game), tabular.regret(game.payoff)
    assert equilibrium.worst_regret(game, found.student) == pytest.approx(found.value)
    least = 0.0
    for seen in np.unique(
        game.sees
    ):  # the best answer to the teacher, one action for all that looks the same
        least += np.einsum("lab,lb->a", regret[game.sees == seen], found.teacher[game.sees == seen]).min()
    assert least == pytest.approx(found.value)
    assert found.teacher.sum() == pytest.approx(1) and found.teacher.min() >= 0
    np.testing.assert_allclose(found.student.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_student_who_sees_the_level_is_as_good_as_on_its_hardest_level(seed):
    payoffs = tabular.random_payoffs(seed, 1)[0]
    alone = [equilibrium.maestro(tabular.game(payoff[None])).value for payoff in payoffs]
    assert equilibrium.maestro(tabular.game(payoffs)).value == pytest.approx(max(alone))


def test_the_less_a_student_sees_the_more_it_regrets():
    values = np.array(
        [
            [equilibrium.maestro(tabular.game(payoff, view)).value for view in VIEWS]
            for payoff in tabular.random_payoffs(7, 10)
        ]
    )
    assert (np.diff(values) > -1e-9).all() and (np.diff(values).mean(axis=0) > 0.01).all()


@pytest.mark.parametrize("payoff, value", [(PENNIES, 0.0), (SCISSORS, 0.0), (PENNIES + 3, 3.0)])
def test_known_games_have_their_known_uniform_equilibria(payoff, value):
    found = equilibrium.nash(payoff)
    assert found.value == pytest.approx(value)
    np.testing.assert_allclose(found.student[0], 1 / len(payoff))
    np.testing.assert_allclose(found.teacher[0], 1 / len(payoff))
    assert equilibrium.nash_gap(payoff, found.student[0], found.teacher[0]) == pytest.approx(0)


def test_a_gap_is_what_both_could_gain():
    assert equilibrium.nash_gap(PENNIES, np.array([1.0, 0.0]), np.array([0.25, 0.75])) == pytest.approx(1.5)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("seed", range(3))
def test_the_knowing_game_is_the_game_written_out_in_which_only_the_co_player_is_told_the_level(seed, view):
    rng = np.random.default_rng(seed)
    told = Knowing(tabular.game(rng.normal(size=(3, 2, 2)), view), rng.dirichlet(np.ones(3)))
    assert told.value() == pytest.approx(equilibrium.nash(written_out(told)).value)


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("view", VIEWS)
def test_gaps_in_the_knowing_game_are_those_of_the_game_written_out(view, seed):
    rng = np.random.default_rng(seed)
    told = Knowing(tabular.game(rng.normal(size=(3, 2, 2)), view), rng.dirichlet(np.ones(3)))
    plan, answer = (1, 0, 1), (0, 1, 1)
    matrix = written_out(told)
    row, column = int("".join(map(str, plan)), 2), int("".join(map(str, answer)), 2)
    student, coplayer = np.eye(2)[list(plan)], np.eye(2)[list(answer)]
    assert told.utility(student, coplayer) == pytest.approx(matrix[row, column])
    assert told.student_gap(student, coplayer) == pytest.approx(matrix[:, column].max() - matrix[row, column])
    assert told.coplayer_gap(student, coplayer) == pytest.approx(matrix[row, column] - matrix[row].min())


def test_the_counterexample_has_the_numbers_that_were_worked_out_by_hand():
    found = condition.counterexample()
    np.testing.assert_allclose(found.student, [1 / 11, 10 / 11])
    np.testing.assert_allclose(found.coplayers, [10 / 11, 1 / 11])
    np.testing.assert_allclose(found.nash_student, [10 / 11, 1 / 11])
    assert found.regret == pytest.approx(10 / 11)
    assert (found.guarantee, found.nash_guarantee) == (pytest.approx(1 / 11), pytest.approx(10 / 11))
    assert found.coplayer_gap == pytest.approx(9 / 11)


def test_where_all_co_players_are_equally_beatable_the_equilibrium_is_nash_and_elsewhere_not():
    holds_seen, holds_hidden, seen, hidden = condition.random_gaps(seed=3, count=30)
    assert max(np.abs(holds_seen.nash).max(), np.abs(holds_hidden.nash).max()) < 1e-6
    assert np.mean(seen.nash > 1e-6) == 1 and np.mean(hidden.nash > 1e-6) > 0.8
    assert max(seen.student.max(), hidden.student.max()) < 1e-6  # the student's half of the theorem holds
    assert seen.levels >= 30 and hidden.levels > 45
    assert np.mean(holds_seen.outside > 1e-6) > 0.5 and holds_hidden.outside.size == 0


def test_equally_beatable_games_keep_their_regrets_and_their_students():
    payoff = tabular.random_payoffs(1, 1)[0]
    other = tabular.equally_beatable(payoff)
    np.testing.assert_allclose(other.max(axis=1), 1)
    np.testing.assert_allclose(tabular.regret(other), tabular.regret(payoff), atol=1e-12)


def test_a_value_of_the_knowing_game_is_reached_by_the_student_where_the_condition_holds():
    game = tabular.game(tabular.equally_beatable(tabular.random_payoffs(2, 1)[0]), "hidden")
    found = equilibrium.maestro(game)
    told, coplayer = knowing.at(game, found)
    assert told.utility(found.student, coplayer) == pytest.approx(told.value())


def test_every_action_of_a_tournament_is_beaten_by_another_and_nobody_gains_what_nobody_loses():
    payoff = tabular.tournaments(0, 5, levels=3, actions=5)
    assert payoff.shape == (5, 3, 5, 5)
    np.testing.assert_array_equal(payoff, -payoff.transpose(0, 1, 3, 2))
    assert (payoff.max(axis=2) == 1).all() and set(np.unique(payoff)) == {-1, 0, 1}
