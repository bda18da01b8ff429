"""Games, levels and players by name or file in Gymnasium and PettingZoo, and what others do with them."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import gymnasium
import imageio_ffmpeg
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordVideo
from pettingzoo.test import parallel_api_test, render_test
from pettingzoo.utils import parallel_to_aec

from maestro import games, views
from maestro.agents.mlp import MLP
from maestro.envs.base import observation_shape
from maestro.envs.lasertag import maps
from maestro.envs.lasertag.game import LaserTag
from maestro.games import Drawing
from maestro.runs import agent_file
from maestro.settings import SettingsError
from maestro.views.pictures import SIDE, Canvas
from probes import RACE, SMALL, Race

ID = "maestro/LaserTag-v0"
SEED = 7
DOTS = Drawing(lambda level, state: "[bold]time[/]\n" + str(state.time), lambda level, state, scale: np.full(
    (2 * scale, 3 * scale, 3), 255, np.uint8))  # fmt: skip


@pytest.fixture
def agent(tmp_path):
    """A trained agent of the race, as a file."""
    config = replace(SMALL, agent=MLP((4,)))
    params = config.agent.fitted(observation_shape(Race()), Race.action).init(jax.random.key(5))
    agent_file.save(tmp_path / "student.safetensors", config, params, {})
    return tmp_path / "student.safetensors"


MLP_RACE = replace(RACE, agent=MLP, presets={"tiny": replace(SMALL, agent=MLP((4,)))}, draw=DOTS)


def test_the_known_game_has_an_id_and_takes_names():
    view = gymnasium.make(ID, opponent="hunter", level="FourRooms")
    obs, _ = view.reset(seed=SEED)
    assert obs in view.observation_space and len(view.step(view.action_space.sample())) == 5
    np.testing.assert_array_equal(view.unwrapped.session.level.walls, maps.LEVELS.load("FourRooms").walls)
    assert view.spec.id == ID and json.loads(view.spec.to_json())["kwargs"]["opponent"] == "hunter"


def test_the_id_makes_a_vector_view_of_the_same_names():
    view = gymnasium.make_vec(ID, num_envs=3, opponent="turret", level=["Empty", "Cross", "Ruins"])
    view.reset(seed=SEED)
    assert view.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    expected = [maps.LEVELS.load(name).walls for name in ("Empty", "Cross", "Ruins")]
    np.testing.assert_array_equal(view.matches.level.walls, np.stack(expected))


def test_gymnasium_accepts_the_view_with_all_its_ways_to_draw(capsys):
    view = gymnasium.make(ID, opponent="turret", level="Cross", render_mode="rgb_array").unwrapped
    assert view.metadata["render_modes"] == ["human", "rgb_array"]
    check_env(view)
    assert "▶" in capsys.readouterr().out


def test_a_game_of_ones_own_gets_an_id_once():
    game = replace(RACE, name="own")
    assert views.register(game, "Own") == views.register(game, "Own") == "maestro/Own-v0"
    view = gymnasium.make("maestro/Own-v0")
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match="id 'maestro/Own-v0' belongs to another game; choose a name"):
        views.register(RACE, "Own")
    del gymnasium.registry["maestro/Own-v0"]


def test_a_level_and_an_agent_are_found_by_their_files(agent, tmp_path):
    level = RACE.environment().sample_level(jax.random.key(1))
    file = tmp_path / "level.json"
    file.write_text(RACE.levels.to_text(level, "mine"))
    for path in (file, str(file)):
        view = views.parallel(RACE, level=path)
        view.reset()
        assert view.session.level.number == level.number
    for opponent in (agent, str(agent), agent_file.load(agent, MLP_RACE)):
        single = views.single(MLP_RACE, opponent, level="random")
        single.reset(seed=SEED)
        assert single.session.coplayer.agent.layers == (4,) and len(single.step(0)) == 5
    many = views.vector(2, MLP_RACE, agent)
    many.reset(seed=SEED, options={"level": str(file)})
    assert many.matches.level.number.tolist() == [level.number] * 2 and len(many.step([0, 1])) == 5


UNKNOWN = {
    "player": (
        {"opponent": "huntr"},
        r"opponent: unknown player 'huntr'; did you mean hunter\?; or the .safetensors",
    ),
    "agent": ({"opponent": "nope.safetensors"}, "opponent: nope.safetensors: No such file"),
    "level": ({"level": "FourRoms"}, "level: unknown level 'FourRoms' .nearest: 'FourRooms'"),
    "file": ({"level": "nope.txt"}, "level: unknown level 'nope.txt'.*nor is there a file"),
    "mode": ({"render_mode": "ansi"}, "render_mode: 'ansi' is unknown; allowed: 'human', 'rgb_array'"),
    "game": ({"game": "laser"}, "'laser' is unknown"),
    "setting": ({"min_siz": 4}, "min_siz: unknown setting; did you mean min_size"),
    "range": ({"min_size": 1}, "min_size: 1 is out of range"),
    "both": ({"min_size": 9, "max_size": 5}, "min_size: 9 is above max_size, 5"),
}


@pytest.mark.parametrize(("names", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_told_with_what_is(names, message):
    with pytest.raises(ValueError, match=message):
        views.single(**names)


def test_the_settings_of_a_game_are_arguments():
    view = views.parallel(min_size=5, max_size=5)
    view.reset(seed=SEED)
    assert (view.session.level.height, view.session.level.width) == (5, 5)
    with pytest.raises(SettingsError, match="length: 'far' is not a whole number"):
        views.vector(2, RACE, length="far")


def test_a_state_is_printed_where_there_is_no_terminal(capsys):
    view = views.parallel(replace(RACE, draw=DOTS), render_mode="human")
    view.reset(seed=SEED)
    view.step({"player_0": 0, "player_1": 0})
    assert capsys.readouterr().out == "time\n0\ntime\n1\n" and view.render() is None


def test_on_a_terminal_a_state_takes_the_place_of_the_one_before(capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    view = views.single(replace(RACE, draw=DOTS), render_mode="human")
    view.reset(seed=SEED)
    view.reset()
    plain = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)
    assert plain == "time\n0\n\x1b[2A\x1b[Jtime\n0\n"


def test_a_game_without_pictures_has_only_the_terminal():
    assert views.single(RACE).metadata["render_modes"] == ["human"]
    with pytest.raises(ValueError, match="render_mode: 'rgb_array' is unknown; allowed: 'human'"):
        views.parallel(RACE, render_mode="rgb_array")
    with pytest.raises(ValueError, match="render_mode: 'human' is unknown; allowed: 'rgb_array'"):
        views.vector(2, MLP_RACE, render_mode="human")


@pytest.mark.parametrize("name", ["Empty", "LargeCorridor", "Cross"])
def test_pictures_of_all_levels_have_one_size_and_lose_nothing(name):
    level = maps.LEVELS.load(name)
    state = LaserTag().reset(jax.random.key(0), level)[0]
    picture = Canvas(views.names.find_game("lasertag").draw.picture)(level, state)
    assert picture.shape == (SIDE, SIDE, 3) and picture.dtype == np.uint8
    rows, columns = (np.flatnonzero(picture.max(axis=(2, axis))) for axis in (1, 0))
    scale = SIDE // (max(int(level.height), int(level.width)) + 2)
    shown = (rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1)
    assert shown == (scale * (int(level.height) + 2), scale * (int(level.width) + 2))


def pixels_in(path):
    """How many bytes all frames of a film have."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    return len(subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of MoviePy's own code, where it is compiled anew
