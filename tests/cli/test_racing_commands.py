"""The commands on racing: scripted drivers in a table with the game's own numbers, and a whole run."""

import json

import imageio.v3 as imageio
import pytest

import runs_helpers
from maestro import cli
from maestro.evaluation import table
from maestro.games.racing import GAME

OWN = ["lap_progress", "grass_time", "backwards_time"]
TRAIN = """train racing --preset tiny --ppo.workers 4 --ppo.rollout-length 32 --ppo.epochs 1
    --schedule.total-updates 2 --schedule.interval 1 --schedule.warmup 0 --agent.channels 2 2 2 2
    --agent.heads 4 --curriculum.member-buffer-size 8 --evaluation.times 1 --evaluation.levels 2 --out run"""
FIGURES = ("round-robin", "levels", "one-to-one", "matrix")
OF_RUNS = ("emergent", "gallery", "pairs", "hyperparameters")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a track on which a race takes 80 frames."""
    monkeypatch.chdir(tmp_path)
    track = json.loads(GAME.levels.to_text(GAME.levels.load("UK"), "short"))
    (tmp_path / "short.json").write_text(json.dumps(track | {"frames": 80}))
    return tmp_path


def call(capsys, line):
    """The output of a command that succeeds."""
    code = cli.run(line.split())
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


@pytest.mark.long
def test_drivers_meet_and_the_games_own_numbers_are_told_and_drawn(capsys):
    line = "crossplay follower idle --game racing --levels short.json --episodes 1 --out games"
    heading, follower, idle, _ = call(capsys, line).splitlines()[1:]
    assert heading.split("  ")[-3:] == [name.replace("_", " ") for name in OWN]
    assert (
        follower.split()[:2] == ["follower", "1"]
        and follower.split()[-2:] == idle.split()[-2:] == ["0.0%"] * 2
    )
    games = table.read("games/table.csv")
    assert table.extras(games) == OWN and set(games["length"]) == {10}
    first, second = (games[f"{side}_lap_progress"] for side in "ab")
    assert (first > second).all() and (second > 0).all()  # both begin on the first tile
    call(capsys, "figure one-to-one games --of follower --methods follower idle --out drawn.png")
    with open("drawn.csv") as file:
        assert {line.split(",")[0] for line in file} >= {"lap_progress", "grass_time"}


@pytest.mark.long
def test_a_run_is_trained_filmed_measured_and_drawn(capsys, here):
    code, told, errors = runs_helpers.call(*TRAIN.split())
    assert code == 0, errors
    assert "film.gif" in told and imageio.imread("run/film.gif", index=0).shape[2] == 3
    assert "run/agents/student-0.safetensors" in told.splitlines()[-1] and "blocker" in told.splitlines()[-1]
    counted = json.loads(call(capsys, "duel short.json --a run:0 --games 2 --json"))
    assert counted["b"] == "blocker" and counted["a_won"] + counted["b_won"] + counted["drawn"] == 2
    call(capsys, "video short.json --a run:0 --b follower --out film.mp4")
    measured = json.loads(call(capsys, "evaluate run --levels short.json --against follower idle --json"))
    assert all(list(row["own"]) == OWN for row in measured["against"]) and len(measured["against"]) == 2
    call(capsys, "crossplay run follower --levels short.json --episodes 1 --milestones --out games")
    for name in FIGURES:
        call(capsys, f"figure {name} games --methods maestro follower --out {name}")
    for name in OF_RUNS:
        call(capsys, f"figure {name} run --out {name}")
    call(capsys, "landscape run --levels 2 --rollouts 2")
    call(capsys, "figure landscape run --out regret")
    assert len(list(here.glob("*.png"))) == len(FIGURES) + len(OF_RUNS)
