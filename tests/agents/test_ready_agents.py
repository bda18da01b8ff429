"""Ready agents by name: each fits what it is for, learns a game whose best actions are known, and is kept."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import agents, cli, cohort, envs, toml
from maestro.agents.base import Agent
from maestro.agents.conv import Conv
from maestro.agents.conv_beta import ConvBeta
from maestro.agents.conv_lstm import ConvLSTM
from maestro.agents.distributions import Beta, Categorical, Gaussian
from maestro.agents.mlp import MLP
from maestro.agents.vector_lstm import VectorLSTM
from maestro.envs.base import Box, Discrete
from maestro.games import Game
from maestro.runs import build
from maestro.runs.versions import upgrade
from probes import QUICK, Level, Race, start
from ready_games import AIM, PRESETS, RECALL, RECALL_MLP, SPOT, Aim, Recall, Spot
from runs_helpers import call as call_process

GRID = jax.ShapeDtypeStruct((5, 6, 2), jnp.uint8)
TREE = {"far": jax.ShapeDtypeStruct((3,), jnp.float32), "near": jax.ShapeDtypeStruct((2, 2), jnp.uint8)}
SMALL = {
    "mlp": (MLP((8,)), TREE),
    "lstm": (VectorLSTM(8, 8, (8,)), TREE),
    "conv": (Conv(4, (8,)), GRID),
    "conv_lstm": (ConvLSTM(4, 8, (8,)), GRID),
    "conv_beta": (ConvBeta((4, 4), (2, 2), (2, 1), (8,)), GRID),
}
ACTIONS = {Discrete(4): Categorical(4), Box(2, -1.0, 3.0): Gaussian(Box(2, -1.0, 3.0))}
BETAS = {Box(2, -1.0, 3.0): Beta(Box(2, -1.0, 3.0))}


@pytest.mark.parametrize("name", agents.READY)
def test_a_game_names_its_agent(name):
    game = Game("race", Race, name)
    assert game.agent is type(SMALL[name][0]) and game.presets["tiny"].agent == game.agent()
    assert game == replace(game) and isinstance(game.agent(), Agent)
    assert game.agent().name == name and 'name = "' + name in toml.to_toml(game.presets["tiny"])


def test_a_game_that_says_nothing_of_its_agent_gets_one_that_fits_any_observation():
    assert Game("race", Race).agent is MLP


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("lstn", "agent: 'lstn' is unknown; allowed: mlp, lstm, conv, conv_lstm, conv_beta"),
        ("MLP", "agent: 'MLP' is unknown; allowed: mlp, lstm, conv, conv_lstm, conv_beta"),
        (MLP((8,)), r"agent: MLP\(.*\) is no frozen dataclass"),
        (3, "agent: 3 is no frozen dataclass"),
        (dict, "agent: dict is no frozen dataclass"),
    ],
)
def test_an_agent_that_is_none_is_refused_with_what_is_allowed(agent, told):
    with pytest.raises((ValueError, TypeError), match=told):
        Game("race", Race, agent)


def test_a_preset_has_the_agent_of_its_game():
    other = {"tiny": replace(PRESETS["tiny"], agent=MLP())}
    with pytest.raises(TypeError, match=r"presets: agent is MLP\(.*\), no VectorLSTM"):
        Game("race", Race, "lstm", other)
    with pytest.raises(TypeError, match=r"presets: environment is Race.*, no Recall"):
        Game("recall", Recall, "lstm", {"tiny": replace(PRESETS["tiny"], environment=Race())})


def views(shapes, *lead):
    """Random observations with some leading axes."""
    random = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(random.integers(0, 3, (*lead, *s.shape)), s.dtype), shapes)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("action", ACTIONS, ids=["discrete", "box"])
def test_every_ready_agent_takes_every_kind_of_action(name, action):
    """Shapes only; also of several agents side by side."""
    config, shapes = SMALL[name]
    agent = config.fitted(shapes, action)
    expected = (ACTIONS | BETAS if name == "conv_beta" else ACTIONS)[action]
    assert agent.distribution == expected and hash(agent) == hash(config.fitted(shapes, action))

    def run(key):
        params = agent.init(key)
        features = agent.unroll(params, views(shapes, 5, 2), jnp.ones((5, 2)))
        memory, now = agent.step(agent.prepare(params), agent.start(2), views(shapes, 2))
        output = agent.policy(params, features)
        drawn = agent.distribution.sample(key, output[0, 0])
        assert agent.features(memory).shape == now.shape == features.shape[1:]
        return output, agent.value(params, features), drawn

    outputs, values, drawn = jax.eval_shape(jax.vmap(run), jax.random.split(jax.random.key(0), 3))
    assert outputs.shape == (3, 5, 2, 4) and values.shape == (3, 5, 2)
    assert drawn.shape == ((3,) if action == Discrete(4) else (3, 2))


@pytest.mark.parametrize("name", ["lstm", "conv", "conv_beta"])
def test_acting_step_by_step_is_looking_back_over_all_steps(name):
    config, shapes = SMALL[name]
    agent = config.fitted(shapes, Discrete(4))
    params = jax.jit(agent.init)(jax.random.key(0))
    obs = views(shapes, 6, 3)
    keep = jnp.asarray(np.random.default_rng(1).random((6, 3)) >= 0.3, jnp.float32).at[0].set(0.0)
    weights, step = agent.prepare(params), jax.jit(agent.step)
    memory, features = agent.start(3), []
    for t in range(6):
        memory = jax.tree.map(lambda m, t=t: m * keep[t][:, None], memory)
        memory, now = step(weights, memory, jax.tree.map(lambda x, t=t: x[t], obs))
        np.testing.assert_array_equal(agent.features(memory), now)
        features.append(now)
    np.testing.assert_allclose(jnp.stack(features), jax.jit(agent.unroll)(params, obs, keep), atol=1e-5)


@pytest.mark.parametrize("agent", [Conv(), ConvLSTM()])
@pytest.mark.parametrize(
    "shapes",
    [TREE, *(jax.ShapeDtypeStruct(s, jnp.float32) for s in [(5,), (5, 5), (2, 5, 1), (5, 2, 1), (5, 5, 0)])],
    ids=str,
)
def test_a_convolution_refuses_what_is_no_grid(agent, shapes):
    with pytest.raises(ValueError, match=r"needs views \[rows, columns, channels\] of at least 3 x 3, not"):
        agent.fitted(shapes, Discrete(2))


def learned(game, updates, **changes):
    """(agent, parameters, metrics) after a run that a game's own value describes."""
    schedule = {"total_updates": updates, "interval": updates}
    config = build.configure(game, game.presets["tiny"], {"schedule": schedule, **changes})
    exp = build.experiment(game, config)

    def cycles(state):
        return jax.lax.scan(lambda s, _: cohort.train_step(exp, s), state, length=updates)

    state, metrics = jax.jit(cycles, compiler_options=QUICK)(start(exp, 0, 1))
    assert state.updates == updates and not state.seeds.learner.skipped.any()
    return exp.agent, jax.tree.map(lambda x: x[0], state.seeds.learner.params), metrics


