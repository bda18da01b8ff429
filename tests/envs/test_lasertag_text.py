"""LaserTag levels: the drawn ones, and levels as text."""

import json
import tracemalloc
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.envs.lasertag import levels, maps, text
from maestro.envs.levels import LevelError

GOLDEN = Path(__file__).parents[1] / "golden" / "lasertag_levels.json"
RECORDED = {entry["name"]: entry for entry in json.loads(GOLDEN.read_text())}
TABLE = {  # walls, shortest path, time limit
    "Cross": (28, 20, 350),
    "FourRooms": (21, 16, 250),
    "SixteenRooms": (46, 20, 250),
    "Ruins": (36, 20, 250),
    "Ruins2": (36, 22, 250),
    "Star": (76, 24, 350),
    "LargeCorridor": (49, 28, 350),
    "Maze1": (73, 40, 350),
    "Maze2": (72, 56, 350),
    "Arena1": (67, 20, 200),
    "Arena2": (61, 16, 200),
    "Corridor1": (18, 10, 200),
    "Corridor2": (15, 10, 200),
    "Empty": (0, 16, 200),
    "Corridor-Easy": (6, 8, 200),
}
HEADER = "time limit: 350\nA faces: right\nB faces: left\n"

shortest_path = jax.jit(levels.shortest_path)


