"""Racing, with its real actions and its pictures, through PettingZoo and Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import SyncVectorEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test

from maestro import views

ID = "maestro/Racing-v0"
SEED = 7
TOLD = {"score", "tiles", "grass", "backwards"}
GAS = np.array([0.5, 0.5, 0.0], np.float32)


def test_a_race_has_pictures_real_actions_and_numbers_of_its_own():
    view = gymnasium.make(ID, opponent="follower", level="UK", render_mode="rgb_array").unwrapped
    assert view.observation_space == gymnasium.spaces.Box(0, 255, (84, 84, 12), np.uint8)
    assert view.action_space == gymnasium.spaces.Box(0.0, 1.0, (3,), np.float32)
    obs, _ = view.reset(seed=SEED)
    told = [view.step(GAS)[4] for _ in range(3)]
    assert obs in view.observation_space and view.render().shape == (408, 408, 3)
    assert all(set(info) == TOLD for info in told) and sum(info["tiles"] for info in told) > 0
    with pytest.raises(ValueError, match=r"action\[0\]: -1.0 is not allowed; allowed: numbers from 0 to 1"):
        view.step(np.array([-1.0, 0.0, 0.0]))


@pytest.mark.long
def test_pettingzoo_accepts_a_race():
    parallel_api_test(views.parallel("racing"), num_cycles=4)


def reversed_rewards(**settings):
    """(reward, score) of a car that stands on the road and faces the wrong way."""
    view = views.parallel("racing", level="UK", **settings)
    view.reset(seed=SEED)
    cars = view.session.match.state.cars
    turned = view.session.match.state.replace(cars=cars.replace(heading=cars.heading + np.pi))
    view.session.match = view.session.match.replace(state=turned)
    _, rewards, *_, infos = view.step({name: np.array([0.5, 0, 0]) for name in view.agents})
    assert infos["player_0"]["backwards"] == 8
    return rewards["player_0"], infos["player_0"]["score"]


@pytest.mark.long
def test_the_reward_is_shaped_and_the_score_is_not_unless_settings_say_so():
    reward, score = reversed_rewards()
    assert reward == pytest.approx(score - 8 * 0.5, abs=1e-4)
    reward, unshaped = reversed_rewards(grass_penalty=0, backwards_penalty=0, most_astray=0)
    assert reward == unshaped == pytest.approx(score, abs=1e-4)


@pytest.mark.long
def test_gymnasium_accepts_a_seat_in_a_race(capsys):
    view = gymnasium.make(ID, opponent="follower", level="Monaco", render_mode="rgb_array").unwrapped
    check_env(view)
    assert "0% of the lap" in capsys.readouterr().out


@pytest.mark.long
def test_the_same_seed_gives_the_same_race():
    parallel_seed_test(lambda: views.parallel("racing"), num_cycles=3)


@pytest.mark.long
def test_races_in_one_call_are_what_gymnasium_makes_of_single_ones():
    ours = views.vector(2, "racing", "follower", level="UK")
    theirs = SyncVectorEnv([lambda: views.single("racing", "follower", level="UK")] * 2)
    for view in (ours, theirs):
        view.action_space.seed(SEED)
    mine, other = (
        [v.reset(seed=SEED), *(v.step(v.action_space.sample()) for _ in range(3))] for v in (ours, theirs)
    )
    assert ours.observation_space == theirs.observation_space
    for a, b in zip(mine, other, strict=True):
        assert data_equivalence(a[1:], b[1:]), (a[1:], b[1:])
        # rounding may move an edge by a pixel
        assert np.mean(a[0] != b[0]) < 1e-3
