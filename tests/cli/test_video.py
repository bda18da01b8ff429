"""`maestro video`: any pairing as a film, with what each player sees and expects."""

from dataclasses import replace

import imageio.v3 as imageio
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, Always, certain
from maestro import cli
from maestro.analysis import beside
from maestro.cli import video
from maestro.config import TINY
from maestro.games import Drawing, Game
from maestro.runs import agent_file
from probes import RockPaperScissors


class Slow(RockPaperScissors):
    """Rock, paper, scissors at the end of so many steps as the level says, 1 to 5."""

    def over(self, level, state, reward):
        return state.time >= level.number % 5 + 1

    def reward(self, level, state, actions):
        return super().reward(level, state, actions) * (state.time == level.number % 5)

    def sample_level(self, key):
        return super().sample_level(key).replace(time_limit=jnp.int32(9))


def picture(level, state, scale):
    """A square whose shade is the time."""
    return np.full((8 * scale, 8 * scale, 3), 20 * int(state.time), np.uint8)


PLAYERS = {"rock": Always(0, "rock"), "paper": Always(1, "paper")}
GAME = Game("slow", Slow, type(AGENT), {"tiny": TINY}, PLAYERS, draw=Drawing(picture=picture))
CONFIG = replace(GAME.presets["tiny"], agent=AGENT)
OPTION = ("--game", "test_video:GAME")


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def run(tmp_path):
    """A run's folder with the students of two seeds: scissors and rock."""
    (tmp_path / "run" / "agents").mkdir(parents=True)
    for seed, action in ((3, 2), (4, 0)):
        path = tmp_path / "run" / "agents" / f"student-{seed}.safetensors"
        agent_file.save(path, CONFIG, certain(action, 0.5), {"seed": seed})
    return tmp_path / "run"


def test_a_film_shows_every_step_of_the_longest_game(capsys, tmp_path):
    film = tmp_path / "film.gif"
    words = ["--a", "paper", "--b", "rock", *OPTION, "--out", film]
    lengths = {}
    for seed in range(1, 5):
        code, out, errors = call(capsys, "video", "random", *words, "--seed", seed, "--no-views")
        assert code == 0, errors
        assert out.startswith("A paper won after ") and out.endswith(f"steps; film in {film}\n")
        lengths[seed] = int(out.split()[4])
        duel = call(capsys, "duel", "random", *words[:-2], "--seed", seed)[1]
        assert duel.splitlines()[-1] == out.split(";")[0]  # the same seed is the same game
        frames = imageio.imread(film, index=None)
        assert int(frames.max()) <= 20 * lengths[seed] + 1
    assert len(set(lengths.values())) > 1
    code, out, _ = call(capsys, "video", "random", *words, "--seed", 5, "--longest-of", 30)
    frames = imageio.imread(film, index=None)
    assert out.startswith("A paper won after 5 steps") and len(frames) >= 6
    assert frames.shape[2] == 480 + beside.WIDTH


def test_no_game_of_a_film_has_the_dice_of_another_or_of_a_level(monkeypatch):
    from maestro.evaluation import play

    keys, levels = [], []

    def seen(found, into):
        jax.debug.callback(lambda x: into.extend(map(tuple, np.reshape(x, (-1, 2)).tolist())), found)

    def sampled(env, key):
        seen(jax.random.key_data(key), levels)
        return real(env, key)

    class Stop(Exception):
        pass

    def watched(played, *rest):
        seen(jax.random.key_data(played), keys)
        raise Stop

    real = Slow.sample_level
    monkeypatch.setattr(Slow, "sample_level", sampled)
    monkeypatch.setattr(play, "play", watched)
    with pytest.raises(Stop):
        video.longest(GAME, 5, "random", list(PLAYERS.values()), 40)
    jax.effects_barrier()
    assert len(keys) == len(levels) == len(set(keys) | set(levels)) / 2 == 40


def test_students_of_a_run_play_by_their_seed(capsys, tmp_path, run):
    words = ["--b", "paper", *OPTION, "--out", tmp_path / "film.gif"]
    told = [call(capsys, "video", "random", "--a", who, *words)[1] for who in (f"{run}:3", f"{run}:4", run)]
    assert [line.rpartition(" after")[0] for line in told] == ["A run:3 won", "B paper won", "A run won"]


def test_a_trained_players_value_is_part_of_the_film(capsys, tmp_path, run):
    film = tmp_path / "film.gif"
    heights = []
    for who in (f"{run}:3", "rock"):
        assert call(capsys, "video", "random", "--a", who, "--b", "paper", *OPTION, "--out", film)[0] == 0
        heights.append(imageio.imread(film, index=None).shape[1])
    assert heights[0] - heights[1] >= beside.CHART


MISTAKES = {
    "no film": (["random"], "--out"),
    "a bad film": (["random", "--out", "film.avi"], "--out: 'film.avi' does not end in one of .gif, .mp4"),
    "a film in no folder": (["random", "--out", "nowhere/film.gif"], "--out: the folder"),
    "an unknown player": (
        ["random", "--out", "x.gif", "--a", "papr"],
        "--a: unknown player 'papr'; did you mean paper?; or the .safetensors file of an agent, or RUN:SEED",
    ),
    "a folder that is no run": (["random", "--out", "x.gif", "--a", "."], "--a: .: is no run with students"),
    "no such seed": (
        ["random", "--out", "x.gif", "--b", "run:7"],
        "run: has no student of seed 7; seeds: 3, 4",
    ),
    "an unknown level": (["Nowhere", "--out", "x.gif"], "level: unknown level 'Nowhere'"),
    "too few games": (["random", "--out", "x.gif", "--longest-of", "0"], "--longest-of: 0 is not between 1"),
    "a speed of nothing": (["random", "--out", "x.gif", "--speed", "0"], "--speed: 0.0 is not between"),
    "a negative seed": (["random", "--out", "x.gif", "--seed", "-1"], "--seed: -1 is not between"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_and_nothing_is_filmed(capsys, tmp_path, monkeypatch, run, name):
    arguments, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    code, _, errors = call(capsys, "video", *arguments, *OPTION)
    assert code == 2 and message in " ".join(errors.split()) and "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_game_without_pictures_cannot_be_filmed(capsys, tmp_path):
    code, _, errors = call(
        capsys, "video", "random", "--game", "probes:RACE", "--out", tmp_path / "x.gif", "--a", "random"
    )
    assert (code, errors) == (2, "maestro: --game: race has no pictures to film\n")
