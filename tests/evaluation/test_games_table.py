"""The table of games: what is written is read, what is wrong is named, and everyone sees the same games."""

import numpy as np
import pytest
from hypothesis import given

from games_tables import random_table, recipes, rows_of, same_every_time
from maestro.evaluation import table
from maestro.evaluation.round_robin import cube

GAMES = random_table(0, [2, 2], 2, 1.0)
HEADER = ",".join(table.COLUMNS)
HUGE = str(10**20)
KEY = ", ".join(table.KEY)
LINE = "100,x,0,y,1,Maze,0,5,3,1,1,0.4,-0.4,12.5"


def same(a: table.Table, b: table.Table) -> bool:
    """Whether two tables have the same columns, kinds and values."""
    return list(a) == list(b) and all(
        a[n].dtype.kind == b[n].dtype.kind and np.array_equal(a[n], b[n]) for n in a
    )


@same_every_time
@given(recipes)
def test_a_table_is_read_back_exactly_as_it_was_written(tmp_path_factory, recipe):
    games = random_table(**recipe)
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_text(table.to_csv(games))
    assert same(table.read(path), games)


def test_names_with_commas_quotes_and_other_letters_survive(tmp_path):
    levels = np.char.add(GAMES["level"], ' in "Großes Labyrinth", 2\nunten')
    odd = {**GAMES, "level": levels}
    (tmp_path / "table.csv").write_text(table.to_csv(odd), encoding="utf-8")
    assert same(table.read(tmp_path / "table.csv"), odd)


def test_the_header_is_the_common_columns_and_then_the_games_own():
    assert table.to_csv(GAMES).splitlines()[0] == HEADER + ",a_grass,b_grass"
    backwards = {name: GAMES[name] for name in reversed(GAMES)}
    assert list(table.of(backwards))[: len(table.COLUMNS)] == list(table.COLUMNS)


@same_every_time
@given(recipes)
def test_mirrored_twice_is_every_row_and_its_mirror_twice(recipe):
    games = random_table(**recipe)
    once = table.mirrored(games)
    twice = rows_of(table.mirrored(once))
    assert len(twice) == 4 * len(games["a"])
    assert twice[: len(once["a"])] == rows_of(once)
    assert sorted(map(str, twice[len(once["a"]) :])) == sorted(map(str, rows_of(once)))


def test_b_sees_its_own_wins_returns_extras_and_seat():
    names = (*table.COLUMNS, "a_grass", "b_grass")
    row = (7, "x", 1, "y", 2, "Maze", 0, 6, 3, 2, 1, 0.5, -0.25, 9.0, 4.0, 8.0)
    games = table.of({name: [value] for name, value in zip(names, row, strict=True)})
    _, seen = rows_of(table.mirrored(games))
    assert list(seen.values()) == [7, "y", 2, "x", 1, "Maze", 1, 6, 1, 2, 3, -0.25, 0.5, 9.0, 8.0, 4.0]


def test_rows_are_selected_by_a_value_or_by_several():
    assert set(table.select(GAMES, a="method 0", level="level 1")["level"]) == {"level 1"}
    assert len(table.select(GAMES, seat=[0, 1])["a"]) == len(GAMES["a"])
    assert len(table.select(GAMES, seat=1)["a"]) == len(GAMES["a"]) // 2
    assert len(table.select(GAMES, a="nobody")["a"]) == 0
    with pytest.raises(ValueError, match="no column levels; there are updates, a, "):
        table.select(GAMES, levels="level 1")


def test_tables_go_together_if_their_columns_do():
    parts = [table.select(GAMES, seat=seat) for seat in (0, 1)]
    joined = table.concatenate(parts)
    assert sorted(map(str, rows_of(joined))) == sorted(map(str, rows_of(GAMES)))
    assert list(table.concatenate([])) == list(table.COLUMNS)
    plain = {name: GAMES[name] for name in table.COLUMNS}
    with pytest.raises(ValueError, match="different columns do not go together: a_grass, b_grass"):
        table.concatenate([GAMES, plain])


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="equal length"):
        table.of({**GAMES, "wins": GAMES["wins"][1:]})
    with pytest.raises(ValueError, match="no column wins"):
        table.of({name: column for name, column in GAMES.items() if name != "wins"})


def test_a_table_without_rows_keeps_its_columns_and_kinds(tmp_path):
    (tmp_path / "table.csv").write_text(HEADER + "\n")
    empty = table.read(tmp_path / "table.csv")
    assert list(empty) == list(table.COLUMNS) and len(empty["a"]) == 0
    assert (
        empty["a"].dtype.kind == "U"
        and empty["wins"].dtype == np.int64
        and empty["length"].dtype == np.float64
    )
    assert len(table.mirrored(empty)["a"]) == 0


WRONG = {
    "": "line 1: no table of games: no column updates, a, a_seed",
    HEADER.replace(",wins", "") + "\n": "line 1: no table of games: no column wins",
    HEADER + ",wins\n": "line 1: no table of games: column wins more than once",
    HEADER + ",a_grass\n": "line 1: no table of games: column a_grass: a game's own come in pairs",
    HEADER + ",grass\n": "line 1: no table of games: column grass: a game's own come in pairs",
    f"{HEADER}\n{LINE}\n{LINE[:-5]}\n": "line 3: 13 values for 14 columns",
    f"{HEADER}\n{LINE.replace(',3,1,1', ',3,1,many')}\n": "line 2, column losses: 'many' is not a count",
    f"{HEADER}\n{LINE.replace(',3,1,1', ',7,-1,-1')}\n": "line 2, column draws: '-1' is not a count",
    f"{HEADER}\n{LINE.replace(',3,1,1', ',3,1,2')}\n": "line 2, column episodes: not the sum of wins, draws",
    f"{HEADER}\n{LINE.replace('Maze,0', 'Maze,2')}\n": "line 2, column seat: '2' is not 0 or 1",
    f"{HEADER}\n{LINE.replace('Maze', '')}\n": "line 2, column level: '' is not a name",
    f"{HEADER}\n{LINE.replace('12.5', 'nan')}\n": "line 2, column length: 'nan' is not a finite number",
    f"{HEADER},a_x,b_x\n{LINE},1,one\n": "line 2, column b_x: 'one' is not a number",
    f"{HEADER}\n{LINE}\n{LINE.replace('12.5', '13')}\n": f"line 3: the same {KEY} as in line 2",
    f"{HEADER}\n{LINE.replace('100', HUGE)}\n": f"line 2, column updates: '{HUGE}' is not a count",
}


@pytest.mark.parametrize("text", WRONG, ids=list(WRONG.values()))
def test_what_is_wrong_in_a_file_is_named(text, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError) as error:
        table.read(path)
    assert str(error.value).startswith(f"{path}, {WRONG[text]}")


def test_a_file_that_is_no_text_is_no_table(tmp_path):
    (tmp_path / "table.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"table.csv: no table of games"):
        table.read(tmp_path / "table.csv")


def test_a_game_that_has_measured_nothing_says_so(tmp_path):
    (tmp_path / "table.csv").write_text(f"{HEADER},a_grass,b_grass\n{LINE},nan,2.5\n")
    games = table.read(tmp_path / "table.csv")
    assert np.isnan(games["a_grass"][0]) and np.isnan(cube(games, "grass").values[0, 0, 1, 0, 0])
    assert cube(games, "grass").values[1, 0, 0, 0, 0] == 2.5
