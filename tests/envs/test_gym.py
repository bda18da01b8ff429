"""The PettingZoo and Gymnasium views pass their own conformance tests and ours."""

import importlib
import sys
from dataclasses import dataclass

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from jax.tree_util import register_static
from pettingzoo.test import parallel_api_test, parallel_seed_test
from test_contract import Walk
from test_gym_vector import Told

from maestro.envs.gym import Parallel, Single, Stage, observation_space
from maestro.envs.lasertag import maps, players
from maestro.envs.lasertag.game import NOOP, SHOOT, TURN_RIGHT, LaserTag
from maestro.envs.players import Random
from maestro.evaluation.opponents import trained
from probes import Probe, Race, SmallAgent

ENV = LaserTag()
RACE = Race()
SEED = 7


def turn(key, obs):
    return jnp.int32(TURN_RIGHT)


def trajectory(view, seed, num_steps=300):
    """Everything that random play returns in many steps, resets included, as a flat list."""
    generator = np.random.default_rng(seed)
    seen = [view.reset(seed=seed)]
    for _ in range(num_steps):
        if isinstance(view, Parallel):
            result = view.step({name: int(generator.integers(3)) for name in view.agents})
            over = not view.agents
        else:
            result = view.step(int(generator.integers(3)))
            over = result[2] or result[3]
        seen.append(result)
        if over:
            seen.append(view.reset())
    return jax.tree.leaves(seen)


def same(some, others):
    return len(some) == len(others) and all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def dice(key, obs):
    return int(jax.random.randint(key, (), 0, 3))


