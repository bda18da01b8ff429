"""How much effort XLA makes: what the setting says on a CPU, unless $XLA_FLAGS says otherwise."""

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from maestro import cohort
from maestro.cli.opening import open_run
from maestro.games.lasertag import GAME as LASERTAG
from maestro.games.racing import GAME as RACING
from maestro.runs import build, effort, making, place, programs
from maestro.runs.chunks import VARIABLE
from maestro.runs.effort import QUICK, UNTRIED
from maestro.runs.signals import Signals
from maestro.runs.trainer import Trainer
from maestro.sharding import Layout
from probes import experiment, start, with_changes
from runs_helpers import GAMES, Listener, micro, new_folder

OLD = Path(__file__).parent.parent / "golden" / "run_0.1.0"
LIMITS = np.int32(9), np.int32(1)


@pytest.fixture(autouse=True)
def no_flags(monkeypatch):
    """As a user's process has them; what is compiled here is still under those of the tests."""
    monkeypatch.delenv("XLA_FLAGS")


class Compiled(Exception):
    """What XLA was to be told."""


@pytest.fixture
def caught(monkeypatch):
    """Nothing is compiled: what XLA is told is raised."""

    def compile(self, compiler_options=None):
        raise Compiled(compiler_options)

    monkeypatch.setattr(jax.stages.Lowered, "compile", compile)


def test_less_is_for_cpus_and_for_those_who_ask(monkeypatch):
    assert effort.options("quick") == QUICK and QUICK["xla_backend_optimization_level"] == 1
    assert effort.options("full") == {}
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert effort.options("quick") == {} == effort.options()
    assert effort.options("quick", tried=False) == UNTRIED and UNTRIED["xla_gpu_autotune_level"] == 0
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_autotune_level=4")
    assert "xla_gpu_autotune_level" not in effort.options(tried=False)
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    assert effort.options("quick", tried=False) == {}


@pytest.mark.parametrize(
    ("game", "models_costs", "tried"), [(LASERTAG, True, 1), (LASERTAG, False, 3), (RACING, True, 3)]
)
def test_on_a_gpu_products_are_tried_out_where_most_time_goes(game, models_costs, tried, monkeypatch):
    """In updates, and in games where there are pictures or nothing else is known of costs."""
    made, told = build.experiment(game, micro(game=game)), []
    known = jax.eval_shape(lambda: cohort.init(made, 0, 1))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(effort, "MODELS_COSTS", models_costs)
    monkeypatch.setattr(jax.stages.Lowered, "compile", lambda self, options=None: told.append(options))
    making.compiled(None, made, known)
    assert [told.count(options) for options in ({}, UNTRIED)] == [tried, 9 - tried]


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("value", ["=3", "=true", ""])
def test_what_the_environment_says_comes_first(name, value, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", f"--xla_cpu_multi_thread_eigen=false --{name}{value}")
    assert effort.options("quick") == {other: x for other, x in QUICK.items() if other != name}
    monkeypatch.setenv("XLA_FLAGS", f"--{name}_of_another{value}")
    assert effort.options("quick") == QUICK


@pytest.mark.parametrize(("setting", "told"), [("full", {}), ("quick", QUICK)])
@pytest.mark.parametrize("way", ["traced", "kept", "in pieces", "on a mesh"])
def test_a_chunk_is_compiled_as_the_settings_say(way, setting, told, caught, tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "pieces" if way == "in pieces" else "whole")
    monkeypatch.setattr(programs, "folder", lambda: tmp_path if way == "kept" else None)
    exp = build.experiment(LASERTAG, replace(LASERTAG.presets["tiny"], effort=setting))
    with pytest.raises(Compiled) as found:
        place.compiled(
            Layout(1, 1) if way == "on a mesh" else None, exp, jax.eval_shape(lambda: cohort.init(exp, 0, 1))
        )
    assert found.value.args == (told,)
    assert len(list(tmp_path.iterdir())) == (way == "kept")


@pytest.mark.parametrize(("setting", "told"), [("full", {}), ("quick", QUICK)])
def test_so_is_the_first_state(setting, told, caught, tmp_path, monkeypatch):
    config = micro(effort=setting)
    parts = GAMES[config.game], config, build.experiment(GAMES[config.game], config)
    monkeypatch.setattr(Trainer, "foresee", lambda self: None)  # nothing is compiled beside it
    with pytest.raises(Compiled) as found:
        Trainer(new_folder(tmp_path / "run", config), *parts, Listener(), Signals())
    assert found.value.args == (told,)


def test_both_efforts_learn_the_same_but_for_rounding():
    exp = experiment(with_changes(method="dr-sp"))
    state = start(exp, 0, 1)
    chunks = [place.compiled(None, replace(exp, effort=asked), state) for asked in ("full", "quick")]
    ends = [chunk(state, *LIMITS)[0] for chunk in chunks]
    assert [int(end.updates) for end in ends] == [1, 1]
    before, full, quick = (jax.tree.leaves(known.seeds.learner.params) for known in (state, *ends))
    for one, other in zip(full, quick, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    assert max(np.abs(one - old).max() for one, old in zip(full, before, strict=True)) > 1e-3


def test_who_asks():
    asked = {(g.name, name): run.effort for g in (LASERTAG, RACING) for name, run in g.presets.items()}
    assert {key for key, value in asked.items() if value == "quick"} == {("lasertag", "tiny")}


def test_a_run_of_before_goes_on_as_it_began():
    _, config, _ = open_run(OLD)
    assert config.effort == "full"
