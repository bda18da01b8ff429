"""Runs that get nowhere: said after a while, ended after long."""

import numpy as np
import pytest

from maestro.runs.folder import read_json
from maestro.runs.trainer import Stopped
from maestro.runs.vain import A_WORD, THE_END, found, without_an_end, without_growth
from probes import with_changes
from runs_helpers import ENDLESS_RACE, QuickTrainer, experiment, micro, new_folder

FEW = {"min_fill": 0.5, "member_buffer_size": 128}  # 64 levels are needed, of a game that has 48


def ended(path, config):
    """(folder, what was said, why it ended) of a run that gets nowhere."""
    folder = new_folder(path, config)
    trainer = QuickTrainer(folder, config)
    with pytest.raises(Stopped) as stopped:
        trainer.run()
    return folder, trainer.reporter.said, stopped.value


def is_said_once_and_ends(word, folder, said, stopped):
    """The word comes after a while, and again at the end."""
    warnings = [line for line in said if word in line]
    assert len(warnings) == 1 and A_WORD <= int(warnings[0].split()[0]) < A_WORD + 32
    assert word in str(stopped) and stopped.code == 1 and not stopped.resumable
    assert THE_END <= int(str(stopped).split()[0]) < THE_END + 32
    assert read_json(folder.status)["state"] == "failed"


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """(configuration, folder, what was said, why it ended) of a run whose episodes never end."""
    config = micro("maestro", {"kind": "parallel"}, ENDLESS_RACE)
    return config, *ended(tmp_path_factory.mktemp("endless") / "run", config)


def test_where_no_episode_ends_within_a_rollout_the_run_says_so_and_ends(endless):
    word = "without an update: no episode of some seed ended within the T = 8 steps of a rollout"
    is_said_once_and_ends(word, *endless[1:])


def test_such_a_run_that_is_resumed_ends_at_once_with_the_same_words(endless):
    config, folder, _, stopped = endless
    with pytest.raises(Stopped) as again:
        QuickTrainer(folder, config).run()
    assert str(again.value) == str(stopped)


def test_where_fewer_levels_exist_than_a_buffer_needs_the_run_says_so_and_ends(tmp_path):
    config = micro("maestro", {"kind": "parallel"}, curriculum=FEW)
    word = "no further level was stored, and a buffer is replayed from once it holds 64"
    is_said_once_and_ends(word, *ended(tmp_path / "run", config))


def rows(*cycles, fill=None):
    """Cycles of two seeds: whether they trained, the episodes of each, and the fill of its two buffers."""
    found = [{"trained": np.array([t, t]), "episodes": np.array(e)} for t, e in cycles]
    for row, level in zip(found, fill or [], strict=False):
        row["buffer_fill"] = np.array([[level, 0.0], [0.5, 0.0]], np.float32)
    return found


def test_cycles_in_vain_are_counted_back_to_an_update_or_a_finished_episode():
    nothing, some, update = (False, [0, 0]), (False, [2, 0]), (True, [0, 0])
    assert without_an_end([]) == without_an_end(rows(update)) == without_an_end(rows((False, [1, 2]))) == 0
    assert without_an_end(rows(update, nothing, nothing)) == 2 and without_an_end(rows(nothing, update)) == 0
    assert without_an_end(rows(nothing, some, some)) == 3  # one seed still waits
    assert without_an_end(rows(nothing, (False, [0, 2]), some)) == 1  # each has finished something since


def test_cycles_without_growth_are_counted_back_to_an_update_or_a_level_that_was_stored():
    some, update = (False, [2, 2]), (True, [2, 2])
    assert without_growth([]) == without_growth(rows(some, fill=[0.1])) == 0
    assert without_growth(rows(some, some, some)) == 0  # an older version did not keep the fill
    assert without_growth(rows(some, some, some, fill=[0.1, 0.1, 0.1])) == 2
    assert without_growth(rows(some, some, some, fill=[0.1, 0.2, 0.2])) == 1
    assert without_growth(rows(some, some, update, fill=[0.2] * 3)) == 0
    assert without_growth(rows(some, update, some, fill=[0.2] * 3)) == 1


def test_a_coin_that_seldom_replays_has_more_patience():
    """Full buffers do not grow, and nothing is learned until the coin says so."""
    still = rows(*[(False, [2, 2])] * 101, fill=[1.0] * 101)
    config = micro("maestro")
    for kind, rate, measure in (("parallel", 0.1, 100), ("coin", 1.0, 100), ("coin", 0.1, 10)):
        one = with_changes(config, schedule={"kind": kind}, curriculum={"replay_rate": rate})
        trouble = found(one, experiment(one).teacher, still)
        assert trouble.cycles == 100 and trouble.so_far == pytest.approx(measure)
