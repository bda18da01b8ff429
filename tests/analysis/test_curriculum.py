"""The emergent curriculum of a run, read from its logs and its samples."""

import json

import jax
import numpy as np
import pytest

from maestro.analysis import curriculum
from maestro.envs.lasertag.game import LaserTag
from maestro.runs import served
from maestro.runs.folder import RunError, RunFolder
from probes import Race
from runs_helpers import KEPT, experiment, micro, quick_start


@pytest.fixture
def folder(tmp_path):
    """An empty run of two seeds."""
    return RunFolder(tmp_path)


def log(folder, *lines):
    folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_statistics_are_those_of_replayed_levels_where_levels_are_replayed(folder):
    first = {"updates": 2, "replayed.levels.walls": [None, 0.25], "new.levels.walls": [0.5, 0.5]}
    second = {"updates": 4, "replayed.levels.walls": [0.75, 0.5], "new.levels.walls": [0.5, 0.5]}
    log(folder, first, second | {"replayed.levels.size": [3.0, 4.0], "replayed.regret": [1.0, 1.0]})
    found = curriculum.level_statistics(folder)
    assert set(found) == {"walls", "size"}
    np.testing.assert_array_equal(found["walls"].updates, [2, 4])
    np.testing.assert_array_equal(found["walls"].values, [[np.nan, 0.25], [0.75, 0.5]])
    np.testing.assert_array_equal(found["size"].updates, [4])


def test_statistics_are_those_of_new_levels_where_none_are_replayed(folder):
    log(folder, {"updates": 2, "replayed.levels.walls": [None, None], "new.levels.walls": [0.5, 0.25]})
    np.testing.assert_array_equal(curriculum.level_statistics(folder)["walls"].values, [[0.5, 0.25]])


def test_a_run_that_has_logged_nothing_has_no_curriculum(folder):
    assert curriculum.level_statistics(folder) == {} and curriculum.buffers(folder) == {}
    assert curriculum.pairs(folder) is None
    with pytest.raises(RunError, match=r"no levels were kept \(evaluation.keep_levels\)"):
        curriculum.served(folder, Race(), "start")


def test_who_was_chosen_and_what_buffers_held_are_courses_over_training(folder):
    line = {"chosen": [[0, 0.25, 0.75], [0, 1, 0]], "buffer_fill": [[0, 0.5, 1], [0, 1, 0]]}
    log(
        folder,
        {"updates": 1, "chosen": [[1.0], [1.0]], "max_score": None},  # of another shape: not this run's
        {"updates": 2, **line, "max_score": [[None, 1.5, 2], [None, 2, None]]},
        {"updates": 3, **line, "max_score": [[None, 1.0, 2], [None, 3, None]]},
    )
    chosen, held = curriculum.pairs(folder), curriculum.buffers(folder)
    np.testing.assert_array_equal(chosen.updates, [2, 3])
    np.testing.assert_array_equal(chosen.values, [line["chosen"]] * 2)
    np.testing.assert_array_equal(held["max_score"].values[:, 0, 1], [1.5, 1.0])
    np.testing.assert_array_equal(held["buffer_fill"].values[1], line["buffer_fill"])


def test_a_method_without_buffers_has_none(folder):
    log(folder, {"updates": 2, "buffer_fill": [[None], [None]], "max_score": [[None], [None]]})
    assert curriculum.buffers(folder) == {}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """(folder, settings, experiment, state) of a run that has kept levels at updates 0, 4, and 8."""
    folder, config = RunFolder(tmp_path_factory.mktemp("run")), micro("maestro", evaluation=KEPT)
    exp, state = experiment(config), quick_start(config)()
    for updates in (0, 4, 8):
        served.keep(folder, config, exp, state.replace(updates=np.int32(updates)), anew=True)
    return folder, config, exp, state


MOMENTS = {"start": 0, "middle": 4, "end": 8, 3: 4, 1: 0, 99: 8}


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_levels_of_a_moment_are_those_that_were_kept_nearest_to_it(sampled, moment):
    folder, config, exp, state = sampled
    updates, sample = curriculum.served(folder, Race(), moment)
    assert updates == MOMENTS[moment]
    then = served.sample(config, exp, state.replace(updates=np.int32(updates)))
    same = jax.tree.map(np.array_equal, sample.levels, then.levels)
    assert all(jax.tree.leaves(same)) and sample.levels.number.shape == (2, 5)


def test_scores_that_were_stored_are_a_course_of_quantiles(sampled):
    course = curriculum.stored_scores(sampled[0], Race())
    np.testing.assert_array_equal(course.updates, [0, 4, 8])
    assert course.values.shape == (3, 2, 4, 9) and np.isnan(course.values).all()  # nothing is stored yet


def test_levels_of_another_game_are_told(sampled):
    with pytest.raises(RunError, match="no sample of levels"):
        curriculum.served(sampled[0], LaserTag(), "end")
