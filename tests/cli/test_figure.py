"""`maestro figure`: files where they are asked for, all figures by name, and mistakes in one message."""

import json

import pytest

from figure_studies import WHERE, random_games, write_crossplay, write_run
from maestro import cli
from maestro.analysis import figures
from maestro.analysis.figures import style

TWO = {"maestro": 2, "dr-sp": 2}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cross-play and a run, right below the folder that one is in."""
    monkeypatch.setattr(style, "DOTS", 40)
    monkeypatch.chdir(tmp_path)
    write_crossplay(tmp_path / "play", random_games(TWO), TWO)
    write_run(tmp_path / "run", "maestro")
    return tmp_path


def test_a_figure_goes_into_this_folder_and_its_files_are_named(folder, capsys):
    assert cli.run(["figure", "matrix", "play"]) == 0
    assert capsys.readouterr().out.split() == ["matrix.pdf", "matrix.png", "matrix.csv"]
    assert cli.run(["figure", "matrix", "play", "--error", "95", "--out", "wide"]) == 0
    for ending, same in ((".csv", True), (".png", False)):  # the same data with other errors
        contents = [(folder / f"{name}{ending}").read_bytes() for name in ("matrix", "wide")]
        assert (contents[0] == contents[1]) is same


def test_options_choose_what_is_shown_and_where_it_goes(folder, capsys):
    options = ["--levels", "one", "two", "--quantity", "won", "--methods", "dr-sp", "maestro"]
    assert cli.run(["figure", "levels", "play", *options, "--out", "mine.svg", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == ["mine.svg", "mine.png", "mine.csv"]
    head, *lines = (folder / "mine.csv").read_text().splitlines()
    assert head.startswith("level,method,quantity,updates,split,mean")
    assert [line.split(",")[:3] for line in lines] == [
        [level, name, "won"] for level in ("one", "two") for name in ("dr-sp", "maestro")
    ]


def test_a_table_is_written_for_pages_and_for_papers(folder, capsys):
    assert cli.run(["figure", "hyperparameters", "run", "--out", "settings"]) == 0
    assert capsys.readouterr().out.split() == ["settings.md", "settings.tex", "settings.csv"]
    assert "| ppo.workers | 8 |" in (folder / "settings.md").read_text()


def test_a_game_of_ones_own_is_drawn_if_it_is_typed(folder):
    assert cli.run(["figure", "gallery", "run", "--game", WHERE]) == 0
    assert (folder / "gallery.png").is_file()


def test_the_list_has_a_sentence_for_each_figure(capsys):
    assert cli.run(["figure", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(figures.KINDS)
    assert all(len(line.split()) > 3 for line in lines)


WRONG = {
    "an unknown figure": (["roundrobin", "play"], "did you mean round-robin?"),
    "no folder": (["levels"], "no folder is named"),
    "an empty folder": (["levels", "run/levels"], "is no run, cross-play, landscape or study"),
    "an unknown method": (["levels", "play", "--methods", "maestro", "nobody"], "no method 'nobody'"),
    "a kind of picture that is unknown": (["levels", "play", "--out", "x.jpg"], "--out: 'x.jpg'"),
    "a folder that does not exist": (["levels", "play", "--out", "no/x"], "does not exist"),
    "an unknown error": (["levels", "play", "--error", "99"], "--error"),
    "an unknown game": (["levels", "play", "--game", "chess"], "--game: 'chess' is unknown"),
}


@pytest.mark.parametrize("arguments, words", WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_message_and_leaves_nothing(folder, capsys, arguments, words):
    before = sorted(folder.rglob("*"))
    assert cli.run(["figure", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and "Traceback" not in captured.err and not captured.out
    assert sorted(folder.rglob("*")) == before
