"""`maestro report`: a page where it is asked for, at the end of a run too, and mistakes in one message."""

import json
import re
import shlex

import pytest

import report_runs
from maestro import cli
from maestro.analysis import report as reports
from maestro.cli import report
from report_checks import problems
from runs_helpers import KEPT, WHERE, Listener, call, micro, new_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of LaserTag."""
    return report_runs.write_run(tmp_path_factory.mktemp("runs") / "mine", seeds=1)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data_of(path):
    """The data that a page holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.S)
    return json.loads(found[1])


def test_a_page_goes_into_this_folder_and_is_named_with_what_it_lacks(run, here, capsys):
    assert cli.run(["report", str(run.path), "--no-games"]) == 0
    *missing, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"report\.html  0\.\d MB; open it in a browser", last)
    assert any(line.startswith("not shown: Not drawn: round-robin, ") for line in missing)
    found = data_of(here / "report.html")
    assert problems(found) == [] and found["title"] == "mine" and found["games"] == []
    assert [figure["name"] for figure in found["figures"]] == ["gallery"]
    assert not [line for line in found["left_out"] if str(run.path) in line]


def test_options_choose_the_file_the_title_and_whether_games_are_recorded(run, here):
    assert cli.run(["report", str(run.path), "-o", "mine.html", "--title", "My <own>"]) == 0
    found = data_of(here / "mine.html")
    assert found["title"] == "My <own>" and len(found["games"]) == 2
    assert not (here / "report.html").exists()


def test_help_explains_with_examples(capsys):
    assert cli.run(["report", "--help"]) == 0
    out = capsys.readouterr().out
    assert "For example" in out and "maestro report --live runs/maestro" in out and "-o" in out


WRONG = {
    "no folder": ([], "no folder is named"),
    "a folder that is not there": (["nowhere"], "'nowhere' does not exist"),
    "an empty folder": (["empty"], "is no run, cross-play, landscape or study"),
    "another kind of file": (["RUN", "-o", "page.pdf"], "--out: 'page.pdf' does not end in one of .html"),
    "a folder as the file": (["RUN", "-o", "folder.html"], "--out: 'folder.html' cannot be written"),
    "a file in no folder": (["RUN", "-o", "no/page.html"], "--out: the folder"),
    "an unknown method": (["RUN", "--methods", "nobody"], "no run of 'nobody' in the folders; there are mae"),
    "an unknown game": (["RUN", "--game", "chess"], "--game: 'chess' is unknown"),
    "a port without a server": (["RUN", "--port", "8000"], "--port: only --live has one"),
    "a file of a live page": (["RUN", "--live", "-o", "page.html"], "--out: with --live nothing is written"),
    "a port that is none": (["RUN", "--live", "--port", "99999"], "--port: 99999 is n"),
}


@pytest.mark.parametrize("arguments, words", WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_message_and_leaves_nothing(run, here, capsys, arguments, words):
    for name in ("empty", "folder.html"):
        (here / name).mkdir()
    typed = [str(run.path) if word == "RUN" else word for word in arguments]
    assert cli.run(["report", *typed]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and "Traceback" not in captured.err and not captured.out
    assert sorted(path.name for path in here.iterdir()) == ["empty", "folder.html"]


def test_a_game_of_ones_own_must_be_typed(here, capsys):
    report_runs.write_run(here / "own", seeds=1)
    config = here / "own" / "config.toml"
    config.write_text(config.read_text().replace('game = "lasertag"', 'game = "mine"'))
    assert cli.run(["report", "own"]) == 2
    assert "say where it is: --game module:NAME" in capsys.readouterr().err


def test_a_disk_that_is_full_is_told(run, here, capsys, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maestro.analysis.report.writing.write_file", full)
    assert cli.run(["report", str(run.path), "--no-games"]) == 2
    assert "--out: 'report.html' cannot be written (No space left on device)" in capsys.readouterr().err


def test_a_run_is_no_worse_for_a_page_that_cannot_be_made(run, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("no such thing")

    listener = Listener()
    monkeypatch.setattr(reports, "collect", broken)
    assert report.at_the_end(run.path, listener) is None and listener.said == []  # as nobody wants one
    monkeypatch.delenv("MAESTRO_REPORT")
    assert report.at_the_end(run.path, listener) is None
    assert len(listener.said) == 1 and listener.said[0].startswith("no report: no such thing; maestro report")


def test_the_command_that_tries_a_page_again_can_be_typed(run, here, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("no such thing")

    listener = Listener()
    monkeypatch.setattr(reports, "collect", broken)
    monkeypatch.delenv("MAESTRO_REPORT")
    report.at_the_end(here / "my run", listener)
    words = shlex.split(listener.said[0].partition("; ")[2])
    assert words[:4] == ["maestro", "report", str(here / "my run"), "tries"]


@pytest.mark.long
def test_training_ends_with_a_page_beside_the_run(here, monkeypatch):
    monkeypatch.delenv("MAESTRO_REPORT")
    config = micro(evaluation={**KEPT, "times": 2, "levels": 2})
    code, out, errors = call(*new_run(here / "run", config))
    assert code == 0, errors
    assert "run/report.html  all of it on one page" in out
    found = data_of(here / "run" / "report.html")
    assert problems(found) == [] and found["runs"][0]["status"] == "finished"
    assert found["games"] and found["game"] == "race" and WHERE["race"]
    assert "Nothing" not in found["answer"][0] and "not known" not in found["answer"][2]
