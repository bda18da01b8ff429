"""The vector view plays what single views play one after the other, by one call."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_contract import Walk

from maestro.envs.gym import Single, Stage, Vector, match
from maestro.envs.players import Random
from maestro.evaluation.opponents import trained
from probes import Race, SmallAgent

RACE = Race()
SEED = 7
NUM = 7  # games, of which two at a time begin anew
CHANCE = Random(RACE.action)


class Told(Race):
    """Tells more than the score: a number of each agent, and one of the game."""

    def step(self, key, level, state, actions):
        *result, info = super().step(key, level, state, actions)
        return *result, info | {"said": actions + jnp.arange(2), "number": level.number}


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch):
    monkeypatch.setattr(match, "BLOCKS", 4)


def play(view, num_steps=12):
    """All that a reset and some steps return, with the same random actions."""
    view.action_space.seed(SEED)
    return [view.reset(seed=SEED), *(view.step(view.action_space.sample()) for _ in range(num_steps))]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize(
    ("env", "coplayer"),
    [
        (RACE, CHANCE),
        (RACE, trained(SmallAgent(), SmallAgent().init(jax.random.key(0)))),
        (Told(), CHANCE),
    ],
    ids=["random", "trained", "with numbers of its own"],
)
def test_many_games_are_what_gymnasium_makes_of_single_views(env, coplayer, mode):
    ours = Vector(env, coplayer, NUM, seat=1, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: Single(env, coplayer, 1)] * NUM, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == mode
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    for mine, other in zip(play(ours), play(theirs), strict=True):
        assert data_equivalence(mine, other, exact=True), (mine, other)


def test_a_game_of_three_seen_in_parts_is_what_single_views_play():
    ours = Vector(Walk(), Random(Walk.action), 3, seat=1)
    theirs = SyncVectorEnv([lambda: Single(Walk(), Random(Walk.action), 1)] * 3)
    for mine, other in zip(play(ours, 30), play(theirs, 30), strict=True):
        assert data_equivalence(mine, other)


def test_without_a_seed_the_games_go_on_to_others_and_a_seed_brings_them_back():
    view = Vector(RACE, CHANCE, NUM)
    first, _ = view.reset(seed=SEED)
    second, _ = view.reset()
    again, _ = view.reset(seed=[SEED + i for i in range(NUM)])
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(Vector(RACE, CHANCE, NUM).reset()[0], Vector(RACE, CHANCE, NUM).reset()[0])


def level(number):
    return RACE.sample_level(jax.random.key(0)).replace(number=jnp.int32(number), time_limit=jnp.int32(2))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_each_game_stays_on_its_own_level(mode):
    numbers = [5, 17, 40]
    view = Vector(RACE, CHANCE, 3, level=[level(number) for number in numbers], autoreset_mode=mode)
    view.reset(seed=SEED)
    for _ in range(5):
        view.step([0, 0, 0])
        assert view.matches.level.number.tolist() == numbers
    view.reset(options={"level": level(7)})
    assert view.matches.level.number.tolist() == [7, 7, 7]
    for _ in range(3):
        view.step([0, 0, 0])
    assert view.matches.level.number.tolist() == numbers


def test_levels_may_come_as_one_batch():
    batch = jax.vmap(RACE.sample_level)(jax.random.split(jax.random.key(3), 4))
    view = Vector(RACE, CHANCE, 4, level=batch)
    view.reset(seed=SEED)
    np.testing.assert_array_equal(view.matches.level.number, batch.number)
    with pytest.raises(ValueError, match="level: a list needs 4 levels; it has 2"):
        Vector(RACE, CHANCE, 4, level=[level(1), level(2)])
    with pytest.raises(ValueError, match="level: Level is no level of this game"):
        Vector(RACE, CHANCE, 3, level=batch)


def test_a_function_sees_all_games_at_once_and_acts_at_every_step():
    seen = []

    def follow(obs):
        seen.append(obs)
        return np.argmax(obs[:, 0, :, 0], axis=1)  # what the level asks for

    view = Vector(RACE, follow, NUM)
    view.reset(seed=SEED)
    lost = [view.step(np.zeros(NUM, int))[1] for _ in range(3)]
    assert len(seen) == 3 and {obs.shape for obs in seen} == {(NUM, 3, 3, 1)}
    asked = np.argmax(seen[0][:, 0, :, 0], axis=1)
    np.testing.assert_array_equal(lost[0], np.where(asked == 0, 0, -1))
    assert not np.array_equal(lost[0], lost[1])


BAD = {
    "one for all": (0, r"actions: 0 is not allowed"),
    "one too few": ([0] * (NUM - 1), r"in an array of shape \(7,\)"),
    "one too large": (
        [0] * 5 + [3] + [0],
        r"actions\[5\]: 3 is not allowed; allowed: integers from 0",
    ),
    "real numbers": (np.zeros(NUM), "is not allowed"),
}


@pytest.mark.parametrize(("actions", "message"), BAD.values(), ids=BAD)
def test_illegal_actions_are_refused_and_the_game_that_has_them_is_named(actions, message):
    view = Vector(RACE, CHANCE, NUM)
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match=message):
        view.step(actions)


def test_what_the_vector_view_cannot_do_is_refused():
    view = Vector(RACE, lambda obs: np.full(3, 3), 3)
    with pytest.raises(ResetNeeded, match="step: no game has begun; call reset first"):
        view.step([0, 0, 0])
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match=r"the co-player's actions in seat 1\[0\]: 3 is not allowed"):
        view.step([0, 0, 0])
    with pytest.raises(ValueError, match="'reset_mask' is not allowed"):
        view.reset(options={"reset_mask": np.ones(3, bool)})
    with pytest.raises(ValueError, match="seed: a list needs 3 integers; it has 2"):
        view.reset(seed=[1, 2])
    with pytest.raises(
        ValueError, match="autoreset_mode: 'Never' is unknown; allowed: 'NextStep', 'SameStep'"
    ):
        Vector(RACE, CHANCE, 3, autoreset_mode="Never")
    with pytest.raises(ValueError, match="num_envs is 0; allowed: 1 and more"):
        Vector(RACE, CHANCE, 0)


def test_a_picture_of_each_game():
    draw = {"rgb_array": lambda level, state: np.full((2, 2, 3), level.number, np.uint8)}
    view = Vector(Stage(RACE, render_mode="rgb_array", renderers=draw), CHANCE, 2, level=[level(4), level(9)])
    view.reset(seed=SEED)
    assert [picture.max() for picture in view.render()] == [4, 9]