def assert_equal(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert jax.tree.map(lambda x: x.dtype, one) == jax.tree.map(lambda x: x.dtype, other)


def test_the_test_levels_are_the_recorded_ones_in_the_papers_order():
    assert list(maps.TEST) == list(RECORDED)


@pytest.mark.parametrize("name", maps.TEST)
def test_a_test_level_equals_the_recorded_one(name):
    level, entry = maps.LEVELS.load(name), RECORDED[name]
    starts = [entry["agents"][player] for player in "12"]
    assert (int(level.height), int(level.width)) == (entry["height"], entry["width"])
    assert int(level.time_limit) == entry["max_steps"]
    np.testing.assert_array_equal(level.position, [(y + 1, x + 1) for x, y, _ in starts])
    np.testing.assert_array_equal(level.facing, ["URDL".index(f[0]) for _, _, f in starts])
    inner = np.asarray(levels.wall_grid(level))[1 : entry["height"] + 1, 1 : entry["width"] + 1]
    np.testing.assert_array_equal(inner, [[cell == "#" for cell in row] for row in entry["rows"]])
    ring = np.asarray(levels.wall_grid(level)) & ~np.asarray(levels.inner_cells(level.height, level.width))
    np.testing.assert_array_equal(ring, levels.outer_wall(level.height, level.width))


@pytest.mark.parametrize("name", maps.NAMES)
def test_a_drawn_level_has_the_measures_of_the_table(name):
    level = maps.LEVELS.load(name)
    measures = text.to_text(level).count("#"), int(shortest_path(level)), int(level.time_limit)
    assert measures == TABLE[name]


def test_names_are_found_in_any_case_and_an_unknown_one_names_the_nearest():
    assert_equal(maps.LEVELS.load("fOURrOOMS"), maps.LEVELS.load("FourRooms"))
    with pytest.raises(ValueError, match=r"unknown level 'Corridor3' .nearest: 'Corridor"):
        maps.LEVELS.load("Corridor3")


def test_a_parsed_level_has_the_dtypes_of_a_generated_one():
    generated = levels.sample_level(jax.random.key(0))
    assert jax.tree.map(lambda x: (x.shape, x.dtype), maps.LEVELS.load("Maze1")) == jax.tree.map(
        lambda x: (x.shape, x.dtype), generated
    )


def test_generated_levels_round_trip_through_files(tmp_path):
    batch = jax.vmap(levels.sample_level)(jax.random.split(jax.random.key(1), 50))
    for i in range(50):
        level = jax.tree.map(lambda x, i=i: x[i], batch)
        (tmp_path / "level.txt").write_text(text.to_text(level, f"number {i}"))
        assert_equal(maps.LEVELS.read(tmp_path / "level.txt"), level)


@given(st.data())
def test_text_of_any_rectangle_round_trips_exactly(data):
    height, width = data.draw(st.integers(1, 15)), data.draw(st.integers(2, 15))
    cells = data.draw(st.lists(st.sampled_from("#."), min_size=height * width, max_size=height * width))
    a, b = data.draw(st.lists(st.integers(0, height * width - 1), min_size=2, max_size=2, unique=True))
    cells[a], cells[b] = "A", "B"
    rows = ["".join(cells[y * width : (y + 1) * width]) for y in range(height)]
    facing = st.sampled_from(text.FACINGS)
    header = f"time limit: {data.draw(st.integers(1, 10_000))}\nA faces: {data.draw(facing)}\n"
    drawn = header + f"B faces: {data.draw(facing)}\n" + "\n".join(rows) + "\n"
    assert text.to_text(text.parse(drawn)) == drawn


def test_headers_may_be_spaced_reordered_and_end_in_carriage_returns():
    loose = "B faces:LEFT\r\nName: mine: best\r\n\r\n  a  Faces : Right\r\ntime limit: 0350\r\n\r\n"
    loose += "A.B\r\n\r\n"
    assert_equal(text.parse(loose), text.parse(HEADER + "A.B\n"))


BAD = {
    "an unknown character": (HEADER + "A.B\n.x.\n", 5, 2, "unknown character 'x'"),
    "two A's": (HEADER + "A.B\n..A\n", 5, 3, "second A"),
    "two B's": (HEADER + "AB\n.B\n", 5, 2, "second B"),
    "no A": (HEADER + "..B\n", 4, 1, "no A"),
    "no B": (HEADER + "A..\n", 4, 1, "no B"),
    "a short row": (HEADER + "A.B\n..\n", 5, 3, "ragged"),
    "a long row": (HEADER + "A.B\n....\n", 5, 4, "ragged"),
    "a gap in the map": (HEADER + "A.B\n\n...\n", 5, 1, "ragged"),
    "a row over 15 wide": (HEADER + "A.B" + "." * 13 + "\n", 4, 16, "more than 15 columns"),
    "a map over 15 high": (HEADER + "A.B\n" + "...\n" * 15, 19, 1, "more than 15 rows"),
    "nothing": ("", 1, 1, "empty"),
    "blank lines": ("\n \n", 1, 1, "empty"),
    "no map": (HEADER, 3, 1, "no map"),
    "no header": ("A.B\n", 1, 1, "'time limit:' is missing"),
    "no facing of B": ("time limit: 9\nA faces: up\nA.B\n", 3, 1, "'B faces:' is missing"),
    "an unknown header": ("time limt: 9\n" + HEADER + "A.B\n", 1, 1, "nearest: 'time limit'"),
    "a header twice": ("A faces: up\n" + HEADER + "A.B\n", 3, 1, "twice"),
    "a time limit of zero": (HEADER.replace("350", "0") + "A.B\n", 1, 13, "'0' is not a number from 1"),
    "a time limit in words": (HEADER.replace("350", "ten") + "A.B\n", 1, 13, "'ten'"),
    "a vast time limit": (HEADER.replace("350", "9" * 99) + "A.B\n", 1, 13, "time limit"),
    "an unknown facing": (HEADER.replace("left", "west") + "A.B\n", 3, 10, "'west'"),
    "a NUL": (HEADER + "A.\0B\n", 4, 3, "binary"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_level_is_refused_with_line_and_column(name, tmp_path):
    content, line, column, problem = BAD[name]
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(text.TextError) as raised:
        text.parse(content)
    assert (raised.value.line, raised.value.column) == (line, column)
    assert f"line {line}, column {column}: " in str(raised.value) and problem in str(raised.value)
    with pytest.raises(LevelError) as of_file:
        maps.LEVELS.read(path)
    assert str(of_file.value) == f"{path}: {raised.value}"


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    (tmp_path / "bad.txt").write_bytes(HEADER.encode() + b"A.\xff\n")
    with pytest.raises(LevelError, match="line 4, column 3: binary"):
        maps.LEVELS.read(tmp_path / "bad.txt")


LONG_TEXT = HEADER.encode() + b"A.B\n" + b"\xc3\xa9" * 3000


@pytest.mark.parametrize("start", [b"", LONG_TEXT], ids=["zeros", "words"])
def test_a_gigabyte_is_refused_with_little_memory(tmp_path, start):
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(2**30)  # sparse: takes no room on the disk
    tracemalloc.start()
    try:
        with pytest.raises(LevelError, match=r"binary|longer than 4096 bytes"):
            maps.LEVELS.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_name_must_be_one_line():
    with pytest.raises(ValueError, match="must be one line"):
        text.to_text(maps.LEVELS.load("Cross"), "two\nlines")
