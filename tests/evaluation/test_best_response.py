"""Best responses and exploitability, on games whose best answers are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, certain
from maestro.envs.base import Discrete
from maestro.evaluation import best_response, exploitability
from maestro.evaluation.best_response import Response, first_state, trained_to_the_end
from maestro.evaluation.play import repeated
from maestro.exploiters import against
from maestro.games import Game
from maestro.runs import agent_file, exploiters
from probes import SMALL, Level, Probe, RockPaperScissors, experiment, with_changes

UPDATES = 40
PPO = {"workers": 32, "epochs": 4, "gamma": 0.5, "learning_rate": 1e-2}
CONFIG = with_changes(SMALL, method="maestro", ppo=PPO)
EXPERIMENT = experiment(CONFIG, RockPaperScissors(), AGENT)
LEVELS = Level(jnp.arange(16), jnp.full(16, 9))


PRESET = with_changes(SMALL, game="", environment=None, agent=AGENT, ppo=PPO)
GAME = Game("rock-paper-scissors", RockPaperScissors, type(AGENT), {"tiny": PRESET})


def fair():
    """Parameters of one who takes every action alike: the only one who cannot be exploited."""
    return {**(params := certain(0)), "actor": jax.tree.map(jnp.zeros_like, params["actor"])}


def measured(frozen, start, seeds=2, **more):
    """What responses trained against an agent win."""
    response = best_response.train(7, EXPERIMENT, repeated(frozen, seeds), UPDATES, start, **more)
    key = jax.random.key(1)
    return exploitability.exploitability(key, EXPERIMENT, repeated(frozen), response, LEVELS, episodes=4)


def test_a_best_response_to_a_player_of_one_action_wins_every_game():
    heard = []
    found = measured(certain(0), "scratch", report=lambda *told: heard.append(told))
    assert found["response"]["won"] > 0.97 and found["response"]["return"] > 0.95
    assert found["agent_against_itself"]["drawn"] == 1 and found["agent_against_itself"]["return"] == 0
    assert found["gain"] == pytest.approx(found["response"]["return"])
    assert found["response"]["won_95"][0] > 0.9 and found["gain_95"][0] > 0.9
    curve = np.array(found["curve"]["return"])
    assert curve[0].mean() < 0.5 and curve[-1].min() > 0.9
    assert (found["seeds"], found["units"], found["levels"], found["games"]) == (2, "responses", 16, 128)
    assert found["budget"] == {
        **{"updates": UPDATES, "environment_steps": UPDATES * 32 * 16, "start": "scratch", "skipped": 0}
    }
    assert heard[-1][0] == UPDATES and [at for at, _ in heard] == sorted({at for at, _ in heard})


def test_nothing_is_gained_against_the_one_player_who_cannot_be_exploited():
    found = measured(fair(), "agent")
    assert abs(found["response"]["return"]) < 0.2 and abs(found["gain"]) < 0.2
    assert found["gain_95"][0] <= 0.1
    assert len(found["response"]["return_by_seed"]) == 2
    assert len(found["agent_against_itself"]["return_by_seed"]) == 1


def test_the_frozen_agent_is_the_only_coplayer_and_does_not_change_by_one_bit():
    frozen, game = certain(1, seed=3), against(EXPERIMENT, UPDATES)
    assert game.teacher.max_members == 1 and game.env == EXPERIMENT.env and game.ppo == EXPERIMENT.ppo
    before = jax.jit(lambda: first_state(game, 0, repeated(frozen, 2), "scratch"))()
    after, curve = trained_to_the_end(game, before)
    assert int(after.updates) == len(curve) == UPDATES
    for state in (before, after):
        population = state.seeds.curriculum.population
        np.testing.assert_array_equal(population.size, 1)
        same = jax.tree.map(
            lambda p, x: all(np.asarray(p[i, 1]).tobytes() == np.asarray(x).tobytes() for i in range(2)),
            *(population.params, frozen),
        )
        assert all(jax.tree.leaves(same))
    assert not bool(after.seeds.curriculum.population.games[:, 0].any())  # nobody played the live response
    assert bool((after.seeds.curriculum.population.games[:, 1] == UPDATES * 32 * 16).all())
    moved = jax.tree.map(
        lambda p, q: bool((p != q).any()), *(s.seeds.learner.params for s in (before, after))
    )
    assert any(jax.tree.leaves(moved))


def test_a_response_begins_with_the_agents_parameters_unless_from_scratch():
    frozen, game = certain(1, seed=3), against(EXPERIMENT, 3)
    same = {}
    for start in ("agent", "scratch"):
        state = jax.jit(lambda start=start: first_state(game, 0, repeated(frozen, 2), start))()
        equal = jax.tree.map(lambda p, x: bool((p == x[None]).all()), state.seeds.learner.params, frozen)
        same[start] = all(jax.tree.leaves(equal))
    assert same == {"agent": True, "scratch": False}


def test_minibatches_that_divide_the_sequences_of_two_seats_only_are_made_fewer():
    odd = experiment(with_changes(SMALL, ppo={"workers": 6, "minibatches": 4}), RockPaperScissors(), AGENT)
    assert against(odd, 3).ppo.minibatches == 2


class FirstSeatWins(Probe):
    """The first seat wins on levels of even number, the others are drawn."""

    action = Discrete(3)

    def reward(self, level, state, actions):
        return jnp.stack([1 - level.number % 2, level.number % 2 - 1])


def test_games_are_counted_for_the_response_from_both_seats():
    a, b = (exploitability.players(AGENT, jax.tree.map(lambda x: x[None], certain(i))) for i in (0, 1))
    found = exploitability.in_both_seats(jax.random.key(0), FirstSeatWins(), a, b, LEVELS, 3)
    assert found["score"].shape == (1, 2, 16, 3)
    expected = np.array([[1, 0] * 8, [-1, 0] * 8])[None, :, :, None]
    np.testing.assert_array_equal(found["score"], np.broadcast_to(expected, found["score"].shape))
    np.testing.assert_array_equal(found["outcome"], found["score"])
    told = exploitability.told(found)
    assert [told[name] for name in ("won", "drawn", "lost", "return")] == [0.25, 0.5, 0.25, 0]
    assert told["return_by_seat"] == [0.5, -0.5] and told["return_by_seed"] == [0]


class PaidByAction(Probe):
    """Both are paid the number of their own action, whoever the other is."""

    action = Discrete(3)

    def reward(self, level, state, actions):
        return actions


def test_the_gain_is_what_the_response_earns_more_than_the_agent_in_its_place():
    two = jax.tree.map(lambda x: x[None], certain(2))
    response, game = (
        Response(two, 1, 1, "agent", np.zeros((1, 1)), 0),
        experiment(env=PaidByAction(), agent=AGENT),
    )
    found = exploitability.exploitability(jax.random.key(0), game, repeated(certain(1)), response, LEVELS)
    assert found["response"]["return"] == 2 and found["agent_against_itself"]["return"] == 1
    assert (found["gain"], found["gain_95"], found["units"]) == (1, [1, 1], "levels")
    assert (found["response"]["won"], found["response"]["lost"], found["games"]) == (1, 0, 16 * 2 * 2)


def test_the_units_of_an_interval_are_the_responses_then_the_levels_then_the_games():
    score = np.zeros((2, 2, 3, 4))
    score[1] = 1.0
    half = 12.706204736 * np.sqrt(0.5 / 2)  # Student's t of one degree of freedom
    assert exploitability.spread(score) == pytest.approx([0.5 - half, 0.5 + half])
    levels = np.broadcast_to(np.arange(3.0)[None, None, :, None], (1, 2, 3, 4))
    half = 4.302652730 / np.sqrt(3)
    assert exploitability.spread(levels) == pytest.approx([1 - half, 1 + half])
    games = np.array([0.0, 1.0]).reshape(1, 2, 1, 1)
    assert exploitability.spread(games) == pytest.approx([0.5 - 6.353102368, 0.5 + 6.353102368])


def test_all_responses_to_an_agent_are_one_unit_where_there_are_several_agents():
    score = np.arange(4 * 2 * 3 * 4.0).reshape(4, 2, 3, 4)
    two = exploitability.pooled({"score": score}, 2)["score"]
    assert two.shape == (2, 2, 3, 8)
    np.testing.assert_array_equal(two[0, 1, 2], [*score[0, 1, 2], *score[1, 1, 2]])
    np.testing.assert_array_equal(two[1, 0, 1], [*score[2, 0, 1], *score[3, 0, 1]])


def test_every_response_answers_its_own_agent(tmp_path):
    both = [certain(0), certain(1)]
    found, params = exploiters.exploit(GAME, GAME.presets["tiny"], both, UPDATES, start="scratch")
    assert (found["agents"], found["seeds"], found["units"]) == (2, 2, "agents")
    assert min(found["response"]["return_by_seed"]) > 0.95 and found["gain_95"][0] > 0.9
    assert len(found["agent_against_itself"]["return_by_seed"]) == 2
    paths = exploiters.save(tmp_path, GAME.presets["tiny"], ["a/0", "a/1"], found, params)
    cards = [agent_file.read_card(path.with_suffix(".json")) for path in paths]
    assert [card["against"] for card in cards] == ["a/0", "a/1"]


def test_a_card_tells_of_the_response_that_it_lies_beside(tmp_path):
    frozen = jax.tree.map(lambda *x: jnp.stack(x), certain(1), certain(0))
    three = jax.tree.map(lambda *x: jnp.stack(x), certain(1), certain(2), certain(1), certain(0))
    response = Response(three, 1, 1, "agent", np.zeros((1, 4)), 0)
    game = experiment(env=RockPaperScissors(), agent=AGENT)
    found = exploitability.exploitability(jax.random.key(0), game, frozen, response, LEVELS)
    paths = exploiters.save(tmp_path, GAME.presets["tiny"], ["a/0", "a/1"], found, three)
    told = [agent_file.read_card(path.with_suffix(".json"))["result"] for path in paths]
    shares = [(one["won"], one["drawn"], one["lost"]) for one in told]
    assert shares == [(0, 1, 0), (1, 0, 0), (1, 0, 0), (0, 1, 0)] and len(told[0]) == 4
    assert [np.sign(one["return"]) for one in told] == [0, 1, 1, 0]


def test_several_responses_to_several_agents_are_told_by_agent():
    twos, frozen = repeated(certain(2), 4), jax.tree.map(lambda *x: jnp.stack(x), certain(1), certain(0))
    response = Response(twos, 1, 1, "agent", np.zeros((1, 4)), 0)
    game = experiment(env=PaidByAction(), agent=AGENT)
    found = exploitability.exploitability(jax.random.key(0), game, frozen, response, LEVELS)
    assert found["agent_against_itself"]["return_by_seed"] == [1, 0] and found["gain"] == 1.5
    assert found["gain_95"] == pytest.approx([1.5 - 12.706204736 / 2, 1.5 + 12.706204736 / 2])


def test_a_curve_of_many_updates_is_told_in_few_points():
    curve = np.arange(200.0).reshape(100, 2)
    curve[:2, 0] = np.nan
    told = exploitability.thinned(curve)
    assert told["updates"] == list(range(2, 101, 2)) and told["return"][:2] == [[None, 2.0], [5.0, 6.0]]
    assert exploitability.thinned(curve[:3])["updates"] == [1, 2, 3]


def test_an_agent_of_a_run_is_exploited_and_its_exploiters_are_kept(tmp_path):
    config = GAME.presets["tiny"]
    found, params = exploiters.exploit(GAME, config, [certain(0)], UPDATES, seeds=2, start="scratch")
    assert found["response"]["won"] > 0.97 and found["levels"] == exploiters.GENERATED
    assert found["trained_on"] == "generated levels"
    paths = exploiters.save(tmp_path, config, ["maestro seed 0"], found, params)
    assert [path.name for path in paths] == ["exploiter-0.safetensors", "exploiter-1.safetensors"]
    for i, path in enumerate(paths):
        _, loaded = agent_file.load_params(path, GAME)
        same = jax.tree.map(lambda x, y, i=i: bool((x == y[i]).all()), loaded, params)
        assert all(jax.tree.leaves(same))
    card = agent_file.read_card(paths[1].with_suffix(".json"))
    assert (card["method"], card["against"], card["seed"]) == ("best response", "maestro seed 0", 1)
    assert (card["updates"], card["environment_steps"]) == (UPDATES, UPDATES * 32 * 16)
    assert card["result"] == found["by_response"][1] and card["result"]["won"] > 0.95


def test_levels_of_a_generalist_are_held_out_and_a_specialist_is_met_on_its_own():
    drawn = exploiters.held_out(EXPERIMENT)
    assert drawn.number.shape == (exploiters.GENERATED,) and len(np.unique(drawn.number)) > 10
    one = experiment(CONFIG, RockPaperScissors(), AGENT, lambda key: Level(jnp.int32(5), jnp.int32(9)), 1)
    assert exploiters.held_out(one).number.tolist() == [5]


@pytest.mark.parametrize("wrong", [{"updates": 0}, {"seeds": 0}, {"episodes": 0}])
def test_a_budget_of_nothing_is_refused(wrong):
    asked = {"updates": 1, "seeds": 1, "episodes": 1} | wrong
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} 0.*at least 1"):
        exploiters.exploit(GAME, GAME.presets["tiny"], [certain(0)], **asked)


def test_a_response_says_how_many_of_its_updates_were_lost():
    response = Response(certain(0), 3, 60, "agent", np.zeros((3, 1)), 2)
    assert exploitability.budget(response)["skipped"] == 2
