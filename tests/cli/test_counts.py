"""What the command line says of who won, and of how long it will take."""

import json
import threading

import pytest

from ledger import AGENT, Always, students
from maestro import cli
from maestro.cli import duel, launch
from maestro.cli import progress as progress_module
from maestro.cli.progress import Progress, duration, line, roughly
from maestro.config import TINY
from maestro.games import Game
from maestro.runs import folder as run_folder
from maestro.runs import sessions, summary
from probes import RockPaperScissors, experiment, with_changes
from runs_helpers import Listener, claim

GAME = Game("rock-paper-scissors", RockPaperScissors, type(AGENT), {"tiny": TINY})
PAPER, SCISSORS = Always(1, "paper"), Always(2, "scissors")


def test_the_wins_of_many_duels_are_counted_for_whom_they_belong_to() -> None:
    pairs = [PAPER, SCISSORS], [SCISSORS, PAPER], [PAPER, PAPER]
    assert [duel.count(GAME, 0, "random", pair, 4) for pair in pairs] == [
        "4 games: A paper won 0, B scissors won 4, drawn 0",
        "4 games: A scissors won 4, B paper won 0, drawn 0",
        "4 games: A paper won 0, B paper won 0, drawn 4",
    ]
    told = json.loads(duel.count(GAME, 7, "random", [PAPER, SCISSORS], 4, as_json=True))
    assert told == {
        **{"level": "random", "seed": 7, "games": 4, "a": "paper", "b": "scissors"},
        **{"a_won": 0, "b_won": 4, "drawn": 0},
    }


@pytest.mark.parametrize(
    ("players", "told"),
    [([PAPER, SCISSORS], "B scissors won"), ([SCISSORS, PAPER], "A scissors won"), ([PAPER] * 2, "a draw")],
)
def test_a_single_duel_says_who_won_after_how_many_steps(capsys, players, told) -> None:
    duel.play(GAME, 0, "random", players, None, 12.0)()
    assert capsys.readouterr().out.splitlines()[-1] == f"{told} after 1 steps"


def test_the_end_of_a_run_says_how_often_the_students_have_won(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(summary, "LAST_LEVELS", 4)
    config = with_changes(GAME.presets["tiny"], seeds=2, agent=AGENT)
    exp, folder = experiment(env=RockPaperScissors(), agent=AGENT), claim(tmp_path / "run")
    run_folder.begin(folder, config)
    run_folder.begin_session(folder, config, sessions.this_one("cpu"))
    reporter = Listener()
    launch.export_and_compare(launch.Job(GAME, config), folder, exp, students([2, 1], [1, 1]), reporter)
    lines = reporter.said[0].splitlines()
    assert lines[1] == "The trained student against its own first co-player, on 8 unseen games of 2 seeds:"
    assert lines[2] == "  won 4, drawn 4, lost 0 (won 50%: 0% to 100%, 95 % confidence)"  # by the seeds
    assert sorted(path.name for path in folder.agents.glob("*.json")) == ["student-0.json", "student-1.json"]


def test_every_sampled_level_is_another(capsys) -> None:
    assert cli.run(["levels", "sample", "--game", "probes:RACE", "--count", "5", "--seed", "1"]) == 0
    levels = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]
    assert [level["name"] for level in levels] == [f"1-000{i}" for i in range(5)]
    assert len({level["number"] for level in levels}) > 3


STATUS = {
    "updates": 30,
    "total": 120,
    "speed": 0.5,
    "steps_per_second": 1024.0,
    "return": -0.25,
    "skipped": 2,
}


def test_a_line_tells_progress_speed_and_the_time_that_is_left() -> None:
    assert line(STATUS) == (
        "update 30/120 (25%) | 0.50 updates/s, 1,024 steps/s | 3m00s left | return -0.25 | 2 updates skipped"
    )
    assert line({"updates": 0, "total": 9, "return": None, "fill": 0.5}) == "update 0/9 (0%) | fill 50%"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (59.9, "59s"),
        (60.0, "1m00s"),
        (3599.0, "59m59s"),
        (3600.0, "1h00m"),
        (90_061.0, "25h01m"),
        (-3.0, "0s"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds, text) -> None:
    assert duration(seconds) == text


def test_what_lasts_is_told_with_how_long_it_has_lasted(capsys, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr("maestro.cli.progress.time.monotonic", lambda: now)
    progress = Progress()
    assert str(progress.now()) == ""
    progress.show({"total": 9, "updates": 0, "doing": "compiling"})
    now = 174.2
    assert str(progress.now()) == "compiling: 1m14s"
    progress.show({"total": 9, "updates": 3})
    now = 180.0
    assert str(progress.now()) == "update 3/9 (33%)"
    now = 184.3
    assert str(progress.now()) == "update 3/9 (33%) | 10s ago"
    assert capsys.readouterr().out == "update 3/9 (33%)\n"


def test_without_a_terminal_a_line_now_and_then_says_that_something_goes_on(capsys, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr("maestro.cli.progress.time.monotonic", lambda: now)
    progress = Progress()
    progress.beat()
    progress.show({"total": 9, "updates": 0, "doing": "compiling"})
    for now in (110.0, 129.9, 130.0, 140.0, 161.0, 172.0, 180.0, 202.5):
        if now == 172.0:
            progress.show({"total": 9, "updates": 1})
        progress.beat()
    assert capsys.readouterr().out.splitlines() == [
        "compiling: 30s",
        "compiling: 1m01s",
        "update 1/9 (11%)",
        "update 1/9 (11%) | 30s ago",
    ]


def test_the_line_is_watched_while_a_run_goes_on_and_not_after(monkeypatch) -> None:
    monkeypatch.setattr(progress_module, "EVERY", 0.001)
    beaten, progress = threading.Event(), Progress()
    progress.beat = beaten.set
    with progress:
        assert beaten.wait(60)
    assert progress.ended.is_set()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.0, "a minute"), (1e2, "2 minutes"), (5e3, "83 minutes"), (6e3, "2 hours"), (1e6, "12 days")],
)
def test_an_estimate_is_told_in_one_unit(seconds, text) -> None:
    assert roughly(seconds) == text


def test_without_a_terminal_a_line_is_printed_only_every_few_seconds(capsys, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr("maestro.cli.progress.time.monotonic", lambda: now)
    progress = Progress()
    for now in (100.0, 109.9, 110.0, 110.1, 125.0):
        progress.show({"updates": round(now), "total": 1000})
    told = [text.split("/")[0] for text in capsys.readouterr().out.splitlines()]
    assert told == ["update 100", "update 110", "update 125"]
