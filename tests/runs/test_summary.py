"""The last comparison of a run, by `summarize` itself, and the students' files."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, students
from maestro.config import RunConfig, leaves
from maestro.evaluation.opponents import sample_levels, seed_keys
from maestro.evaluation.statistics import interval
from maestro.runs import summary
from maestro.runs.evaluations import EVALUATION_KEY
from maestro.runs.folder import RunFolder
from probes import Race, RockPaperScissors, experiment, start

EXPERIMENT = experiment(env=RockPaperScissors(), agent=AGENT)


@pytest.fixture(autouse=True)
def few_levels(monkeypatch):
    monkeypatch.setattr(summary, "LAST_LEVELS", 4)


@pytest.mark.parametrize(
    ("actions", "counted"),
    [([2, 2, 2], (12, 0, 0)), ([1, 1, 1], (0, 12, 0)), ([0, 0, 0], (0, 0, 12)), ([2, 0, 2], (8, 0, 4))],
)
def test_wins_draws_and_losses_against_the_first_members_are_told_and_kept(
    tmp_path, actions, counted
) -> None:
    state = students(actions, [1, 1, 1])
    found = summary.summarize(RunFolder(tmp_path), EXPERIMENT, state, 0)
    assert (found["won"], found["drawn"], found["lost"]) == counted
    assert (found["games"], found["seeds"]) == (12, 3)
    assert found["won_by_seed"] == [float(action == 2) for action in actions]
    np.testing.assert_allclose(found["won_95"], interval(np.array(found["won_by_seed"]), 4))
    assert found["won_95"][0] < found["won_95"][1]
    assert json.loads((tmp_path / "summary.json").read_bytes()) == found


def test_its_levels_are_those_of_no_seed_and_no_evaluation() -> None:
    ranges = {path: mark for path, setting, _ in leaves(RunConfig()) for mark in setting.marks}
    largest_seed = ranges["seed"].high + ranges["seeds"].high - 1
    assert largest_seed < summary.LAST_KEY < EVALUATION_KEY < 2**31
    keys = [seed_keys(jax.random.key(number), 0, 1) for number in (summary.LAST_KEY, EVALUATION_KEY)]
    last, evaluated = (sample_levels(key, EXPERIMENT, 16).number for key in keys)
    assert (last != evaluated).any()


def test_each_seed_plays_games_of_its_own_by_its_number_alone(monkeypatch) -> None:
    """The same undecided student three times: different games, and those that each would play alone."""
    monkeypatch.setattr(summary, "LAST_LEVELS", 64)
    exp = experiment(env=Race(), agent=AGENT)
    state = start(exp, 5, 1)
    thrice = state.replace(seeds=jax.tree.map(lambda x: jnp.concatenate([x] * 3), state.seeds))
    together, alone = summary.last_games(exp, thrice, 5), summary.last_games(exp, state, 7)
    np.testing.assert_array_equal(together[2], alone[0])
    assert len({tuple(row) for row in together.tolist()}) == 3