ALL_LEVELS = Level(jnp.arange(48), jnp.full(48, 9))


def test_a_game_of_real_actions_is_sound():
    envs.check(Aim())


@pytest.mark.long
def test_real_numbers_are_learned_to_be_aimed_at_the_target():
    """From the center, 1, which is 1 away from the mean target; a random action is 1.3 away."""
    agent, params, metrics = learned(AIM, 60)
    targets = jax.vmap(Aim().target)(ALL_LEVELS)
    mean, _ = agent.distribution.moments(agent.policy(params, targets))
    off = np.abs(np.clip(1 + 2 * mean, -1, 3) - targets)
    assert off.mean() < 0.1 and off.max() < 0.3
    assert metrics.losses.entropy[-1, 0] < metrics.losses.entropy[0, 0] - 2


@pytest.mark.long
def test_a_convolution_learns_where_something_is_on_a_grid():
    agent, params, _ = learned(SPOT, 30, agent={"filters": 4, "heads": [16]})
    grids = jax.vmap(lambda level: Spot().observe(level, None)[0])(ALL_LEVELS)
    features = agent.unroll(params, grids[None], jnp.zeros((1, 48)))
    chosen = agent.policy(params, features)[0].argmax(axis=-1)
    np.testing.assert_array_equal(chosen, jax.vmap(Spot().place)(ALL_LEVELS)[1] // 2)


@pytest.mark.long
def test_the_lstm_recalls_what_the_mlp_cannot():
    small = {"units": 16, "hidden": 16, "heads": [16]}
    late = {
        game.name: float(learned(game, 40, agent=agent)[2].student_return[-10:].mean())
        for game, agent in ((RECALL, small), (RECALL_MLP, {"layers": [16]}))
    }
    assert late["recall"] > 0.9 and abs(late["recall-mlp"]) < 0.2


def test_a_game_of_real_actions_trains_plays_and_is_exported(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny = ["--ppo.rollout-length", 4, "--ppo.workers", 4, "--schedule.total-updates", 4]
    tiny += ["--evaluation.times", 1, "--evaluation.levels", 2, "--schedule.interval", 2, "--agent.layers", 4]
    code, _, err = call_process("train", "ready_games:AIM", *tiny, "--out", "run")
    assert (code, err) == (0, "")
    card = json.loads((tmp_path / "run" / "agents" / "student-0.json").read_text())
    assert card["agent"] == {"layers": [4], "name": "mlp"}
    kept = build.configure(AIM, AIM.presets["tiny"], upgrade(toml.read(tmp_path / "run" / "config.toml")))
    assert kept.agent == MLP((4,))
    game = ["--game", "ready_games:AIM"]
    assert cli.run(["export", "run", *game, "--out", "agents"]) == 0
    student = "agents/student-0.safetensors"
    assert cli.run(["duel", "random", *game, "--a", student, "--b", "random", "--games", "4"]) == 0
    assert "4 games: A trained won " in capsys.readouterr().out
    card_path = tmp_path / "agents" / "student-0.json"
    card_path.write_text(json.dumps(card | {"agent": {"name": "lstm"}}))
    assert cli.run(["duel", "random", *game, "--a", student]) == 2
    assert "agent.name: 'lstm' is not allowed; allowed: mlp" in capsys.readouterr().err


def test_the_layer_before_the_lstm_has_its_own_units():
    agent = VectorLSTM(units=5, hidden=7).fitted(jax.ShapeDtypeStruct((3,), jnp.float32), Discrete(2))
    params = agent.init(jax.random.key(0))
    shapes = {name: [x.shape for x in jax.tree.leaves(params[name])] for name in ("layer", "lstm")}
    assert (3, 5) in shapes["layer"] and (5, 4 * 7) in shapes["lstm"] and (7, 4 * 7) in shapes["lstm"]
