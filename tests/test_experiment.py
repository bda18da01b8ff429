"""Settings -> everything that is fixed during a run, and how much memory it takes."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import experiment, limits, train
from maestro.config import PAPER, TINY, AgentConfig, GameConfig, PPOConfig, ScheduleConfig
from maestro.envs.lasertag import maps, text
from maestro.methods import METHODS
from maestro.settings import SettingsError, nested, resolve

SMALL = replace(
    TINY,
    agent=AgentConfig(filters=2, hidden=4, heads=(4,)),
    ppo=PPOConfig(rollout_length=8, workers=4, minibatches=2),
    curriculum=replace(TINY.curriculum, buffer_size=8, member_buffer_size=4, playlist=2),
    schedule=ScheduleConfig(kind="parallel", total_updates=150, interval=30),
)


def assert_equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_the_papers_network_has_429830_parameters():
    assert experiment.parameter_count(PAPER) == 429_830


@pytest.mark.parametrize("method", limits.METHODS)
def test_every_method_is_built_from_its_row_of_the_table(method):
    built = experiment.build(replace(SMALL, method=method))
    assert built.teacher.method is METHODS[method]
    assert (built.teacher.max_members, built.teacher.num_levels) == (5, None)
    state = jax.eval_shape(partial(train.init, built, 0, 3))
    buffers = state.runs.curriculum.buffers
    slots = {"dr": None, "plr": (3, 1, 8), "maestro": (3, 6, 4)}[method.split("-")[0]]
    assert slots == (None if buffers is None else buffers.score.shape)


def test_levels_have_the_configured_sizes():
    built = experiment.build(replace(SMALL, game=GameConfig(min_size=6, max_size=7)))
    levels = jax.jit(jax.vmap(built.teacher.generate))(jax.random.split(jax.random.key(0), 200))
    assert set(np.unique(levels.height)) == set(np.unique(levels.width)) == {6, 7}


def test_a_specialist_always_gets_its_level_by_name_by_file_or_as_text(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(maps.TEXTS["Ruins"])
    for level in ("Ruins", "rUINS", str(path), maps.TEXTS["Ruins"]):
        teacher = experiment.build(replace(SMALL, game=GameConfig(level=level))).teacher
        assert teacher.num_levels == 1
        assert_equal(teacher.generate(jax.random.key(3)), maps.load("Ruins"))


def test_a_specialist_of_a_file_needs_the_file_only_once(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(maps.TEXTS["Maze1"])
    config = resolve("tiny", nested([("game.level", str(path))]))
    path.unlink()
    assert_equal(experiment.fixed_level(config.game), maps.load("Maze1"))


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("Crosss", "game.level: unknown level 'Crosss' .nearest: 'Cross'"),
        ("none.txt", "game.level: .*No such file"),
        (maps.TEXTS["Cross"].replace("A..", "..."), "game.level: line 5, column 1: there is no A"),
    ],
)
def test_a_level_that_is_none_is_an_error_in_the_settings(level, message):
    with pytest.raises(SettingsError, match=message):
        experiment.build(replace(SMALL, game=GameConfig(level=level)))


def test_generated_levels_are_the_default():
    assert experiment.fixed_level(GameConfig()) is None
    assert text.to_text(experiment.fixed_level(GameConfig(level="Empty"))).count("#") == 0


def test_what_grows_needs_more_memory():
    need = experiment.memory_estimate(SMALL)
    larger = [
        replace(SMALL, seeds=2),
        replace(SMALL, agent=replace(SMALL.agent, hidden=8)),
        replace(SMALL, ppo=replace(SMALL.ppo, workers=8)),
        replace(SMALL, curriculum=replace(SMALL.curriculum, member_buffer_size=64)),
        replace(SMALL, curriculum=replace(SMALL.curriculum, coplayer_per="worker")),
        replace(SMALL, schedule=replace(SMALL.schedule, interval=10)),
    ]
    assert all(experiment.memory_estimate(config) > need for config in larger)
    assert experiment.memory_estimate(larger[0]) == 2 * need


def test_the_memory_of_the_largest_settings_can_be_estimated():
    vast = replace(
        PAPER,
        seeds=10_000,
        agent=AgentConfig(filters=4096, hidden=65_536, heads=(65_536,) * 16),
        ppo=PPOConfig(rollout_length=1_000_000, workers=10_000_000),
    )
    assert experiment.memory_estimate(vast) > 10**18


@pytest.mark.long
@pytest.mark.parametrize(
    "changes", [{}, {"method": "dr-sp"}, {"curriculum": {"coplayer_per": "worker"}}], ids=str
)
def test_the_estimate_of_memory_is_near_the_compilers_own_account(changes):
    config = resolve("tiny", changes)
    built = experiment.build(config)
    state, number = jax.eval_shape(partial(train.init, built, 0, 1)), jax.ShapeDtypeStruct((), jnp.int32)
    compiled = jax.jit(partial(train.train_steps, built, 32)).lower(state, number, number).compile()
    memory = compiled.memory_analysis()
    total = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    assert total / 2 < experiment.memory_estimate(config) < 2 * total


def test_several_seeds_of_the_papers_network_start_on_a_cpu_of_two_cores() -> None:
    code = (
        "import jax; from functools import partial; from maestro import config, experiment, train;"
        "run = experiment.build(config.FAST); print(jax.jit(partial(train.init, run, 0, 3))().updates)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "XLA_FLAGS": ""},
    )
    assert done.returncode == 0 and done.stdout.strip() == "0", done.stderr
