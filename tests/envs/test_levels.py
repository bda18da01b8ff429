"""Levels of any game: by name, in files, and in JSON where a game has no format of its own."""

import json
import reprlib
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.struct import PyTreeNode
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs.levels import MAX_TIME_LIMIT, LevelError, as_json
from maestro.games import Game
from maestro.games.lasertag import GAME
from probes import Race, SmallAgent


class Track(PyTreeNode):
    points: Any  # float [3, 2]
    tiles: Any  # uint8 [4]
    closed: Any  # bool


class Level(PyTreeNode):
    track: Track
    laps: Any  # int
    time_limit: Any


class Named(PyTreeNode):
    name: Any
    time_limit: Any


def sample_level(key):
    tiles = jax.random.randint(key, (4,), 0, 256).astype(jnp.uint8)
    track = Track(jax.random.normal(key, (3, 2)), tiles, jax.random.bernoulli(key))
    return Level(track, jnp.int32(3), jnp.int32(250))


def levels_of(generate):
    """The format of a game whose generator this is."""
    return as_json(type("Generator", (Race,), {"sample_level": lambda self, key: generate(key)})())


LEVELS = levels_of(sample_level)
LEVEL = sample_level(jax.random.key(0))
FIELDS = json.loads(LEVELS.to_text(LEVEL, "mine"))


def text_with(**changes):
    """A level in JSON with some fields changed; dots in their names are written as two underscores."""
    return json.dumps({**FIELDS, **{name.replace("__", "."): value for name, value in changes.items()}})


def problem(text):
    """Why a text is no level."""
    with pytest.raises(LevelError) as raised:
        LEVELS.parse(text)
    return str(raised.value)


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert jax.tree.map(lambda x: x.dtype, one) == jax.tree.map(lambda x: x.dtype, other)


@pytest.mark.parametrize("seed", range(5))
def test_a_level_in_json_is_read_back_exactly(seed):
    level = sample_level(jax.random.key(seed))
    text = LEVELS.to_text(level, "mine")
    assert text.endswith("\n") and text.count("\n") == 1
    assert_same(LEVELS.parse(text), level)


def test_the_arrays_of_a_level_stand_under_their_names():
    assert list(FIELDS) == ["name", "track.points", "track.tiles", "track.closed", "laps", "time_limit"]
    assert np.shape(FIELDS["track.points"]) == (3, 2) and FIELDS["laps"] == 3


@pytest.mark.parametrize("name", ["", "mine", "Ring 7", "é\n\"'{}"])
def test_a_name_is_kept_in_the_text_and_changes_nothing(name):
    text = LEVELS.to_text(LEVEL, name)
    assert json.loads(text)["name"] == name
    assert_same(LEVELS.parse(text), LEVEL)
    assert_same(LEVELS.parse(json.dumps({k: v for k, v in FIELDS.items() if k != "name"})), LEVEL)


def test_a_level_may_have_a_field_called_name():
    levels = levels_of(lambda key: Named(jnp.int32(3), jnp.int32(9)))
    level = Named(jnp.int32(7), jnp.int32(8))
    assert_same(levels.parse(levels.to_text(level, "mine")), level)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, '{"laps": 3'])
def test_what_is_not_json_is_refused(text):
    assert problem(text).startswith("not JSON: ")


@pytest.mark.parametrize("text", ["3", "[]", "null", '"laps"', "{}", '{"laps": 3}', text_with(speed=3)])
def test_other_fields_than_the_levels_are_refused(text):
    known = "track.points, track.tiles, track.closed, laps, time_limit"
    assert problem(text) == f"needs the fields {known}, and nothing else but a name"


