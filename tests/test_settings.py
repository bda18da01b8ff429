"""Settings: what is wrong is told all at once, before anything is loaded; what is right is kept exactly."""

import ast
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro import config as config_module
from maestro import limits, methods
from maestro import settings as settings_module
from maestro.config import PAPER, PRESETS, RunConfig, ScheduleConfig, leaves, population_size
from maestro.envs.lasertag import maps, players
from maestro.limits import problems_of
from maestro.settings import SettingsError, digest, merge, nested, read, resolve, to_toml
from maestro.toml import from_toml, toml_value

LEVEL = "time limit: 9\nA faces: up\nB faces: down\nA.\n.B\n"


def problems(changes, preset="tiny"):
    """What is wrong with changes to a preset."""
    with pytest.raises(SettingsError) as raised:
        resolve(preset, changes)
    assert str(raised.value) == "\n".join(raised.value.problems)
    return raised.value.problems


def given_options(*pairs):
    """What is wrong with options of the command line."""
    return problems(nested(list(pairs)))


def test_the_presets_are_without_problems():
    assert [problems_of(config) for config in PRESETS.values()] == [[], [], []]


def test_names_repeated_without_jax_are_those_of_the_package():
    assert set(limits.METHODS) == set(methods.METHODS)
    assert set(limits.OPPONENTS) == {"first", *players.NAMES}
    assert limits.LEVELS == maps.NAMES


def test_every_number_has_a_range_every_list_a_length_and_nothing_else_does():
    numbers = {path for path, value in leaves(PAPER) if type(value) in (int, float)} | {"agent.heads"}
    assert set(limits.RANGES) == numbers
    assert set(limits.LENGTHS) == {path for path, value in leaves(PAPER) if isinstance(value, tuple)}


def test_every_setting_has_a_sentence_under_it():
    tree = ast.parse(Path(config_module.__file__).read_text())
    for group in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        body = group.body[1:]
        for field, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and not ast.unparse(field.annotation).endswith("Config"):
                assert isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant), field.target.id
                assert after.value.value.strip().endswith("."), after.value.value


@given(st.integers(0, 50), st.integers(1, 50), st.integers(1, 12))
def test_the_population_grows_at_every_interval_but_not_at_the_end(warmup, total, interval):
    schedule = ScheduleConfig(total_updates=total, warmup=warmup, interval=interval)
    assert population_size(schedule) == len(range(warmup, total, interval))


