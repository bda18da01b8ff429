"""The last comparison of a run, by `summarize` itself, and the students' files."""

import json

import jax
import numpy as np
import pytest
from scipy.stats import binomtest

from ledger import AGENT, students
from maestro.config import RunConfig, leaves, marks
from maestro.evaluation.opponents import sample_levels
from maestro.runs import summary, trainer
from maestro.runs.folder import RunFolder
from probes import RockPaperScissors, experiment

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
    found = summary.summarize(RunFolder(tmp_path), EXPERIMENT, state)
    assert (found["won"], found["drawn"], found["lost"]) == counted
    assert found["games"] == 12
    expected = binomtest(counted[0], 12).proportion_ci(method="wilson")
    np.testing.assert_allclose(found["won_95"], [expected.low, expected.high])
    assert json.loads((tmp_path / "summary.json").read_bytes()) == found


def test_its_levels_are_those_of_no_seed_and_no_evaluation() -> None:
    ranges = {path: mark for path, hint, _ in leaves(RunConfig()) for mark in marks(hint)}
    largest_seed = ranges["seed"].high + ranges["seeds"].high - 1
    assert largest_seed < summary.LAST_KEY < trainer.EVALUATION_KEY < 2**31
    keys = [jax.random.key(summary.LAST_KEY), jax.random.fold_in(jax.random.key(trainer.EVALUATION_KEY), 0)]
    last, evaluated = (sample_levels(key, EXPERIMENT, 16).number for key in keys)
    assert (last != evaluated).any()