WRONG = {
    "too few numbers": ({"track__tiles": [1, 2, 3]}, "track.tiles: {value} is not uint8[4]"),
    "too many numbers": ({"track__tiles": [1, 2, 3, 4, 5]}, "track.tiles: {value} is not uint8[4]"),
    "a list for a number": ({"laps": [3]}, "laps: {value} is not int32[]"),
    "a number for a list": ({"track__tiles": 3}, "track.tiles: {value} is not uint8[4]"),
    "ragged lists": ({"track__points": [[1, 2], [3], [4, 5]]}, "track.points: {value} is not float32[3, 2]"),
    "a list turned round": (
        {"track__points": [[1, 2, 3], [4, 5, 6]]},
        "track.points: {value} is not float32[3, 2]",
    ),
    "a fraction for an integer": ({"laps": 2.5}, "laps: {value} is not int32[]"),
    "one fraction among integers": ({"track__tiles": [1, 2, 3.5, 4]}, "track.tiles: {value} is not uint8[4]"),
    "an integer too large": ({"laps": 2**31}, "laps: {value} is not int32[]"),
    "an integer far too large": ({"laps": 10**40}, "laps: {value} is not int32[]"),
    "an integer below its type": ({"track__tiles": [1, 2, -3, 4]}, "track.tiles: {value} is not uint8[4]"),
    "an integer above its type": ({"track__tiles": [1, 2, 256, 4]}, "track.tiles: {value} is not uint8[4]"),
    "infinity for an integer": ({"laps": float("inf")}, "laps: {value} is not int32[]"),
    "no number for an integer": ({"laps": float("nan")}, "laps: {value} is not int32[]"),
    "true for an integer": ({"laps": True}, "laps: {value} is not int32[]"),
    "an integer for true": ({"track__closed": 1}, "track.closed: {value} is not bool[]"),
    "a text for an integer": ({"laps": "3"}, "laps: {value} is not int32[]"),
    "nothing for an integer": ({"laps": None}, "laps: {value} is not int32[]"),
    "a group for an integer": ({"laps": {"laps": 3}}, "laps: {value} is not int32[]"),
    "a text among numbers": ({"track__tiles": [1, 2, "3", 4]}, "track.tiles: {value} is not uint8[4]"),
    "no number": ({"track__points": [[0, 0], [0, float("nan")], [0, 0]]}, "track.points: holds numbers that"),
    "infinity": ({"track__points": [[0, 0], [0, float("inf")], [0, 0]]}, "track.points: holds numbers that"),
    "a number beyond its type": ({"track__points": [[0, 0], [0, 1e300], [0, 0]]}, "that are not finite"),
    "no time": ({"time_limit": 0}, f"time_limit: 0 is not between 1 and {MAX_TIME_LIMIT}"),
    "negative time": ({"time_limit": -5}, f"time_limit: -5 is not between 1 and {MAX_TIME_LIMIT}"),
    "endless time": ({"time_limit": 2**31 - 1}, f"is not between 1 and {MAX_TIME_LIMIT}"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_array_is_told_with_its_name_and_what_stands_there(name):
    changes, message = WRONG[name]
    (value,) = changes.values()
    assert message.replace("{value}", reprlib.repr(value)) in problem(text_with(**changes))


def test_whole_numbers_may_be_written_with_a_point_and_fractions_without():
    level = LEVELS.parse(text_with(laps=2.0, track__points=[[1, 2], [3, 4], [5, 6]]))
    assert level.laps == 2 and level.laps.dtype == jnp.int32
    assert level.track.points.dtype == jnp.float32 and level.track.points[2, 1] == 6


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=2), inner)),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([name for name in FIELDS if name != "name"]), anything)
def test_whatever_stands_in_a_field_is_taken_exactly_or_refused_with_its_name(field, value):
    try:
        level = LEVELS.parse(json.dumps({**FIELDS, field: value}))
    except LevelError as error:
        assert str(error).startswith(f"{field}: ")
    else:
        assert jax.tree.map(jnp.shape, level) == jax.tree.map(jnp.shape, LEVEL)
        assert_same(LEVELS.parse(LEVELS.to_text(level, "")), level)


def test_files_are_found_by_their_path_and_called_by_their_stem(tmp_path):
    path = tmp_path / "my level.json"
    path.write_bytes(b"\xef\xbb\xbf" + LEVELS.to_text(LEVEL, "mine").replace("\n", "\r\n").encode())
    name, level = LEVELS.find(str(path))
    assert name == "my level"
    assert_same(level, LEVEL)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "binary: not UTF-8 text"),
        (b"{}", "needs the fields"),
        (b" " * 1_000_001, "longer than 1,000,000 bytes"),
    ],
)
def test_a_file_that_holds_no_level_is_named_in_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(LevelError) as raised:
        LEVELS.find(str(path))
    assert str(raised.value).startswith(f"{path}: ") and message in str(raised.value)


@pytest.mark.parametrize("value", ["", "none.json", "Ring"])
def test_a_game_without_named_levels_says_so(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        LevelError, match="no level of this game has a name; nor is there a file of that name"
    ):
        LEVELS.find(value)


def test_levels_in_json_can_have_names_in_any_case():
    named = replace(LEVELS, named=(("Ring", LEVELS.to_text(LEVEL, "Ring")), ("Oval", text_with(laps=9))))
    assert named.names == ("Ring", "Oval") and named.spelled("OVAL") == "Oval"
    assert named.find("ring")[0] == "Ring" and named.load("oval").laps == 9
    with pytest.raises(LevelError, match=r"unknown level 'Ovall' \(nearest: 'Oval'; allowed: Ring, Oval\)"):
        named.load("Ovall")


def test_a_game_gets_the_format_in_json_unless_it_has_its_own():
    game = Game("race", Race, SmallAgent)
    level = Race().sample_level(jax.random.key(3))
    assert game.levels.ending == ".json"
    assert_same(game.levels.parse(game.levels.to_text(level, "")), level)
    assert GAME.levels.ending == ".txt"
