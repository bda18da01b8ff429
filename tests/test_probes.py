"""Probe games: the whole training code finds values and actions that are known beforehand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort, envs
from probes import (
    QUICK,
    SMALL,
    FollowCue,
    ForgetfulAgent,
    LateReward,
    ObservedReward,
    Probe,
    Race,
    RecallCue,
    RockPaperScissors,
    SmallAgent,
    TimeLimit,
    experiment,
    image,
    start,
    with_changes,
)

UPDATES = 60
PPO = {"workers": 32, "epochs": 4, "gamma": 0.5, "learning_rate": 1e-2}


def learned(env, agent_class=SmallAgent, method="dr-sp", coplayer=None, updates=UPDATES):
    """(agent, parameters, metrics) after a run on a probe game; `coplayer` changes the first member."""
    schedule = {"total_updates": updates, "interval": updates}
    run = with_changes(SMALL, method=method, ppo=PPO, schedule=schedule)
    agent = agent_class(filters=8, hidden=16, heads=(16,), action=env.action)
    exp = experiment(run, env, agent)
    state = start(exp, 0, 1)
    if coplayer is not None:
        teacher = state.seeds.curriculum
        members = teacher.population.replace(params=coplayer(teacher.population.params))
        state = state.replace(seeds=state.seeds.replace(curriculum=teacher.replace(population=members)))

    def cycles(state):
        return jax.lax.scan(lambda s, _: cohort.train_step(exp, s), state, length=updates)

    state, metrics = jax.jit(cycles, compiler_options=QUICK)(state)
    assert state.updates == updates
    return agent, jax.tree.map(lambda x: x[0], state.seeds.learner.params), metrics


def looked_back(agent, params, *views):
    """(values, probabilities) over one episode of views."""
    obs = jnp.stack([view[0][None] for view in views])
    keep = jnp.ones((len(views), 1)).at[0].set(0)
    features = agent.unroll(params, obs, keep)
    probabilities = jax.nn.softmax(agent.policy(params, features))
    return np.asarray(agent.value(params, features))[:, 0], np.asarray(probabilities)[:, 0]


@pytest.mark.parametrize("env", [RecallCue(3), Race()])
def test_the_probes_are_sound_games(env) -> None:
    envs.check(env)


@pytest.mark.long
def test_the_value_of_a_constant_reward_is_found() -> None:
    value, _ = looked_back(*learned(Probe())[:2], image(1))
    np.testing.assert_allclose(value, [1], atol=0.05)


def test_the_value_follows_the_observation() -> None:
    agent, params, _ = learned(ObservedReward())
    found = [looked_back(agent, params, image(cue))[0][0] for cue in (-1, 1)]
    np.testing.assert_allclose(found, [-1, 1], atol=0.1)


@pytest.mark.long
def test_a_late_reward_is_discounted() -> None:
    value, _ = looked_back(*learned(LateReward(3))[:2], *(image(1, t) for t in range(3)))
    np.testing.assert_allclose(value, [0.25, 0.5, 1], atol=0.1)


def test_beyond_a_time_limit_the_rewards_go_on() -> None:
    """Always 1: worth 1 / (1 - gamma) = 2; if the limit were an end, 1.5 and 1."""
    value, _ = looked_back(*learned(TimeLimit())[:2], image(1), image(1))
    np.testing.assert_allclose(value, [2, 2], atol=0.15)


@pytest.mark.long
def test_the_action_that_the_observation_names_is_learned() -> None:
    agent, params, _ = learned(FollowCue())
    right = [looked_back(agent, params, image(2 * cue - 1))[1][0, cue] for cue in (0, 1)]
    assert min(right) > 0.9


def test_the_best_response_to_a_fixed_coplayer_is_learned() -> None:
    """The only member always plays 1, which 2 beats."""

    def always_paper(params):
        bias = params["actor"]["Dense_1"]["bias"]
        params["actor"]["Dense_1"]["bias"] = bias.at[:, 1, 1].set(50.0)
        return params

    agent, params, metrics = learned(RockPaperScissors(), method="dr-fsp", coplayer=always_paper)
    value, probabilities = looked_back(agent, params, image(1))
    assert probabilities[0, 2] > 0.9
    np.testing.assert_allclose(value, [1], atol=0.2)
    np.testing.assert_allclose(metrics.win_rate[-1, 0, 1], metrics.won[-1, 0], atol=0.1)


@pytest.mark.long
def test_only_memory_recalls_what_is_no_longer_seen() -> None:
    late = {}
    for agent in (SmallAgent, ForgetfulAgent):
        metrics = learned(RecallCue(3), agent, updates=100)[2]
        late[agent] = float(jnp.mean(metrics.student_return[-10:]))
    assert late[SmallAgent] > 0.8
    assert abs(late[ForgetfulAgent]) < 0.2
