"""The network in the page is the package's, given the same numbers in half precision."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import web_games
from maestro.agents.conv_lstm import ConvLSTM
from maestro.envs.lasertag import maps
from maestro.envs.lasertag.players import PLAYERS
from maestro.evaluation.opponents import trained
from maestro.games import shipped
from maestro.runs import agent_file
from web_page import scripts

CLOSE = 1e-4
OLD = Path(__file__).parents[2] / "golden" / "run_0.1.0" / "agents" / "student-0.safetensors"

THINK = """([agent, episodes]) => {
  const policy = maestro.lasertag.policy(agent);
  return JSON.stringify(episodes.map((views) => {
    let memory = policy.start();
    return views.map((view) => {
      const mind = policy.step(memory, Uint8Array.from(view));
      memory = mind.memory;
      return [...mind.logits, mind.value];
    });
  }));
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with scripts(tmp_path_factory.mktemp("page")) as page:
        yield page


@pytest.fixture(scope="module")
def episodes():
    """What both seats saw in whole games of two trained agents, and of one against a hunter."""
    levels = web_games.stacked([maps.LEVELS.load(name) for name in maps.TEST])
    a, b = (trained(*web_games.shipped_agent(name)) for name in ("maestro", "dr-sp"))
    found = []
    for other, seed in ((b, 1), (PLAYERS["hunter"], 2)):
        games = web_games.play(levels, a, other, seed)
        for game in range(len(maps.TEST)):
            found += [games.obs[game, : games.length(game), seat] for seat in (0, 1)]
    return found


def in_python(agent, params, episodes):
    """Logits and value, [steps, 6], of all episodes in a row; the memory is dropped at every start."""
    obs = jnp.asarray(np.concatenate(episodes))[:, None]
    starts = np.cumsum([0, *map(len, episodes[:-1])])
    keep = jnp.ones((len(obs), 1)).at[starts].set(0.0)
    features = jax.jit(agent.unroll)(params, obs, keep)
    outputs = agent.policy(params, features), agent.value(params, features)[..., None]
    return np.concatenate(outputs, axis=-1)[:, 0]


def farthest(page, agent, params, episodes):
    """The largest difference in a logit or a value; the parameters are rounded to halves for both."""
    arrays = agent_file.flatten(params)
    halves = agent_file.unflatten(params, rounded(arrays))
    views = [episode.reshape(len(episode), -1).tolist() for episode in episodes]
    told = json.loads(page.evaluate(THINK, [{"arrays": web_games.packed(params)}, views]))
    found = np.concatenate([np.array(episode) for episode in told])
    expected = in_python(agent, halves, episodes)
    assert expected.std(axis=0).min() > 1e-3  # it does not say the same of everything
    return float(np.abs(found - expected).max())


def rounded(arrays):
    """Arrays with the numbers that half precision has."""
    return {name: array.astype(np.float16).astype(array.dtype) for name, array in arrays.items()}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "maestro" else pytest.mark.long)
        for name in shipped.names("lasertag")
    ],
)
def test_a_shipped_agent_says_the_same_over_whole_games(page, episodes, name):
    agent, params = web_games.shipped_agent(name)
    assert farthest(page, agent, params, episodes[::5] if name == "maestro" else episodes[::8]) < CLOSE


@pytest.mark.long
def test_a_shipped_agent_says_the_same_in_every_game(page, episodes):
    assert farthest(page, *web_games.shipped_agent("maestro"), episodes) < CLOSE


@pytest.mark.long
def test_a_small_network_of_64_units_says_the_same(page, episodes):
    agent = ConvLSTM(hidden=64)
    params = jax.tree.map(lambda x: 3 * x + 0.1, agent.init(jax.random.key(0)))
    assert farthest(page, agent, params, episodes[::4]) < CLOSE


def test_a_network_of_other_filters_and_heads_says_the_same(page, episodes):
    agent, params = agent_file.load_params(OLD)
    assert farthest(page, agent, params, episodes[::7]) < CLOSE


def test_every_number_of_half_precision_is_widened_exactly(page):
    bits = np.arange(2**16, dtype=np.uint16)
    finite = bits[np.isfinite(bits.view(np.float16))]
    found = page.evaluate("(bytes) => Array.from(maestro.lasertag.widened(bytes))", list(finite.tobytes()))
    assert (np.array(found, np.float32) == finite.view(np.float16).astype(np.float32)).all()


def test_actions_come_with_their_probabilities_and_the_same_seed_draws_the_same(page):
    draw = """([seed, logits]) => {
      const game = maestro.lasertag;
      const [roll, chances] = [game.dice(seed), game.probabilities(logits)];
      return Array.from({ length: 20000 }, () => game.picked(chances, roll()));
    }"""
    logits = [0.0, 1.0, -1.0, 2.0, -30.0]
    chances = np.exp(logits) / np.exp(logits).sum()
    for seed in (0, 1, 2, 999_999):
        drawn = page.evaluate(draw, [seed, logits])
        shares = np.bincount(drawn, minlength=5) / len(drawn)
        assert np.abs(shares - chances).max() < 0.02  # 5 standard deviations
        assert drawn == page.evaluate(draw, [seed, logits])
    assert page.evaluate(draw, [1, logits]) != page.evaluate(draw, [2, logits])