def test_record_video_writes_a_film_over_levels_of_any_size(tmp_path):
    view = gymnasium.make(ID, opponent="turret", render_mode="rgb_array", min_size=5, max_size=9)
    film = RecordVideo(view, str(tmp_path / "films"), step_trigger=lambda step: step == 1, video_length=6)
    sizes = []
    for seed in (3, 4):
        film.reset(seed=seed)
        sizes.append(int(film.unwrapped.session.level.height))
        for _ in range(4):
            film.step(0)
    film.close()
    assert sizes[0] != sizes[1]
    (file,) = tmp_path.glob("films/*.mp4")
    assert pixels_in(file) == 7 * SIDE * SIDE * 3


@pytest.mark.long
def test_gymnasium_plays_in_other_processes():
    view = gymnasium.make_vec(
        f"maestro.views:{ID}", num_envs=2, vectorization_mode="async", vector_kwargs={"context": "spawn"},
        opponent="turret", level="Cross", disable_env_checker=True,
    )  # fmt: skip
    try:
        seen, _ = view.reset(seed=SEED)
        after, reward, *_ = view.step([3, 0])
    finally:
        view.close()
    ours = views.vector(2, opponent="turret", level="Cross")
    np.testing.assert_array_equal(seen, ours.reset(seed=SEED)[0])
    expected = ours.step([3, 0])
    np.testing.assert_array_equal(after, expected[0])
    np.testing.assert_array_equal(reward, expected[1])


def test_pettingzoo_accepts_the_view_by_name_also_one_agent_at_a_time(capsys):
    game = replace(RACE, draw=DOTS)
    parallel_api_test(views.parallel(game), num_cycles=50)
    render_test(lambda render_mode: parallel_to_aec(views.parallel(game, render_mode=render_mode)))
    assert views.parallel(game).metadata["name"] == "race"
    assert "time\n0\n" in capsys.readouterr().out


def test_a_game_that_a_package_offers_is_not_imported_before_it_is_made(tmp_path, monkeypatch):
    entries = "[maestro.games]\noffered = offer:GAME\nno id = offer:GAME\n"
    (tmp_path / "offer-1.0.dist-info").mkdir()
    (tmp_path / "offer-1.0.dist-info" / "METADATA").write_text("Name: offer\nVersion: 1.0\n")
    (tmp_path / "offer-1.0.dist-info" / "entry_points.txt").write_text(entries)
    code = "from dataclasses import replace\nfrom probes import RACE\nGAME = replace(RACE, name='offered')\n"
    (tmp_path / "offer.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    views.register_known()
    assert "maestro/offered-v0" in gymnasium.registry and "offer" not in sys.modules
    assert gymnasium.make("maestro/offered-v0").metadata["name"] == "offered"
    del gymnasium.registry["maestro/offered-v0"], sys.modules["offer"], games._found["offered"]
