"""A run that begins with an agent's parameters, or where another run has ended."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

from maestro.envs.base import Discrete
from maestro.runs import agent_file, beginning, checkpoints, sessions
from maestro.runs import folder as run_folder
from maestro.runs.agent_file import AgentError
from maestro.runs.folder import RunError
from maestro.settings import SettingsError
from probes import with_changes
from runs_helpers import RACE, Killed, Listener, QuickTrainer, claim, experiment, micro, new_folder, newest


def other(folder, config):
    """A run as another one begins from it."""
    return beginning.Other(folder, config, experiment(config))


def longer(config, updates, **changes):
    """The same settings for more updates."""
    return with_changes(config, schedule={"total_updates": updates}, **changes)


def begun(path, config, start):
    """The folder of a run with what it begins with."""
    folder = claim(path)
    run_folder.begin(folder, config, lambda: beginning.plant(folder, config, start, Listener()))
    run_folder.begin_session(folder, config, sessions.this_one("cpu"))
    return folder


def of(method, updates):
    """The smallest run of so many updates to which a member joins at every other one."""
    return micro(method, {"total_updates": updates, "interval": 2}, evaluation={"times": 0})


OTHERS = ["dr-fsp", "plr-pfsp", "maestro-p"]


@pytest.mark.parametrize("method", ["maestro", *(pytest.param(m, marks=pytest.mark.long) for m in OTHERS)])
def test_a_run_that_goes_on_ends_as_one_that_was_as_long_from_the_start(tmp_path, method):
    short, whole = of(method, 4), of(method, 8)
    QuickTrainer(new_folder(tmp_path / "whole", whole), whole).run()
    first = new_folder(tmp_path / "first", short)
    QuickTrainer(first, short).run()
    before = newest(first.path)
    start = beginning.of_run(other(first, short), whole, experiment(whole), Listener())
    assert (start.state.seeds.curriculum.population.size == 3).all()  # 0, 2, and 4 that was due at the end
    second = begun(tmp_path / "second", whole, start)
    trainer = QuickTrainer(second, whole)
    assert trainer.reporter.said == ["resuming at update 4"]
    trainer.run()
    assert newest(second.path)[0] == newest(tmp_path / "whole")[0], "all arrays, bit for bit"
    assert newest(first.path) == before, "the first run is as it was"
    lines = [json.loads(line)["updates"] for line in second.metrics.read_text().splitlines()]
    assert lines == [5, 6, 7, 8]
    about = json.loads((second.path / "about.json").read_text())
    manifest = checkpoints.found(first.checkpoints)[-1]
    assert about["from"] == {
        "run": str(first.path),
        "update": 4,
        "checkpoint": manifest.stem,
        "sha256": json.loads(manifest.read_text())["sha256"],
        "changed": ["schedule.total_updates: 4 -> 8"],
    }
    assert about["versions"]["maestro"] and about["device"] == "cpu"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run that was killed right after a member had joined, half way."""
    config = of("maestro", 4)
    folder = new_folder(tmp_path_factory.mktemp("runs") / "run", config)
    with pytest.raises(Killed):
        QuickTrainer(folder, config, killed_after=2).run()
    return other(folder, config)


def test_nobody_joins_twice(made):
    more = longer(made.config, 9)
    start = beginning.of_run(made, more, experiment(more), Listener())
    population = start.state.seeds.curriculum.population
    assert population.games.shape == (2, 6) and (population.size == 2).all()


def test_settings_that_change_no_shape_may_change_and_are_noted(made):
    more = longer(made.config, 9, ppo={"learning_rate": 1e-3}, curriculum={"exploration": 0.2})
    told = beginning.of_run(made, more, experiment(more), Listener()).about["changed"]
    assert told == [
        "ppo.learning_rate: 0.01 -> 0.001",
        "curriculum.exploration: 0.1 -> 0.2",
        "schedule.total_updates: 4 -> 9",
    ]


