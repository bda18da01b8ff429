"""Settings: what is wrong is told all at once; what is right is kept exactly."""

import ast
import inspect
import textwrap
import tomllib
from dataclasses import fields, is_dataclass, replace
from typing import Literal, get_args, get_origin

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maestro import agents
from maestro import settings as settings_module
from maestro.cli import train
from maestro.config import (
    PAPER,
    PRESETS,
    SIGNED,
    Length,
    Range,
    ScheduleConfig,
    leaves,
    population_size,
    settings_of,
)
from maestro.curriculum import Source
from maestro.envs.lasertag.game import LaserTag
from maestro.games.lasertag import GAME, OPPONENTS
from maestro.methods import ESTIMATES, METHODS, highest_regret, self_play
from maestro.regret import SCORES
from maestro.runs.build import configure
from maestro.settings import SettingsError, merge, out_of_range
from maestro.toml import from_toml, read, to_toml, toml_value
from runs_helpers import nested

LEVEL = "time limit: 9\nA faces: up\nB faces: down\nA.\n.B\n"
AGENTS = [agents.ready(name) for name in agents.READY]
GROUPS = [type(PAPER), *(type(getattr(PAPER, f.name)) for f in fields(PAPER)), LaserTag, *AGENTS]
GROUPS = [group for group in GROUPS if is_dataclass(group)]


def resolve(preset, changes):
    """A preset of LaserTag with changes."""
    return configure(GAME, GAME.presets[preset], changes)


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
    for preset, config in GAME.presets.items():
        assert resolve(preset, {}) == config
    assert [out_of_range(config) for config in PRESETS.values()] == [[], [], []]


def test_names_that_are_allowed_are_those_of_the_methods_and_of_the_game():
    assert f"allowed: {', '.join(METHODS)}" in problems({"method": "zzzz"})[0]
    assert f"allowed: {', '.join(OPPONENTS)}" in problems({"evaluation": {"opponents": ["zzzz"]}})[0]
    assert f"allowed: {', '.join(GAME.levels.names)}" in problems({"level": "zzzz"})[0]


def kinds(setting, kind):
    """How many marks of a kind stand beside a type."""
    return sum(isinstance(mark, kind) for mark in setting.marks)


@pytest.mark.parametrize("config", [GAME.presets["paper"], LaserTag(), *(a() for a in AGENTS)], ids=str)
def test_every_number_has_a_range_every_list_a_length_and_nothing_else_does(config):
    found = list(leaves(config))
    for path, setting, value in found:
        several = get_origin(setting.kind) is tuple
        kind = get_args(setting.kind)[0] if several else setting.kind
        assert kinds(setting, Range) == (kind in (int, float)), path
        assert kinds(setting, Length) == several, path
        assert all(mark.low < mark.high for mark in setting.marks if isinstance(mark, Range)), path
        assert isinstance(value, tuple) == several
    assert found and out_of_range(config) == []


