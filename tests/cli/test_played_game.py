"""Which game is played: the one that was typed, that of the runs and agents named, or the usual one."""

import json

import pytest

from maestro.cli.arguments import Mistake
from maestro.cli.opening import played_game
from maestro.games.racing import GAME
from maestro.runs import folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A run of racing, an agent of racing and one of a game that nobody has typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    folder.begin(folder.RunFolder(tmp_path / "run"), GAME.presets["tiny"])
    for name, game in (("agent", "racing"), ("evil", "evil:GAME")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"agent": {}, "game": game}))
    (tmp_path / "damaged.json").write_text("{")
    return tmp_path


NAMED = {
    "a run": ("run",),
    "a student of a run": ("run:0",),
    "an agent": ("agent.safetensors",),
    "an agent among others": ("random", "nobody", "evil.safetensors", "damaged.safetensors", "run", ""),
}


@pytest.mark.parametrize("who", NAMED.values(), ids=NAMED)
def test_the_game_is_that_of_the_runs_and_agents_named(here, who):
    assert played_game("", who) is GAME


@pytest.mark.parametrize(
    "name", ["", "random", "nowhere:3", "evil.safetensors", "damaged.safetensors", "no\0path"]
)
def test_what_tells_of_no_known_game_leaves_the_usual_one(here, name):
    assert played_game("", (name,)).name == "lasertag"


def test_what_was_typed_goes_first(here):
    assert played_game("lasertag", ("run",)).name == "lasertag"
    with pytest.raises(Mistake, match="--game: 'races' is unknown"):
        played_game("races", ("run",))
