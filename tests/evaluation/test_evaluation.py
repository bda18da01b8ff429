"""Games of trained students against fixed opponents, by `Evaluation` itself."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ledger import AGENT, Always, certain, equal, students
from maestro.config import EvaluationConfig
from maestro.envs.players import Sight
from maestro.evaluation.opponents import Evaluation, first_members, seed_keys, trained
from probes import (
    QUICK,
    Probe,
    Race,
    RockPaperScissors,
    SmallAgent,
    experiment,
    record,
    start,
    with_changes,
)

WON, DRAWN, LOST = np.eye(3)
KEYS = seed_keys(jax.random.key(11), 0, 3)
SIGHT = Sight(None, None, 0)


class FirstSeatWins(RockPaperScissors):
    """Whatever is done."""

    def reward(self, level, state, actions):
        return jnp.array([1, -1])


class LevelDecides(RockPaperScissors):
    """The first seat wins on levels of even number, the second on the others."""

    def reward(self, level, state, actions):
        won = jnp.where(level.number % 2 == 0, 1, -1)
        return jnp.stack([won, -won])


@pytest.fixture(scope="module")
def three_seeds() -> Any:
    """Students that beat their first member, draw with it and lose to it."""
    return students([2, 1, 0], [1, 1, 1])


def games(
    env: Probe, opponents: tuple[str, ...], players: dict[str, Any], state: Any, levels: int = 4
) -> Any:
    """(shares won, drawn and lost [seeds, 3] by opponent, the levels)."""
    config = EvaluationConfig(levels=levels, opponents=opponents)
    evaluation = Evaluation(KEYS, config, experiment(env=env, agent=AGENT), players)
    play = jax.jit(evaluation, compiler_options=QUICK)
    return jax.device_get(play(state, evaluation.levels)), evaluation.levels


def test_each_student_meets_its_own_first_member_and_the_scripted_players(three_seeds) -> None:
    players = {"zero": Always(0), "one": Always(1), "unasked": Always(2)}
    found, _ = games(RockPaperScissors(), ("zero", "first", "one"), players, three_seeds)
    assert set(found) == {"zero", "first", "one"}
    np.testing.assert_array_equal(found["first"], [WON, DRAWN, LOST])
    np.testing.assert_array_equal(found["one"], [WON, DRAWN, LOST])
    np.testing.assert_array_equal(found["zero"], [LOST, WON, DRAWN])


def test_the_first_member_is_neither_the_live_student_nor_a_later_member(three_seeds) -> None:
    bias = first_members(three_seeds)["actor"]["Dense_1"]["bias"]
    np.testing.assert_array_equal(np.argmax(bias, axis=-1), [1, 1, 1])


def test_half_of_the_games_are_played_from_the_other_seat(three_seeds) -> None:
    found, _ = games(FirstSeatWins(), ("first", "one"), {"one": Always(1)}, three_seeds)
    for name in ("first", "one"):
        np.testing.assert_array_equal(found[name], [[0.5, 0, 0.5]] * 3)


def test_the_levels_are_the_generators_and_the_same_every_time() -> None:
    config, exp = EvaluationConfig(levels=6, opponents=("first",)), experiment(agent=AGENT)
    other = seed_keys(jax.random.key(12), 0, 3)
    one, same, other = (Evaluation(keys, config, exp, {}) for keys in (KEYS, KEYS, other))
    np.testing.assert_array_equal(one.levels.number, same.levels.number)
    assert (one.levels.number != other.levels.number).any()
    assert len(set(one.levels.number.ravel().tolist())) > 1
    np.testing.assert_array_equal(one.levels.time_limit, 2 + one.levels.number % 4)


def test_every_level_counts_once(three_seeds) -> None:
    """On every second level the student sits in the second seat."""
    found, levels = games(LevelDecides(), ("first",), {}, three_seeds, levels=16)
    won = np.mean((levels.number % 2 == 0) == (np.arange(16) % 2 == 0)[None], axis=1)
    assert ((won > 0) & (won < 1)).all() and len(set(won.tolist())) > 1
    np.testing.assert_allclose(found["first"], np.stack([won, 0 * won, 1 - won], axis=1))


def test_each_seed_plays_levels_and_dice_of_its_own_by_its_number_alone() -> None:
    """Undecided students: the last of three plays as it would alone, and not as the others do."""
    exp, config = experiment(env=Race(), agent=AGENT), EvaluationConfig(levels=64, opponents=("first",))
    state = start(exp, 5, 3)
    same = jax.tree.map(lambda x: jnp.broadcast_to(x[2], x.shape), state.seeds.learner.params)
    state = state.replace(seeds=state.seeds.replace(learner=state.seeds.learner.replace(params=same)))
    last = state.replace(seeds=jax.tree.map(lambda x: x[2:], state.seeds))
    found = []
    for first, cohort in ((5, state), (7, last)):
        keys = seed_keys(jax.random.key(11), first, cohort.seeds.key.shape[0])
        evaluation = Evaluation(keys, config, exp, {})
        play = jax.jit(evaluation, compiler_options=QUICK)
        found.append((evaluation.levels.number, play(cohort, evaluation.levels)["first"]))
    (levels, shares), (own_levels, own_shares) = jax.device_get(found)
    np.testing.assert_array_equal(own_levels[0], levels[2])
    np.testing.assert_array_equal(own_shares[0], shares[2])
    assert len({tuple(x) for x in levels.tolist()}) == len({tuple(x) for x in shares.tolist()}) == 3


def test_with_a_warm_up_the_first_opponent_is_the_initial_student_until_someone_joins() -> None:
    """Not a network of zeros; and so it stays as long as nobody joins."""
    exp = experiment(with_changes(method="dr-fsp", schedule={"warmup": 3}), agent=AGENT)
    states, _, _ = record(exp, start(exp, 0, 2), 3)
    initial = states[0].seeds.learner.params
    for state in states:
        now, joined = state.seeds.learner.params, int(state.updates) == 3
        assert (state.seeds.curriculum.population.size == joined).all()
        assert equal(first_members(state), now if joined else initial)
        assert equal(now, initial) == (state.updates == 0)


def test_a_trained_player_samples_its_actions_by_the_key() -> None:
    """One who is undecided takes different actions by different keys, one who is not always the same."""
    keys = jax.random.split(jax.random.key(0), 64)
    for params, kinds in ((certain(1), 1), (AGENT.init(jax.random.key(1)), 3)):
        player = trained(AGENT, params)
        act = jax.vmap(lambda k, p=player: p.act(k, p.start(), jnp.ones((3, 3, 1)), SIGHT)[1])
        assert len(set(jax.jit(act, compiler_options=QUICK)(keys).tolist())) == kinds


def test_a_trained_player_remembers_what_it_saw_in_its_episode() -> None:
    agent = SmallAgent()
    params = agent.init(jax.random.key(2))
    player, views = trained(agent, params), jax.random.normal(jax.random.key(3), (5, 3, 3, 1))
    act = jax.jit(lambda m, view: player.act(jax.random.key(4), m, view, SIGHT)[0], compiler_options=QUICK)
    look_back = jax.jit(
        lambda keep: agent.unroll(params, views[:, None], keep)[-1, 0], compiler_options=QUICK
    )
    memory = player.start()
    for view in views:
        memory = act(memory, view)
    features = look_back(jnp.array([[0.0], *[[1.0]] * 4]))
    np.testing.assert_allclose(agent.features(memory), features, atol=1e-5)
