"""Tables of the command line: at any width nothing is cut, and all of it can be had as JSON."""

import json

import pytest
from rich.cells import cell_len

from maestro import cli
from maestro.cli.table import lines
from maestro.envs.lasertag import maps

ROWS = [
    {"name": "one", "size": "11", "about": "first of all"},
    {"name": "twenty-one-and-more", "size": "2", "about": ""},
    {"name": "跑", "size": "30000", "about": "wide"},
]


def test_columns_line_up_and_are_left_out_one_by_one_until_the_table_fits():
    whole = [
        "name                 size   about",
        "one                  11     first of all",
        "twenty-one-and-more  2",
        "跑                   30000  wide",
    ]
    for width in (None, 200, 40):
        assert lines(ROWS, width, ("size", "about")) == whole
    narrow = lines(ROWS, 39, ("size", "about"))
    assert narrow[:2] == ["name                 about", "one                  first of all"]
    assert narrow[4:] == ["left out: size; --json has all"]
    assert lines(ROWS, 20, ("size", "about"))[:3] == ["name", "one", "twenty-one-and-more"]


def test_rows_that_never_fit_are_stacked_under_their_names():
    assert lines(ROWS, 26) == [
        *("one", "  size 11;", "  about first of all"),
        *("twenty-one-and-more", "  size 2"),
        *("跑", "  size 30000; about wide"),
    ]


def call(capsys, *arguments):
    """What one command prints."""
    assert cli.run(list(arguments)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [200, 80, 40])
def test_the_levels_are_listed_at_any_width(capsys, monkeypatch, width):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    out = call(capsys, "levels", "list")
    assert all(cell_len(line) <= width for line in out.splitlines()) and "…" not in out
    assert set(maps.NAMES) <= set(out.split()) and "wall share" in out


def test_the_levels_are_told_as_json(capsys):
    told = json.loads(call(capsys, "levels", "list", "--json"))
    assert [level["level"] for level in told] == list(maps.NAMES)
    cross = told[list(maps.NAMES).index("Cross")]
    assert cross["time_limit"] == 350 and cross["used_for"] == ["test"] and cross["grid_size"] == 11
    assert call(capsys, "levels", "list", "--json", "--game", "probes:RACE") == "[]\n"


def test_json_of_a_duel_needs_games_to_count(capsys):
    assert cli.run(["duel", "Cross", "--json"]) == 2
    assert "--json: tells the counts of many games, and --games is 1" in capsys.readouterr().err