REFUSED = {
    "no more updates": ({"schedule": {"total_updates": 2}}, "2 is not more than the 2 updates that"),
    "fewer updates": ({"schedule": {"total_updates": 1}}, "schedule.total_updates: 1 is not more than the 2"),
    "another network": ({"agent": {"hidden": 9}}, "agent.hidden: 8 -> 9, which does not fit what was"),
    "other buffers": ({"method": "plr-fsp"}, "method: 'maestro' -> 'plr-fsp', which does not fit"),
    "no buffers": ({"method": "dr-fsp"}, "method: 'maestro' -> 'dr-fsp', which does not fit"),
    "more seeds": ({"seeds": 3}, "seeds: 2 -> 3, which a run that goes on keeps"),
    "other seeds": ({"seed": 1}, "seed: 0 -> 1, which a run that goes on keeps"),
    "another interval": ({"schedule": {"interval": 3}}, "schedule.interval: 2 -> 3, which a run that"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_the_run_is_refused_in_a_sentence(made, name):
    changes, told = REFUSED[name]
    config = with_changes(longer(made.config, 9), **changes)
    with pytest.raises(SettingsError) as error:
        beginning.of_run(made, config, experiment(config), Listener())
    assert len(error.value.problems) == 1 and told in error.value.problems[0]


@pytest.fixture(scope="module")
def student(made):
    """The file of a trained student."""
    state = beginning.newest_state(made.folder, made.config, made.experiment, Listener())[1]
    return agent_file.save_students(made.config, state, made.folder.agents)[1]


@pytest.mark.parametrize("warmup", [0, 1])
def test_a_run_begins_with_an_agent_as_every_student_and_as_the_first_coplayer(
    tmp_path, made, student, warmup
):
    config = with_changes(made.config, schedule={"warmup": warmup})
    start = beginning.of_agent(student, RACE, config, experiment(config))
    _, params = agent_file.load_params(student, RACE)
    state = beginning.newest_state(made.folder, made.config, made.experiment, Listener())[1]
    first = jax.tree.map(lambda x: x[:, 1], start.state.seeds.curriculum.population.params)
    for found in (start.state.seeds.learner.params, first):
        jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, np.stack([y] * 2)), found, params)
    assert (start.state.seeds.curriculum.population.size == (warmup == 0)).all()
    assert int(start.state.updates) == 0
    assert (jax.random.key_data(start.state.seeds.key) == jax.random.key_data(state.seeds.key)).all()
    folder = begun(tmp_path / "taught", config, start)
    trainer = QuickTrainer(folder, config)
    jax.tree.map(np.testing.assert_array_equal, trainer.state.seeds.learner, start.state.seeds.learner)
    about = json.loads((folder.path / "about.json").read_text())
    card = json.loads(student.with_suffix(".json").read_text())
    assert about["from"] == {"agent": str(student), "sha256": card["sha256"]}


def test_an_agent_with_another_network_is_refused_with_what_to_type(made, student):
    config = with_changes(made.config, agent={"hidden": 9, "heads": (8, 8)})
    with pytest.raises(AgentError, match=r"for the same one: --agent.hidden 8 --agent.heads 8$"):
        beginning.of_agent(student, RACE, config, experiment(config))
    seen = replace(made.experiment, agent=replace(made.experiment.agent, action=Discrete(4)))
    with pytest.raises(AgentError, match="for other observations or actions"):
        beginning.of_agent(student, RACE, made.config, seen)


def test_a_run_that_has_lost_what_it_began_with_does_not_begin_with_nothing(tmp_path, made, student):
    start = beginning.of_agent(student, RACE, made.config, made.experiment)
    folder = begun(tmp_path / "run", made.config, start)
    (manifest,) = checkpoints.found(folder.checkpoints)
    manifest.write_bytes(manifest.read_bytes()[:-9])
    with pytest.raises(RunError, match=f"no checkpoint can be used; begin again: .* --from {student}$"):
        QuickTrainer(folder, made.config)
