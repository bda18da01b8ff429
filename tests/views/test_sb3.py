"""Stable-Baselines3 learns through the vector view."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from maestro import views
from probes import RACE

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
pytestmark = pytest.mark.long


@pytest.fixture
def sb3():
    """The adapter, where Stable-Baselines3 is installed."""
    pytest.importorskip("stable_baselines3", reason="needs maestro-ued[sb3]", exc_type=ImportError)
    return importlib.import_module("maestro.views.sb3")


def test_ppo_wins_more_fresh_games_after_training_than_before(sb3, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    low, _ = importlib.import_module("ppo_stable_baselines3").main(["--steps", "200000", "--games", "200"])
    assert low > 0


def test_zeros_and_ones_are_no_picture_to_be_divided_by_255(sb3):
    from stable_baselines3.common.preprocessing import is_image_space

    assert not is_image_space(views.single().observation_space)


def test_the_adapter_tells_what_the_vector_view_tells(sb3):
    many = views.vector(3, RACE, autoreset_mode="SameStep")
    env = sb3.StableVecEnv(views.vector(3, RACE, autoreset_mode="SameStep"))
    env.seed(5)
    np.testing.assert_array_equal(env.reset(), many.reset(seed=5)[0])
    seen = set()
    for _ in range(30):
        obs, reward, done, infos = env.step(np.array([0, 1, 2]))
        expected, expected_reward, terminated, truncated, told = many.step(np.array([0, 1, 2]))
        np.testing.assert_array_equal(obs, expected)
        np.testing.assert_array_equal(reward, expected_reward)
        np.testing.assert_array_equal(done, terminated | truncated)
        for i in np.flatnonzero(done):
            np.testing.assert_array_equal(infos[i]["terminal_observation"], told["final_obs"][i])
            assert infos[i]["TimeLimit.truncated"] == truncated[i]
            seen.add(bool(truncated[i]))
    assert seen == {True, False}
    assert env.get_attr("seat") == [0, 0, 0]
    with pytest.raises(ValueError, match="'NextStep'; Stable-Baselines3 needs 'SameStep'"):
        sb3.StableVecEnv(views.vector(3, RACE))
