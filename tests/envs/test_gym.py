"""The PettingZoo and Gymnasium views pass their own conformance tests and ours."""

import importlib
import sys

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test
from test_contract import Walk

from maestro.envs.gym import Parallel, Single, observation_space
from maestro.envs.lasertag import maps, players
from maestro.envs.lasertag.game import SHOOT, TURN_RIGHT, LaserTag

ENV = LaserTag()
SEED = 7


def turn(key, obs):
    return jax.numpy.int32(TURN_RIGHT)


def trajectory(view, seed, num_steps=500):
    """Everything that random play returns in many steps, resets included, as a flat list."""
    generator = np.random.default_rng(seed)
    seen = [view.reset(seed=seed)]
    for _ in range(num_steps):
        if isinstance(view, Parallel):
            result = view.step({name: int(generator.integers(5)) for name in view.agents})
            over = not view.agents
        else:
            result = view.step(int(generator.integers(5)))
            over = result[2] or result[3]
        seen.append(result)
        if over:
            seen.append(view.reset())
    return jax.tree.leaves(seen)


VIEWS = {
    "parallel": lambda: Parallel(ENV),
    "beside a hunter": lambda: Single(ENV, players.Hunter()),
    "beside a function": lambda: Single(ENV, turn, seat=1),
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_the_same_seed_gives_the_same_500_steps_in_two_instances(make):
    once, again = trajectory(make(), SEED), trajectory(make(), SEED)
    assert len(once) == len(again)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))


def test_another_seed_gives_another_game():
    once, other = trajectory(Parallel(ENV), SEED, 20), trajectory(Parallel(ENV), SEED + 1, 20)
    assert not all(np.array_equal(a, b) for a, b in zip(once, other, strict=False))


def test_pettingzoo_accepts_the_parallel_view():
    parallel_api_test(Parallel(ENV), num_cycles=400)
    parallel_seed_test(lambda: Parallel(ENV))


def test_pettingzoo_accepts_a_game_of_three_with_real_actions():
    parallel_api_test(Parallel(Walk()), num_cycles=100)


@pytest.mark.parametrize("coplayer", [players.Turret(), turn], ids=["turret", "function"])
def test_gymnasium_accepts_the_view_of_one_agent(coplayer):
    check_env(Single(ENV, coplayer), skip_render_check=True)


@pytest.mark.filterwarnings("ignore:.*infinity")  # nothing says how large the real numbers of a view can be
def test_gymnasium_accepts_a_seat_in_a_game_of_three():
    check_env(Single(Walk(), lambda key, obs: jax.numpy.zeros(1), seat=2), skip_render_check=True)


def test_the_level_can_be_chosen_at_each_reset():
    view = Parallel(ENV)
    for name in ("Cross", "Corridor1"):
        level = maps.LEVELS.load(name)
        obs, _ = view.reset(seed=SEED, options={"level": level})
        expected = ENV.reset(jax.random.key(0), level)[1]
        np.testing.assert_array_equal(np.stack(list(obs.values())), expected)


def test_without_a_seed_the_next_episode_has_another_level():
    view = Parallel(ENV)
    view.reset(seed=SEED)
    first = view.session.level
    view.reset()
    assert not np.array_equal(first.walls, view.session.level.walls)


def test_an_idle_agent_in_the_line_of_fire_loses_and_the_episode_ends():
    level = maps.LEVELS.load("Corridor1")
    facing = level.replace(position=np.array([[1, 1], [4, 1]], np.int32), facing=np.array([2, 0], np.int32))
    view = Single(ENV, lambda key, obs: jax.numpy.int32(SHOOT))
    view.reset(seed=SEED, options={"level": facing})
    results = [view.step(0) for _ in range(3)]
    assert [result[1] for result in results] == [0.0, 0.0, -1.0]
    assert results[-1][2] and not results[-1][3] and results[-1][4]["score"] == -1.0


def test_actions_of_the_wrong_agents_and_a_wrong_seat_are_refused():
    view = Parallel(ENV)
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match="player_1"):
        view.step({"player_0": 0})
    with pytest.raises(ValueError, match="seat is 2; allowed: 0 to 1"):
        Single(ENV, turn, seat=2)


def test_spaces_follow_the_dtype_and_an_unknown_observation_is_refused():
    shape = {name: jax.ShapeDtypeStruct((2,), name) for name in ("bool", "uint8", "float32")}
    space = observation_space(shape)
    assert isinstance(space["bool"], gymnasium.spaces.MultiBinary)
    assert space["uint8"].high.max() == 255 and np.isinf(space["float32"].high).all()
    with pytest.raises(TypeError, match="observation is a tuple"):
        observation_space((1, 2))


def test_without_pettingzoo_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "maestro.envs.gym")
    with pytest.raises(ImportError, match=r"pip install maestro-ued\[interop\]"):
        importlib.import_module("maestro.envs.gym")
