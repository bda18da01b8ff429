"""Where a run pauses, and what it says about how it is going."""

import json
import time
from concurrent.futures import Future
from threading import Event
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from ledger import equal
from maestro import cohort
from maestro.config import EvaluationConfig, PPOConfig, RunConfig, ScheduleConfig
from maestro.evaluation.statistics import finite_mean, interval
from maestro.runs import beginning, folder
from maestro.runs import trainer as runs_trainer
from maestro.runs.evaluation_log import evaluation_points
from maestro.runs.place import Place
from maestro.runs.signals import Signals
from maestro.runs.status import measured
from maestro.runs.trainer import (
    Trainer,
)
from probes import with_changes
from runs_helpers import (
    GAMES,
    Listener,
    QuickEvaluations,
    QuickTrainer,
    experiment,
    micro,
    new_folder,
    newest,
    quick_start,
)


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


def test_the_next_chunk_is_under_way_before_the_last_ones_metrics_are_read(tmp_path, monkeypatch) -> None:
    config = micro("dr-fsp", {"total_updates": 8, "interval": 3})  # evaluated at 4 and 8
    trainer = QuickTrainer(new_folder(tmp_path / "run", config), config)
    monkeypatch.setattr(cohort, "CHUNK_SECONDS", 0.0)  # one cycle
    chunk, begun, logged = trainer.compile(), {at: Event() for at in range(9)}, []

    def noted(state, *limits):
        begun[int(state.updates)].set()
        return chunk(state, *limits)

    def add(metrics, add=trainer.log.add) -> None:
        waited = trainer.updates in {3, 4, 6, 8}  # something is done there before the next chunk
        assert begun[trainer.updates].wait(0 if waited else 60) != waited
        logged.append(trainer.updates)
        add(metrics)

    trainer.compile = lambda: noted
    trainer.log.add = add
    trainer.run()
    assert logged == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_new_runs_program_is_under_way_before_there_is_a_state(tmp_path) -> None:
    asked = []

    class Noted(Place):
        def compiled(self, experiment, state, begun=None):
            asked.append({type(leaf) for leaf in jax.tree.leaves(state)})
            return len(asked)

    def trainer():
        run = folder.RunFolder(tmp_path / "run") if asked else new_folder(tmp_path / "run", config)
        return Trainer(run, game, config, experiment(config), Listener(), Signals(), Noted())

    config = micro("dr-fsp", {"total_updates": 8, "interval": 3})
    game = GAMES[config.game]
    new = trainer()
    assert new.compile() == 1 and asked == [{jax.ShapeDtypeStruct}]  # by the shapes alone
    new.save()
    new.checkpointer.finish()
    resumed = trainer()
    assert len(asked) == 1 and resumed.compile() == 2 and jax.ShapeDtypeStruct not in asked[1]


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """Makes a trainer whose chunk is made by a function of (event, list); its first state is noted there."""

    def fresh(*_):
        noted.append("the first state")
        return done

    def made(work, received=None):
        class Noted(Place):
            def compiled(self, experiment, state, begun):
                return work(begun, noted)

        signals = Signals()
        signals.received = received
        parts = GAMES[config.game], config, experiment(config), Listener(), signals, Noted()
        return Trainer(new_folder(tmp_path / "run", config), *parts), noted

    config, noted, done = micro("dr-fsp"), [], Future()
    done.set_result(quick_start(config)())
    monkeypatch.setattr(beginning, "fresh", fresh)
    return made


def test_the_first_state_is_traced_when_what_takes_longest_is_under_way(trainer) -> None:
    def work(begun, noted):
        time.sleep(0.1)
        noted.append("what takes longest")
        begun.set()
        return "chunk"

    made, noted = trainer(work)
    assert noted == ["what takes longest", "the first state"] and made.compile() == "chunk"


def test_a_program_that_cannot_be_made_keeps_nobody_waiting(trainer) -> None:
    made, noted = trainer(lambda begun, noted: 1 / 0)
    assert noted == ["the first state"]
    with pytest.raises(ZeroDivisionError):
        made.compile()


def test_nor_does_one_that_takes_long_if_a_stop_is_asked_for(trainer) -> None:
    end = Event()
    made, noted = trainer(lambda begun, noted: end.wait(), received=2)
    assert noted == ["the first state"] and not made.foreseen.done()
    end.set()


def test_nor_does_one_that_takes_for_ever(trainer, monkeypatch) -> None:
    monkeypatch.setattr(runs_trainer, "TRACING", 0.1)
    end = Event()
    made, noted = trainer(lambda begun, noted: end.wait())
    assert noted == ["the first state"] and not made.foreseen.done()
    end.set()


ACTIVE = np.array([[True, True], [True, True], [False, False]])  # 3 cycles of 2 seeds


def test_how_a_chunk_went_is_told_of_the_cycles_that_took_place() -> None:
    told = measured(
        PPOConfig(workers=4, rollout_length=8),
        SimpleNamespace(
            active=ACTIVE,
            trained=np.array([[True, True], [False, False], [True, True]]),
            chosen=np.eye(6)[[[1, 2], [2, 3], [5, 5]]],
            skipped=np.array([[0, 1], [2, 1], [9, 9]]),
            student_return=np.array([[0.5, np.nan], [1.0, 0.0], [7.0, 7.0]]),
            buffer_fill=np.array([[[0.5], [0.25]], [[0.75], [0.5]], [[9.0], [9.0]]]),
            exploiter=None,
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


def test_an_evaluation_is_logged_with_its_seeds_their_games_and_an_interval_over_them(
    tmp_path, monkeypatch
) -> None:
    config = micro("dr-fsp", evaluation=EvaluationConfig(times=1, levels=4))
    shares = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], np.float32)
    monkeypatch.setattr(QuickEvaluations, "games", staticmethod(lambda state: {"first": shares}))
    trainer = QuickTrainer(new_folder(tmp_path / "run", config), config)
    trainer.evaluate()
    low, high = interval(shares[:, 0].astype(float), 4)
    line = json.loads(trainer.folder.evaluation.read_text())
    assert (line["seeds"], line["games"], line["won_drawn_lost"]["first"]) == (2, 4, shares.tolist())
    np.testing.assert_allclose(line["won_95"]["first"], [low, high], atol=1e-4)
    told = f"first 0.75/0.12/0.12 (won {low:.2f} to {high:.2f}), 2 seeds"
    assert trainer.reporter.said[-1] == f"update 0: won/drawn/lost against {told}"


def test_the_regret_landscape_is_logged_along_training_if_it_is_wanted(tmp_path) -> None:
    """On levels that are fresh every time, and without a trace in what is trained."""
    config = micro("maestro", evaluation={"landscape": 4})
    logged = []
    for name, settings in (("with", config), ("without", with_changes(config, evaluation={"landscape": 0}))):
        folder = new_folder(tmp_path / name, settings)
        state = QuickTrainer(folder, settings).run()
        lines = folder.evaluation.read_text().splitlines()
        logged.append(([json.loads(line).get("landscape") for line in lines], state))
    (found, state), (nothing, other) = logged
    assert nothing == [None, None] and len(found) == 2
    assert {len(values) for record in found for values in record.values()} == {2}
    assert any(x is not None for x in found[1]["joint"]) and found[0] != found[1]
    for joint, independent in zip(found[1]["joint"], found[1]["independent"], strict=True):
        assert joint is None or independent is None or joint >= independent
    assert equal(state.seeds.learner, other.seeds.learner)
