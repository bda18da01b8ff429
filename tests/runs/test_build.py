"""Settings -> everything that is fixed during a run, and how much memory it takes."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.core import trace_state_clean

from maestro import cohort
from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import PPOConfig, ScheduleConfig
from maestro.curriculum import Method, Source
from maestro.envs.lasertag import maps, text
from maestro.envs.lasertag.game import LaserTag
from maestro.games import Game
from maestro.games.lasertag import GAME
from maestro.methods import METHODS, uniform
from maestro.runs import build, cost
from maestro.settings import SettingsError
from maestro.toml import MAX_BYTES, from_toml, to_toml
from probes import RACE, Race, SmallAgent
from runs_helpers import nested

PAPER, TINY = GAME.presets["paper"], GAME.presets["tiny"]
SMALL = replace(
    TINY,
    agent=ConvLSTM(filters=2, hidden=4, heads=(4,)),
    ppo=PPOConfig(rollout_length=8, workers=4, minibatches=2),
    curriculum=replace(TINY.curriculum, buffer_size=8, member_buffer_size=4, playlist=2),
    schedule=ScheduleConfig(kind="parallel", total_updates=150, interval=30),
)


def test_nothing_is_computed_before_a_run_begins(monkeypatch):
    def key(seed):
        asked.append(trace_state_clean())
        return made(seed)

    made, asked = jax.random.key, []
    monkeypatch.setattr(jax.random, "key", key)
    experiment = build.experiment(GAME, PAPER)
    cost.memory(PAPER, experiment)
    cost.seconds(PAPER, experiment)
    assert asked and not any(asked), "keys are only traced"


def built(config):
    """The experiment of a configuration of LaserTag."""
    return build.experiment(GAME, config)


def need(config):
    """The memory that it takes."""
    return cost.memory(config, built(config))


def problems(game, /, **changes):
    """What is wrong with changes to the smallest settings of a game."""
    with pytest.raises(SettingsError) as raised:
        build.configure(game, game.presets["tiny"], changes)
    return raised.value.problems


def assert_equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_the_papers_network_has_429830_parameters():
    assert build.parameter_count(built(PAPER)) == 429_830


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_built_from_its_row_of_the_table(method):
    experiment = built(replace(SMALL, method=method))
    assert experiment.teacher.method is METHODS[method]
    assert (experiment.teacher.max_members, experiment.teacher.num_levels) == (5, None)
    state = jax.eval_shape(partial(cohort.init, experiment, 0, 3))
    buffers = state.seeds.curriculum.buffers
    slots = {"dr": None, "plr": (3, 1, 8), "accel": (3, 1, 8), "maestro": (3, 6, 4)}[method.split("-")[0]]
    assert slots == (None if buffers is None else buffers.score.shape)


def test_levels_have_the_configured_sizes():
    experiment = built(replace(SMALL, environment=LaserTag(min_size=6, max_size=7)))
    levels = jax.jit(jax.vmap(experiment.teacher.generate))(jax.random.split(jax.random.key(0), 200))
    assert set(np.unique(levels.height)) == set(np.unique(levels.width)) == {6, 7}


def test_a_specialist_always_gets_its_level_by_name_by_file_or_as_text(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(maps.TEXTS["Ruins"])
    for level in ("Ruins", "rUINS", str(path), maps.TEXTS["Ruins"]):
        teacher = built(build.configure(GAME, SMALL, {"level": level})).teacher
        assert teacher.num_levels == 1
        assert_equal(teacher.generate(jax.random.key(3)), maps.LEVELS.load("Ruins"))


def test_a_specialist_of_a_file_needs_the_file_only_once(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(maps.TEXTS["Maze1"])
    config = build.configure(GAME, TINY, nested([("level", str(path))]))
    path.unlink()
    assert_equal(build.fixed_level(GAME, config.level), maps.LEVELS.load("Maze1"))


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("Crosss", "level: unknown level 'Crosss' .nearest: 'Cross'"),
        ("none.txt", "level: unknown level 'none.txt' .*; nor is there a file of that name"),
        (maps.TEXTS["Cross"].replace("A..", "..."), "level: line 5, column 1: there is no A"),
    ],
)
def test_a_level_that_is_none_is_an_error_in_the_settings(level, message):
    with pytest.raises(SettingsError, match=message):
        build.configure(GAME, SMALL, {"level": level})


def test_generated_levels_are_the_default():
    assert TINY.level == "" and not build.experiment(GAME, TINY).teacher.fixed
    assert text.to_text(build.fixed_level(GAME, "Empty")).count("#") == 0


def test_what_grows_needs_more_memory():
    small = need(SMALL)
    larger = [
        replace(SMALL, seeds=2),
        replace(SMALL, agent=replace(SMALL.agent, hidden=8)),
        replace(SMALL, ppo=replace(SMALL.ppo, workers=8)),
        replace(SMALL, curriculum=replace(SMALL.curriculum, member_buffer_size=64)),
        replace(SMALL, curriculum=replace(SMALL.curriculum, coplayer_per="worker")),
        replace(SMALL, schedule=replace(SMALL.schedule, interval=10)),
    ]
    assert all(need(config) > small for config in larger)
    assert need(larger[0]) == 2 * small


def test_the_memory_of_the_largest_settings_can_be_estimated():
    vast = replace(
        PAPER,
        seeds=10_000,
        agent=ConvLSTM(filters=4096, hidden=65_536, heads=(65_536,) * 16),
        ppo=PPOConfig(rollout_length=1_000_000, workers=10_000_000),
    )
    assert need(vast) > 10**18


@pytest.mark.long
@pytest.mark.parametrize(
    "changes", [{}, {"method": "dr-sp"}, {"curriculum": {"coplayer_per": "worker"}}], ids=str
)
def test_the_estimate_of_memory_is_near_the_compilers_own_account(changes):
    config = build.configure(GAME, TINY, changes)
    experiment, number = built(config), jax.ShapeDtypeStruct((), jnp.int32)
    state = jax.eval_shape(partial(cohort.init, experiment, 0, 1))
    compiled = jax.jit(partial(cohort.train_steps, experiment, 32)).lower(state, number, number).compile()
    account = compiled.memory_analysis()
    total = account.temp_size_in_bytes + account.argument_size_in_bytes + account.output_size_in_bytes
    assert total / 2 < cost.memory(config, experiment) < 2 * total


def test_several_seeds_of_the_papers_network_start_on_a_cpu_of_two_cores() -> None:
    code = (
        "import jax; from functools import partial; from maestro import cohort;"
        "from maestro.games.lasertag import GAME; from maestro.runs import build;"
        "run = build.experiment(GAME, GAME.presets['fast']);"
        "print(jax.jit(partial(cohort.init, run, 0, 3))().updates)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "XLA_FLAGS": ""},
    )
    assert done.returncode == 0 and done.stdout.strip() == "0", done.stderr


EVEN = Method(uniform, Source.SHARED)


def test_a_method_of_ones_own_is_used_from_python_under_any_name():
    config = build.configure(RACE, RACE.presets["tiny"], {"method": "even"}, EVEN)
    experiment = build.experiment(RACE, config, EVEN)
    assert experiment.teacher.method is EVEN and config.method == "even"
    state = jax.eval_shape(partial(cohort.init, experiment, 0, 1))
    assert state.seeds.curriculum.buffers.score.shape == (1, 1, 16)
    assert "method: 'even' is unknown" in problems(RACE, method="even")[0]


@pytest.mark.parametrize("source", list(Source))
def test_what_goes_with_a_method_is_decided_by_what_it_is_not_by_its_name(source):
    alone, changes = Method(METHODS["dr-sp"].coplayer, source), {"schedule": {"sp_train_both": True}}
    tiny = RACE.presets["tiny"]
    assert build.configure(RACE, tiny, {"method": "mine", **changes}, alone).schedule.sp_train_both
    with pytest.raises(SettingsError, match="needs a method of self-play, which 'x-sp' is not"):
        build.configure(RACE, tiny, {"method": "x-sp", **changes}, Method(uniform, source))
    with pytest.raises(SettingsError, match="worker makes no sense in self-play, 'mine'"):
        build.configure(RACE, tiny, {"method": "mine", "curriculum": {"coplayer_per": "worker"}}, alone)
    never = {"method": "dr-x", "curriculum": {"replay_rate": 0}}
    if source is Source.NEW:
        assert build.configure(RACE, tiny, never, Method(uniform, source))
    else:
        with pytest.raises(SettingsError, match="0 never trains; 'dr-x' learns from replayed levels only"):
            build.configure(RACE, tiny, never, Method(uniform, source))


class ThreePlayers(Race):
    num_agents = 3


class Blurred(Race):
    def observe(self, level, state):
        return super().observe(level, state)[..., 0]


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        (Game("three", ThreePlayers, SmallAgent), "three has 3 players; training needs a game of two"),
        (Game("blurred", Blurred, "conv"), "agent: a convolution needs views [rows, columns, channels]"),
        (Game("blurred", Blurred, SmallAgent), "agent: a convolution needs views [rows, columns, channels]"),
    ],
)
def test_a_game_that_cannot_be_trained_is_refused_in_one_sentence(game, sentence):
    with pytest.raises(SettingsError) as raised:
        build.experiment(game, game.presets["tiny"])
    assert len(raised.value.problems) == 1 and raised.value.problems[0].startswith(sentence)


def test_the_settings_of_another_game_are_refused():
    assert problems(RACE, game="lasertag") == ["game: these settings are of 'lasertag', not of race"]


def test_a_level_in_json_of_one_line_is_kept_as_one_that_can_be_read_again(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"number": 7, "time_limit": 3}')
    config = build.configure(RACE, RACE.presets["tiny"], {"level": str(path)})
    path.unlink()
    again = build.configure(RACE, RACE.presets["tiny"], from_toml(to_toml(config), "here"))
    assert again == config and int(build.fixed_level(RACE, again.level).number) == 7


def test_a_level_too_long_for_a_file_of_settings_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text('{"number": 7, "time_limit": 3}' + " " * MAX_BYTES)
    told = "level: 'mine.json' is too long to be kept among the settings of a run"
    assert problems(RACE, level="mine.json") == [told]


def test_a_game_may_say_that_its_levels_are_few():
    @dataclass(frozen=True)
    class FewLevels(Race):
        num_levels = 3

    config = replace(RACE.presets["tiny"], environment=FewLevels())
    assert build.experiment(RACE, config).teacher.num_levels == 3
    assert build.experiment(RACE, RACE.presets["tiny"]).teacher.num_levels is None


def test_a_specialist_learns_without_replay_so_that_its_rate_may_be_0(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text('{"number": 7, "time_limit": 3}')
    changes = {"curriculum": {"replay_rate": 0.0}, "schedule": {"kind": "coin"}, "method": "maestro"}
    config = build.configure(RACE, RACE.presets["tiny"], changes | {"level": str(path)})
    assert build.experiment(RACE, config).teacher.learns_from_new
    with pytest.raises(SettingsError, match="0 never trains"):
        build.configure(RACE, RACE.presets["tiny"], changes)