WRONG = {
    "an unknown name": ({"ppo": {"lerning_rate": 1}}, "ppo.lerning_rate: unknown setting; did you mean"),
    "an unknown group": ({"pop": {"clip": 1}}, "pop: unknown setting; did you mean ppo?"),
    "a name like none": ({"zzzzzz": 1}, "zzzzzz: unknown setting; allowed: method, seeds, seed, game"),
    "true for a number": ({"ppo": {"clip": True}}, "ppo.clip: True is not a number"),
    "true for a whole number": ({"seeds": True}, "seeds: True is not a whole number"),
    "a text for a number": ({"ppo": {"clip": "0.2"}}, "ppo.clip: '0.2' is not a number"),
    "a text for a whole number": ({"seeds": "3"}, "seeds: '3' is not a whole number"),
    "a fraction for a whole number": ({"seeds": 1.0}, "seeds: 1.0 is not a whole number"),
    "a number for a text": ({"method": 3}, "method: 3 is not a text"),
    "a number for a truth": ({"ppo": {"clip_value": 1}}, "ppo.clip_value: 1 is not true or false"),
    "a text for a truth": ({"ppo": {"clip_value": "true"}}, "ppo.clip_value: 'true' is not true or false"),
    "a number for a group": ({"ppo": 3}, "ppo: 3 is no group of settings"),
    "a group for a number": ({"seeds": {"a": 1}}, "seeds: {'a': 1} is not a whole number"),
    "a number for a list": ({"agent": {"heads": 3}}, "agent.heads: 3 is not a list"),
    "a text for a list": ({"agent": {"heads": "32"}}, "agent.heads: '32' is not a list"),
    "a text in a list": ({"agent": {"heads": [3, "4"]}}, "agent.heads: '4' is not a whole number"),
    "a number among names": ({"evaluation": {"opponents": [1]}}, "evaluation.opponents: 1 is not a text"),
    "a list too long": ({"agent": {"heads": [1] * 17}}, "agent.heads: 17 entries; allowed: at most 16"),
    "nan": ({"ppo": {"clip": float("nan")}}, "ppo.clip: nan is out of range; allowed: 0 to 10"),
    "infinity": ({"ppo": {"value_coef": float("inf")}}, "ppo.value_coef: inf is out of range"),
    "too small": ({"seeds": 0}, "seeds: 0 is out of range; allowed: 1 to 10,000"),
    "too large": ({"game": {"max_size": 16}}, "game.max_size: 16 is out of range; allowed: 2 to 15"),
    "too large in a list": ({"agent": {"heads": [32, 0]}}, "agent.heads: 0 is out of range"),
    "a vast number": ({"seeds": 16**9999}, "seeds: a vast number is out of range"),
    "a vast number for a fraction": ({"ppo": {"clip": 10**400}}, "ppo.clip: 1000000000"),
    "an unknown choice": ({"schedule": {"kind": "dice"}}, "schedule.kind: 'dice' is not allowed; allowed"),
    "a list for a choice": ({"schedule": {"kind": []}}, "schedule.kind: [] is not allowed"),
    "an unknown method": ({"method": "mastro"}, "method: 'mastro' is unknown; did you mean maestro?"),
    "an unknown opponent": ({"evaluation": {"opponents": ["huntr"]}}, "'huntr' is unknown; did you mean"),
    "an unknown level": ({"game": {"level": "crosss"}}, "nor is it the name of a level: did you mean Cross?"),
    "an unknown preset": ({"preset": "big"}, "preset: 'big' is not allowed; allowed: paper, fast, tiny"),
    "half a character": ({"game": {"level": "\udc80"}}, "game.level: '\\udc80' is not a text"),
    "sizes upside down": ({"game": {"min_size": 9, "max_size": 8}}, "game.min_size: 9 is above"),
    "a remainder": ({"ppo": {"workers": 63, "minibatches": 4}}, "4 does not divide the 63"),
    "negative scores": ({"curriculum": {"prioritisation": "proportional"}}, "set curriculum.score to"),
    "both seats against others": ({"schedule": {"sp_train_both": True}}, "sp_train_both: needs self-play"),
    "nobody to draw": ({"method": "dr-sp", "curriculum": {"coplayer_per": "worker"}}, "no sense in"),
    "never a member": ({"schedule": {"warmup": 9, "total_updates": 9}}, "9 leaves no update"),
    "too many members": ({"schedule": {"total_updates": 10**7, "interval": 1}}, "would add 10000000 co"),
    "never an update": ({"schedule": {"kind": "coin"}, "curriculum": {"replay_rate": 0}}, "0 never trains"),
    "an odd number": ({"evaluation": {"levels": 7}}, "evaluation.levels: 7 is odd"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_told_with_its_path_and_what_is_allowed(name):
    changes, message = WRONG[name]
    found = problems(changes)
    assert len(found) == 1 and message in found[0], found


def test_everything_wrong_is_told_at_once():
    changes = {
        "preset": "big",
        "method": "mastro",
        "seeds": True,
        "pop": {},
        "agent": 3,
        "game": {"min_size": 9, "max_size": 8, "level": "crosss"},
        "ppo": {"clip": "0.2", "gamma": float("nan"), "workers": 63, "minibatches": 4, "lerning_rate": 1},
        "schedule": {"kind": "dice", "warmup": 10, "total_updates": 5},
        "evaluation": {"levels": 7, "opponents": ["huntr"]},
    }
    paths = [line.split(":")[0] for line in problems(changes)]
    unknown = [
        "preset",
        "seeds",
        "pop",
        "agent",
        "ppo.clip",
        "ppo.lerning_rate",
        "schedule.kind",
        "game.level",
    ]
    ranges = ["ppo.gamma", "method", "evaluation.opponents"]
    pairs = ["game.min_size", "ppo.minibatches", "schedule.warmup", "evaluation.levels"]
    assert paths == unknown + ranges + pairs


def test_words_of_the_command_line_become_what_the_setting_is():
    options = [("ppo.learning-rate", "3e-4"), ("seeds", "3"), ("ppo.clip-value", "false")]
    options += [("agent.heads", "8,16"), ("evaluation.opponents", "first"), ("schedule.kind", "coin")]
    config = resolve("tiny", nested(options))
    assert (config.ppo.learning_rate, config.seeds, config.ppo.clip_value) == (3e-4, 3, False)
    assert (config.agent.heads, config.evaluation.opponents) == ((8, 16), ("first",))
    assert [type(value) for _, value in leaves(config)] == [type(value) for _, value in leaves(PAPER)]


def test_wrong_words_of_the_command_line_are_told():
    assert given_options(("ppo.clip", "much")) == ["ppo.clip: 'much' is not a number"]
    assert given_options(("seeds", "1e3")) == ["seeds: '1e3' is not a whole number"]
    assert given_options(("ppo.clip-value", "1")) == ["ppo.clip_value: '1' is not true or false"]
    assert given_options(("ppo", "3"), ("ppo.clip", "1")) == ["ppo: '3' is no group of settings"]
    assert given_options(("agent.heads", "8,x"))[0] == "agent.heads: 'x' is not a whole number"
    assert given_options(("ppo.a.b", "8"))[0].startswith("ppo.'a.b': unknown setting")


def test_options_win_over_a_file_and_a_file_over_a_preset(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('preset = "tiny"\nseeds = 2\n[ppo]\nclip = 0.1\nepochs = 3\n')
    config = resolve("paper", merge(read(path), nested([("ppo.clip", "0.3"), ("seed", "7")])))
    assert (config.agent, config.seeds, config.ppo.epochs) == (PRESETS["tiny"].agent, 2, 3)
    assert (config.ppo.clip, config.seed) == (0.3, 7)


BAD_FILES = {
    "no TOML": (b"seeds = = 3", "not TOML"),
    "not UTF-8": (b'method = "\xff"', "utf-8"),
    "too large": (b"#" * 32_001, "larger than 32,000 bytes"),
    "too many digits": (b"seeds = " + b"9" * 5000, "not TOML"),
    "nested too deeply": (b"seeds = " + b"[" * 20_000, "not TOML"),
    "a key of many parts": (b".".join([b"a"] * 10_000) + b" = 1", "more than 20 dots"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_holds_no_settings_is_refused(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=message) as raised:
        read(path)
    assert raised.value.problems[0].startswith(str(path))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(SettingsError, match="No such file"):
        read(tmp_path / "none.toml")


def value_of(kind, path):
    """Values that a setting may have, its range and type alone considered."""
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if kind is str:
        return st.sampled_from(limits.METHODS if path == "method" else ("", "Cross", "empty", LEVEL))
    if kind is bool:
        return st.booleans()
    if path == "evaluation.opponents":
        return st.lists(st.sampled_from(limits.OPPONENTS), unique=True).map(tuple)
    low, high = limits.RANGES[path]
    if path == "agent.heads":
        return st.lists(st.integers(int(low), int(high)), max_size=16).map(tuple)
    return st.integers(int(low), int(high)) if kind is int else st.floats(low, high)


def values(kind=RunConfig, path=""):
    """Nested dictionaries of values, each within the range of its setting."""
    hints = get_type_hints(kind)
    return st.fixed_dictionaries(
        {
            name: values(hint, f"{path}{name}.") if is_dataclass(hint) else value_of(hint, path + name)
            for name, hint in hints.items()
        }
    )


def consistent(config):
    """The same configuration, its pairs made to go together."""
    ppo, schedule, teacher = config.ppo, config.schedule, config.curriculum
    low, high = sorted((config.game.min_size, config.game.max_size))
    self_play = config.method.endswith("-sp")
    return replace(
        config,
        game=replace(config.game, min_size=low, max_size=high),
        ppo=replace(ppo, workers=ppo.minibatches * max(1, ppo.workers // ppo.minibatches)),
        schedule=replace(
            schedule,
            warmup=min(schedule.warmup, schedule.total_updates - 1),
            interval=max(schedule.interval, schedule.total_updates // 9_999 + 1),
            sp_train_both=schedule.sp_train_both and self_play,
        ),
        curriculum=replace(
            teacher,
            prioritisation="rank" if teacher.score == "max_mc" else teacher.prioritisation,
            coplayer_per="rollout" if self_play else teacher.coplayer_per,
            replay_rate=max(teacher.replay_rate, 1e-9),
        ),
        evaluation=replace(config.evaluation, levels=config.evaluation.levels // 2 * 2),
    )


@settings(max_examples=200)
@given(values(), st.sampled_from(list(PRESETS)))
def test_a_configuration_is_read_back_exactly_as_it_was_written(changes, preset):
    config = consistent(settings_module.apply(PAPER, changes, []))
    back = resolve(preset, from_toml(to_toml(config), "here"))
    assert back == config and digest(back) == digest(config)
    assert to_toml(back) == to_toml(config)


@given(st.text())
def test_any_text_can_be_written_as_toml(text):
    assert tomllib.loads(f"level = {toml_value(text)}") == {"level": text}


def test_a_difference_is_told_field_by_field():
    other = replace(PAPER, seeds=3, ppo=replace(PAPER.ppo, clip=0.3))
    assert settings_module.difference(PAPER, other) == ["seeds: 10 -> 3", "ppo.clip: 0.2 -> 0.3"]
    assert settings_module.difference(PAPER, PAPER) == []


def test_a_file_of_a_level_becomes_part_of_the_settings(tmp_path):
    (tmp_path / "my level").write_bytes(LEVEL.replace("\n", "\r\n").encode())
    config = resolve("tiny", {"game": {"level": str(tmp_path / "my level")}})
    assert config.game.level == LEVEL
    assert "A.\n.B\n" in to_toml(config)
    assert resolve("tiny", from_toml(to_toml(config), "here")) == config


@pytest.mark.parametrize("content", [b"", b"A.B", b"\xff\n", b".\n" * 3000, b"." * 99 + b"\n"])
def test_a_file_that_holds_no_level_is_refused(tmp_path, content):
    (tmp_path / "bad.txt").write_bytes(content)
    assert "game.level: " in problems({"game": {"level": str(tmp_path / "bad.txt")}})[0]
    assert "is no file" in problems({"game": {"level": str(tmp_path)}})[0]


def test_checking_settings_loads_neither_jax_nor_numpy():
    code = (
        "import sys\nfrom maestro.settings import resolve, SettingsError\n"
        "try:\n    resolve('tiny', {'seeds': 0})\nexcept SettingsError as error:\n    print(error)\n"
        "print({'jax', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["seeds: 0 is out of range; allowed: 1 to 10,000", "set()"]