VIEWS = {
    "parallel": lambda: Parallel(ENV),
    "beside a hunter": lambda: Single(ENV, players.Hunter()),
    "beside a function": lambda: Single(RACE, lambda obs: 1, seat=1),
    "beside a function that throws dice": lambda: Single(RACE, dice),
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_the_same_seed_gives_the_same_games_in_two_instances(make):
    assert same(trajectory(make(), SEED), trajectory(make(), SEED))


def test_another_seed_gives_another_game():
    assert not same(trajectory(Parallel(ENV), SEED, 20), trajectory(Parallel(ENV), SEED + 1, 20))


def test_pettingzoo_accepts_the_parallel_view():
    parallel_api_test(Parallel(ENV), num_cycles=200)
    parallel_seed_test(lambda: Parallel(ENV))


def test_pettingzoo_accepts_a_game_of_three_with_real_actions():
    parallel_api_test(Parallel(Walk()), num_cycles=100)


@pytest.mark.parametrize("coplayer", [players.Turret(), turn], ids=["turret", "function"])
def test_gymnasium_accepts_the_view_of_one_agent(coplayer):
    check_env(Single(ENV, coplayer), skip_render_check=True)


@pytest.mark.filterwarnings("ignore:.*infinity")  # nothing says how large the real numbers of a view can be
def test_gymnasium_accepts_a_seat_in_a_game_of_three():
    check_env(Single(Walk(), lambda obs: jnp.zeros(1), seat=2), skip_render_check=True)


def test_the_level_can_be_chosen_at_each_reset_and_for_all_games():
    view = Parallel(ENV, level=maps.LEVELS.load("Ruins"))
    for name in ("Cross", "Corridor1", None):
        level = maps.LEVELS.load(name or "Ruins")
        obs, _ = view.reset(seed=SEED, options=name and {"level": level})
        np.testing.assert_array_equal(np.stack(list(obs.values())), ENV.reset(jax.random.key(0), level)[1])


def test_without_a_seed_the_next_episode_has_another_level():
    view = Parallel(ENV)
    view.reset(seed=SEED)
    first = view.session.level
    view.reset()
    assert not np.array_equal(first.walls, view.session.level.walls)


def test_an_idle_agent_in_the_line_of_fire_loses_and_the_episode_ends():
    level = maps.LEVELS.load("Corridor1")
    facing = level.replace(position=jnp.array([[1, 1], [4, 1]]), facing=jnp.array([2, 0]))
    view = Single(ENV, lambda obs: SHOOT)
    view.reset(seed=SEED, options={"level": facing})
    results = [view.step(NOOP) for _ in range(3)]
    assert [result[1] for result in results] == [0.0, 0.0, -1.0]
    assert results[-1][2] and not results[-1][3] and results[-1][4]["score"] == -1.0


def test_a_function_is_called_at_every_step_with_what_its_seat_sees():
    seen = []

    def alternate(obs):
        seen.append(obs)
        return len(seen) % 3

    view = Single(RACE, alternate, seat=1)
    view.reset(seed=SEED)
    other = Parallel(RACE)
    first, _ = other.reset(seed=SEED)
    for number in range(1, 3):
        obs, reward, *_ = view.step(1)
        assert isinstance(seen[-1], np.ndarray) and len(seen) == number
        np.testing.assert_array_equal(seen[-1], first["player_0"])
        first, rewards, *_ = other.step({"player_0": number % 3, "player_1": 1})
        np.testing.assert_array_equal(obs, first["player_1"])
        assert reward == rewards["player_1"]


def test_an_agent_is_told_its_own_numbers_and_those_of_the_game():
    both = Parallel(Told())
    both.reset(seed=SEED)
    *_, infos = both.step({"player_0": 1, "player_1": 2})
    number = float(both.session.level.number)
    assert [infos[name]["said"] for name in both.possible_agents] == [1, 3]
    assert all(
        set(info) == {"score", "said", "number"} and info["number"] == number for info in infos.values()
    )
    one = Single(Told(), lambda obs: 0, seat=1)
    one.reset(seed=SEED)
    *_, info = one.step(2)
    assert info["said"] == 3.0 and all(type(x) is float for x in info.values())


def biased(action):
    """A trained agent that almost surely takes one action."""
    params = jax.tree.map(jnp.zeros_like, SmallAgent().init(jax.random.key(0)))
    params["actor"]["Dense_1"]["bias"] = 50 * jax.nn.one_hot(action, 3)
    return trained(SmallAgent(), params)


def test_a_trained_agent_is_a_coplayer_and_another_one_needs_no_new_program():
    for action in range(3):
        view = Single(RACE, biased(action))
        view.reset(seed=SEED)
        _, reward, *_ = view.step((action + 1) % 3)
        right = int(view.session.level.number) % 3
        assert reward == {action: -1.0, (action + 1) % 3: 1.0}.get(right, 0.0)


@dataclass(frozen=True)
class Plain:
    """A player that JAX has never heard of."""

    name: str = "plain"

    def start(self):
        return jnp.int32(0)

    def act(self, key, memory, obs, sight):
        return memory + 1, (memory + 1) % 3


def test_a_player_that_is_no_tree_of_arrays_remembers_what_it_did():
    view = Single(RACE, Plain())
    view.reset(seed=SEED)
    view.step(2)
    assert [int(memory) for memory in view.session.match.memories] == [1]


@register_static
@dataclass(frozen=True)
class Remembers(Random):
    """Remembers what it did last."""

    def start(self):
        return jnp.int32(-1)

    def act(self, key, memory, obs, sight):
        _, action = super().act(key, memory, obs, sight)
        return action, action


def test_a_coplayer_has_a_key_of_its_own_at_every_step():
    view = Single(Probe(20), Remembers(Probe.action))
    view.reset(seed=SEED)
    taken = [int(view.session.match.memories[0]) for _ in range(10) if view.step(0)]
    assert set(taken) == {0, 1}


def test_what_cannot_play_is_no_coplayer():
    with pytest.raises(TypeError, match="co-player: 'hunter' is neither a player nor a function"):
        Single(RACE, "hunter")


ILLEGAL = (3, -1, 1.0, True, None, "left", [0, 1], np.array([1]), [[0], [0, 1]])


@pytest.mark.parametrize("action", ILLEGAL, ids=map(repr, ILLEGAL))
def test_an_illegal_action_is_refused_and_the_game_stands_where_it_stood(action):
    view = Single(RACE, Random(RACE.action))
    before, _ = view.reset(seed=SEED)
    with pytest.raises(ValueError, match=r"action: .* is not allowed; allowed: integers from 0 to 2"):
        view.step(action)
    np.testing.assert_array_equal(view.session.view(0), before)
    both = Parallel(RACE)
    both.reset(seed=SEED)
    with pytest.raises(ValueError, match=r"actions\['player_1'\]: .* allowed: integers from 0 to 2"):
        both.step({"player_0": 0, "player_1": action})


@pytest.mark.parametrize("action", [[1.5], [np.nan], [0.0, 0.0], 0.5, ["left"]], ids=repr)
def test_an_illegal_vector_of_reals_is_refused(action):
    view = Single(Walk(), lambda obs: [0.0])
    view.reset(seed=SEED)
    with pytest.raises(
        ValueError, match=r"action.* is not allowed; allowed: numbers from -1 to 1, in an array"
    ):
        view.step(action)


def test_an_illegal_action_of_a_function_is_refused():
    view = Single(RACE, lambda obs: 3)
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match="the co-player's action in seat 1: 3 is not allowed"):
        view.step(0)


