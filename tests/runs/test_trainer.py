"""Where a run pauses, and what it says about how it is going."""

from types import SimpleNamespace

import numpy as np
import pytest

from maestro.config import EvaluationConfig, PPOConfig, RunConfig, ScheduleConfig
from maestro.runs.trainer import evaluation_points, finite_mean, measured
from runs_helpers import QuickTrainer, micro, new_folder, newest


@pytest.mark.parametrize(
    ("total", "times", "points"),
    [
        (100, 4, [25, 50, 75, 100]),
        (10, 3, [3, 7, 10]),
        (3, 10, [1, 2, 3]),
        (7, 1, [7]),
        (7, 0, []),
    ],
)
def test_evaluations_are_evenly_spread_and_the_last_is_at_the_end(total, times, points) -> None:
    config = RunConfig(schedule=ScheduleConfig(total_updates=total), evaluation=EvaluationConfig(times=times))
    assert evaluation_points(config) == points


def test_a_chunk_ends_at_an_evaluation_at_a_milestone_and_at_the_end(tmp_path) -> None:
    config = micro("dr-fsp", {"total_updates": 8, "interval": 3})  # evaluated at 4 and 8
    trainer = QuickTrainer(new_folder(tmp_path / "run", config), config)
    stops = []
    while trainer.updates < 8:
        stops.append(trainer.next_stop())
        trainer.state = trainer.state.replace(updates=np.int32(stops[-1]))
    assert stops == [3, 4, 6, 8]


ACTIVE = np.array([[True, True], [True, True], [False, False]])  # 3 cycles of 2 seeds


def test_how_a_chunk_went_is_told_of_the_cycles_that_took_place() -> None:
    told = measured(
        PPOConfig(workers=4, rollout_length=8),
        SimpleNamespace(
            active=ACTIVE,
            trained=np.array([[True, True], [False, False], [True, True]]),
            coplayer=np.array([[1, 2], [2, 3], [5, 5]]),
            skipped=np.array([[0, 1], [2, 1], [9, 9]]),
            student_return=np.array([[0.5, np.nan], [1.0, 0.0], [7.0, 7.0]]),
            buffer_fill=np.array([[[0.5], [0.25]], [[0.75], [0.5]], [[9.0], [9.0]]]),
        ),
        seconds=2.0,
    )
    assert told == {
        "speed": 0.5,  # updates of each seed
        "steps_per_second": 0.5 * 4 * 8 * 2,
        "replay": 0.5,
        "coplayer": 2,
        "skipped": 2,
        "return": 0.5,
        "fill": 0.5,
    }


def test_where_nothing_was_measured_there_is_no_mean() -> None:
    assert finite_mean(np.array([np.nan, -np.inf])) is None
    assert finite_mean(np.array([1.0, np.inf, 2.0])) == 1.5


def test_a_finished_run_that_is_resumed_changes_nothing(tmp_path) -> None:
    config = micro("dr-fsp")
    folder = new_folder(tmp_path / "run", config)
    QuickTrainer(folder, config).run()
    before = newest(folder.path)
    assert len(before[2].splitlines()) == 2
    QuickTrainer(folder, config).run()
    assert newest(folder.path) == before