def fields_and_sentences(group):
    """(name, annotation, what stands below it) of each field of a class, as its source has them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(group))).body[0].body
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            below = after.value if isinstance(after, ast.Expr) else None
            text = below.value if isinstance(below, ast.Constant) else None
            yield field.target.id, ast.unparse(field.annotation), text


@pytest.mark.parametrize("group", GROUPS)
def test_every_setting_has_a_sentence_under_it(group):
    found = list(fields_and_sentences(group))
    assert [name for name, _, _ in found] == [field.name for field in fields(group)]
    for name, annotation, sentence in found:
        if not annotation.endswith("Config") and "Given" not in annotation:
            assert isinstance(sentence, str) and sentence.strip().endswith("."), name


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_settings_has_a_sentence_of_its_own(group):
    assert group.__doc__.strip().endswith(".") and not group.__doc__.startswith(f"{group.__name__}(")


@pytest.mark.parametrize("agent", [a() for a in AGENTS], ids=str)
def test_what_the_game_decides_is_no_setting(agent):
    given = {f.name for f in fields(agent)} - set(settings_of(agent))
    assert "action" in given and len(given) == 2
    found = []
    settings_module.apply(agent, dict.fromkeys(given, 3), found, "agent.")
    assert sorted(line.split(";")[0] for line in found) == sorted(
        f"agent.{name}: unknown setting" for name in given
    )


@given(st.integers(0, 50), st.integers(1, 50), st.integers(1, 12))
def test_the_population_grows_at_every_interval_but_not_at_the_end(warmup, total, interval):
    schedule = ScheduleConfig(total_updates=total, warmup=warmup, interval=interval)
    assert population_size(schedule) == len(range(warmup, total, interval))


WRONG = {
    "an unknown name": ({"ppo": {"lerning_rate": 1}}, "ppo.lerning_rate: unknown setting; did you mean"),
    "an unknown group": ({"pop": {"clip": 1}}, "pop: unknown setting; did you mean ppo?"),
    "a name like none": ({"zzzzzz": 1}, "zzzzzz: unknown setting; allowed: game, method, seeds, seed, level"),
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
    "too large": ({"environment": {"max_size": 16}}, "environment.max_size: 16 is out of range; allowed: 2"),
    "too large in a list": ({"agent": {"heads": [32, 0]}}, "agent.heads: 0 is out of range"),
    "a vast number": ({"seeds": 16**9999}, "seeds: a vast number is out of range"),
    "a vast number for a fraction": ({"ppo": {"clip": 10**400}}, "ppo.clip: 1000000000"),
    "an unknown choice": ({"schedule": {"kind": "dice"}}, "schedule.kind: 'dice' is not allowed; allowed"),
    "a list for a choice": ({"schedule": {"kind": []}}, "schedule.kind: [] is not allowed"),
    "an unknown method": ({"method": "mastro"}, "method: 'mastro' is unknown; did you mean maestro?"),
    "an unknown opponent": ({"evaluation": {"opponents": ["huntr"]}}, "'huntr' is unknown; did you mean"),
    "an unknown level": ({"level": "crosss"}, "level: unknown level 'crosss' (nearest: 'Cross'; allowed: Cr"),
    "another game": ({"game": "chess"}, "game: these settings are of 'chess', not of lasertag"),
    "half a character": ({"level": "\udc80"}, "level: '\\udc80' is not a text"),
    "sizes upside down": ({"environment": {"min_size": 9, "max_size": 8}}, "environment.min_size: 9 is ab"),
    "a remainder": ({"ppo": {"workers": 63, "minibatches": 4}}, "4 does not divide the 63 sequences"),
    "steps of a memory": ({"ppo": {"shuffle": "steps"}}, "steps makes no sense for a network that remembers"),
    "negative scores": ({"curriculum": {"prioritization": "proportional"}}, "set curriculum.score to"),
    "one game": ({"curriculum": {"score": "learnability", "playlist": 1}}, "curriculum.score: learnability"),
    "both seats against others": ({"schedule": {"sp_train_both": True}}, "sp_train_both: needs a method"),
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
        "method": "mastro",
        "seeds": True,
        "pop": {},
        "agent": 3,
        "environment": {"min_size": 9, "max_size": 8},
        "level": "crosss",
        "ppo": {"clip": "0.2", "gamma": float("nan"), "workers": 63, "minibatches": 4, "lerning_rate": 1},
        "schedule": {"kind": "dice", "warmup": 10, "total_updates": 5},
        "evaluation": {"levels": 7, "opponents": ["huntr"]},
    }
    paths = [line.split(":")[0] for line in problems(changes)]
    unknown = ["seeds", "pop", "agent", "ppo.clip", "ppo.lerning_rate", "schedule.kind", "level"]
    ranges = ["ppo.gamma", "method", "evaluation.opponents"]
    pairs = ["environment.min_size", "ppo.minibatches", "schedule.warmup", "evaluation.levels"]
    assert paths == unknown + ranges + pairs


def test_known_problems_are_told_before_those_that_are_found():
    with pytest.raises(SettingsError) as raised:
        configure(GAME, GAME.presets["tiny"], {"seeds": 0}, problems=["--sedes: unknown"])
    assert raised.value.problems == ["--sedes: unknown", "seeds: 0 is out of range; allowed: 1 to 10,000"]


def test_words_of_the_command_line_become_what_the_setting_is():
    options = [("ppo.learning-rate", "3e-4"), ("seeds", "3"), ("ppo.clip-value", "false")]
    options += [("agent.heads", "8,16"), ("evaluation.opponents", "first"), ("schedule.kind", "coin")]
    config = resolve("tiny", nested(options))
    assert (config.ppo.learning_rate, config.seeds, config.ppo.clip_value) == (3e-4, 3, False)
    assert (config.agent.heads, config.evaluation.opponents) == ((8, 16), ("first",))
    paper = GAME.presets["paper"]
    assert [type(value) for *_, value in leaves(config)] == [type(value) for *_, value in leaves(paper)]


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
    options = train.Options(config=str(path))
    config, *_ = train.resolve(GAME, options, nested([("ppo.clip", "0.3"), ("seed", "7")]), [], None)
    assert (config.agent, config.seeds, config.ppo.epochs) == (GAME.presets["tiny"].agent, 2, 3)
    assert (config.ppo.clip, config.seed) == (0.3, 7)
    paper, *_ = train.resolve(GAME, replace(options, preset="paper"), {}, [], None)
    assert (paper.agent, paper.seeds) == (GAME.presets["paper"].agent, 2)
    assert merge({"ppo": {"clip": 0.1}, "seeds": 2}, {"ppo": {"epochs": 3}, "seeds": 4}) == {
        "ppo": {"clip": 0.1, "epochs": 3},
        "seeds": 4,
    }


@pytest.mark.parametrize("content", ['preset = "big"', "preset = 3", "preset = []"])
def test_an_unknown_preset_in_a_file_is_told_with_the_rest(tmp_path, content):
    path = tmp_path / "mine.toml"
    path.write_text(f"{content}\nseeds = 0\n")
    with pytest.raises(SettingsError) as raised:
        train.resolve(GAME, train.Options(config=str(path)), {}, [], None)
    preset, seeds = str(raised.value).splitlines()
    assert "preset: " in preset and "is not allowed; allowed: paper, fast, tiny" in preset
    assert "seeds: 0 is out of range" in seeds


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


def test_a_file_that_an_editor_has_marked_as_utf_8_is_read(tmp_path):
    (tmp_path / "marked.toml").write_bytes("\ufeffseeds = 3\r\n[ppo]\r\nclip = 0.1\r\n".encode())
    assert read(tmp_path / "marked.toml") == {"seeds": 3, "ppo": {"clip": 0.1}}


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(SettingsError, match="No such file"):
        read(tmp_path / "none.toml")


def value_of(setting, path):
    """Values that a setting may have, its range and type alone considered."""
    kind, several = setting.kind, get_origin(setting.kind) is tuple
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if kind is bool:
        return st.booleans()
    names = {"game": ["lasertag"], "method": list(METHODS), "level": ["", "Cross", "Empty", LEVEL]}
    if path in names:
        return st.sampled_from(names[path])
    if path == "evaluation.opponents":
        return st.lists(st.sampled_from(OPPONENTS), unique=True).map(tuple)
    low, high = next((mark.low, mark.high) for mark in setting.marks if isinstance(mark, Range))
    if several:
        return st.lists(st.integers(low, high), max_size=16).map(tuple)
    return st.integers(low, high) if kind is int else st.floats(low, high)


def values(config=GAME.presets["paper"], path=""):
    """Nested dictionaries of values, each within the range of its setting."""
    return st.fixed_dictionaries(
        {
            name: values(getattr(config, name), f"{path}{name}.")
            if is_dataclass(setting.kind)
            else value_of(setting, path + name)
            for name, setting in settings_of(config).items()
        }
    )


def in_order(schedule, alone):
    """The same schedule, its times made to go together."""
    total, warmup = schedule.total_updates, min(schedule.warmup, schedule.total_updates - 1)
    interval = max(schedule.interval, total // 4_999 + 1)
    some = not alone and warmup + interval < total  # else nobody is there to be exploited, or none is due
    return replace(
        schedule,
        warmup=warmup,
        interval=interval,
        sp_train_both=schedule.sp_train_both and alone,
        exploiters=schedule.exploiters if some else "none",
        exploiter_updates=min(schedule.exploiter_updates, 200_000),
    )


def consistent(config):
    """The same configuration, its pairs made to go together."""
    ppo, schedule = config.ppo, config.schedule
    low, high = sorted((config.environment.min_size, config.environment.max_size))
    method = METHODS[config.method]
    teacher = replace(config.curriculum, score=method.score or config.curriculum.score)
    alone = method.coplayer is self_play
    compares = method.coplayer is highest_regret
    level = "" if method.edits else config.level
    apart = not alone and method.levels is not Source.NEW and not level
    return replace(
        config,
        environment=replace(config.environment, min_size=low, max_size=high),
        ppo=replace(
            ppo, workers=ppo.minibatches * max(1, ppo.workers // ppo.minibatches), shuffle="sequences"
        ),
        schedule=in_order(schedule, alone),
        curriculum=replace(
            teacher,
            prioritization="rank" if teacher.score in SIGNED else teacher.prioritization,
            playlist=max(teacher.playlist, 2) if teacher.score == "learnability" else teacher.playlist,
            coplayer_per="rollout" if alone else teacher.coplayer_per,
            replay_rate=max(teacher.replay_rate, 1e-9),
            estimate=teacher.estimate if compares else "max",
            optimism=teacher.optimism if compares else 0.0,
            try_against=teacher.try_against if apart else "chosen",
            cold=teacher.cold if schedule.kind == "parallel" else "wait",
        ),
        evaluation=replace(config.evaluation, levels=config.evaluation.levels // 2 * 2),
        level=level,
    )


@settings(max_examples=100, deadline=None)
@given(values(), st.sampled_from(list(GAME.presets)))
def test_a_configuration_is_read_back_exactly_as_it_was_written(changes, preset):
    config = consistent(settings_module.apply(GAME.presets["paper"], changes, []))
    back = resolve(preset, from_toml(to_toml(config), "here"))
    assert back == config and settings_module.difference(back, config) == []
    assert to_toml(back) == to_toml(config)
    assert settings_module.as_dict(back) == from_toml(to_toml(config), "here")


@given(st.text())
@example('"\\" and \\U0001f600')
@example("0.5, " * 30)
@example("{}\n" + "." * 30)
def test_any_text_can_be_written_as_toml(text):
    written = f"level = {toml_value(text)}"
    assert tomllib.loads(written) == from_toml(written, "here") == {"level": text}


def test_a_difference_is_told_field_by_field():
    other = replace(PAPER, seeds=3, ppo=replace(PAPER.ppo, clip=0.3))
    assert settings_module.difference(PAPER, other) == ["seeds: 10 -> 3", "ppo.clip: 0.2 -> 0.3"]
    assert settings_module.difference(PAPER, PAPER) == []


def test_a_level_by_name_is_kept_as_it_is_spelled():
    assert resolve("tiny", {"level": "fourROOMS"}).level == "FourRooms"


def test_a_file_of_a_level_becomes_part_of_the_settings(tmp_path):
    (tmp_path / "my level").write_bytes(LEVEL.replace("\n", "\r\n").encode())
    config = resolve("tiny", {"level": str(tmp_path / "my level")})
    assert config.level == LEVEL
    assert "A.\n.B\n" in to_toml(config)
    assert resolve("tiny", from_toml(to_toml(config), "here")) == config


@pytest.mark.parametrize("content", [b"", b"A.B", b"\xff\n", b".\n" * 3000, b"." * 99 + b"\n"])
def test_a_file_that_holds_no_level_is_refused(tmp_path, content):
    (tmp_path / "bad.txt").write_bytes(content)
    found = problems({"level": str(tmp_path / "bad.txt")})
    assert len(found) == 1 and found[0].startswith("level: ") and str(tmp_path / "bad.txt") in found[0]
    assert "is no file" in problems({"level": str(tmp_path)})[0]


def test_the_names_of_scores_and_of_estimates_are_those_that_can_be_computed():
    allowed = {name: get_args(setting.kind) for name, setting in settings_of(PAPER.curriculum).items()}
    assert allowed["score"] == tuple(SCORES) and allowed["estimate"] == tuple(ESTIMATES)
    assert set(SIGNED) == set(SCORES) - {"positive_value_loss", "learnability"}  # which are never negative