@pytest.mark.parametrize("action", [np.int64(1), np.uint8(1), np.array(1), jnp.int32(1)], ids=repr)
def test_integers_of_any_kind_are_legal(action):
    view = Single(RACE, Random(RACE.action))
    view.reset(seed=SEED)
    assert len(view.step(action)) == 5


def one_step(view):
    return view.step(0 if isinstance(view, Single) else {"player_0": 0, "player_1": 0})


@pytest.mark.parametrize(
    "make", [lambda: Parallel(RACE), lambda: Single(RACE, lambda obs: 0)], ids=["all", "one"]
)
def test_a_step_needs_a_game_that_has_begun_and_is_not_over(make):
    view = make()
    with pytest.raises(ResetNeeded, match="step: no game has begun; call reset first"):
        one_step(view)
    with pytest.raises(ResetNeeded, match="render: no game has begun; call reset first"):
        view.render()
    view.reset(seed=SEED)
    for _ in range(5):
        if view.session.over:
            break
        one_step(view)
    with pytest.raises(ResetNeeded, match="step: the game is over; call reset first"):
        one_step(view)
    view.reset()
    one_step(view)


def test_actions_of_the_wrong_agents_and_a_wrong_seat_are_refused():
    view = Parallel(RACE)
    view.reset(seed=SEED)
    with pytest.raises(ValueError, match="player_1"):
        view.step({"player_0": 0})
    with pytest.raises(ValueError, match="seat is 2; allowed: 0 to 1"):
        Single(RACE, turn, seat=2)


@pytest.mark.parametrize("seed", [-1, 2**32], ids=repr)
def test_a_seed_that_would_be_another_one_is_refused(seed):
    with pytest.raises(ValueError, match=r"seed: .* is not allowed; allowed: an integer from 0"):
        Parallel(RACE).reset(seed=seed)


def test_what_is_no_level_of_the_game_is_refused():
    for level in (maps.LEVELS.load("Cross"), 3):
        with pytest.raises(ValueError, match=r"level: .* is no level of this game"):
            Parallel(RACE).reset(options={"level": level})
    with pytest.raises(ValueError, match=r"level: 'Cross' is a name; .* maestro\.views takes names"):
        Parallel(ENV, level="Cross")


def test_spaces_follow_the_dtype_and_an_unknown_observation_is_refused():
    shape = {name: jax.ShapeDtypeStruct((2,), name) for name in ("bool", "uint8", "float32")}
    space = observation_space(shape)
    assert isinstance(space["bool"], gymnasium.spaces.MultiBinary)
    assert space["uint8"].high.max() == 255 and np.isinf(space["float32"].high).all()
    with pytest.raises(TypeError, match="observation is a tuple"):
        observation_space((1, 2))


def test_a_game_may_say_between_what_its_observations_lie():
    space = Single(ENV, turn).observation_space
    assert (space.low.min(), space.high.max(), space.dtype) == (0, 1, np.uint8)
    shape = {name: jax.ShapeDtypeStruct((2,), "float32") for name in ("far", "free", "near")}
    inner = observation_space(shape, {"near": (0, 1), "far": (-2, 3)})
    assert [(part.low[0], part.high[0]) for part in inner.values()] == [(-2, 3), (-np.inf, np.inf), (0, 1)]
    assert observation_space(shape, (0, 1))["far"].high[0] == 1


def test_observations_are_arrays_that_can_be_written_into():
    view = Single(RACE, lambda obs: 0)
    first, _ = view.reset(seed=SEED)
    for obs in (first, view.step(0)[0], view.session.view(1)):
        obs[:] = 9
    np.testing.assert_array_less(view.session.view(0), 9)


def test_render_modes_are_those_of_the_stage():
    shown = []
    for view in (Parallel, lambda stage: Single(stage, lambda obs: 0)):
        human = view(
            Stage(RACE, render_mode="human", renderers={"human": lambda *state: shown.append(state)})
        )
        human.reset(seed=SEED)
        one_step(human)
        assert human.render() is None and len(shown) == 3 and human.metadata["render_modes"] == ["human"]
        assert [int(state.time) for _, state in shown] == [0, 1, 1]
        shown.clear()
    with pytest.raises(ValueError, match="render_mode: 'rgb_array' is unknown; allowed: none"):
        Stage(RACE, render_mode="rgb_array")


def test_a_picture_that_nobody_asked_for_is_none_and_says_so():
    view = Parallel(RACE)
    view.reset(seed=SEED)
    with pytest.warns(UserWarning, match="no render_mode was chosen"):
        assert view.render() is None


def test_without_pettingzoo_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "maestro.envs.gym")
    with pytest.raises(ImportError, match=r"pip install maestro-ued\[interop\]"):
        importlib.import_module("maestro.envs.gym")
