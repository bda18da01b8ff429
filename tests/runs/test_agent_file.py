"""Trained agents as files: what is loaded is what was saved, or nothing is."""

import json
import tracemalloc
from dataclasses import replace

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from maestro import cli
from maestro.agents.conv_lstm import ConvLSTM
from maestro.envs.base import observation_shape
from maestro.evaluation.opponents import Trained
from maestro.games.lasertag import GAME
from maestro.runs import agent_file
from maestro.runs.agent_file import AgentError
from runs_helpers import RACE

CONFIG = replace(GAME.presets["tiny"], agent=ConvLSTM(filters=2, hidden=4, heads=(3,)))
AGENT = CONFIG.agent.fitted(observation_shape(CONFIG.environment), CONFIG.environment.action)


@pytest.fixture
def saved(tmp_path):
    """An agent on disk, and its parameters."""
    params = AGENT.init(jax.random.key(5))
    path = tmp_path / "student.safetensors"
    agent_file.save(path, CONFIG, params, {"seed": 5, "updates": 7})
    return path, params


def change_card(path, **changes):
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(card | changes))


def test_parameters_come_back_to_the_last_bit(saved):
    path, params = saved
    agent, loaded = agent_file.load_params(path)
    assert agent == AGENT
    assert jax.tree.structure(loaded) == jax.tree.structure(params)
    same = jax.tree.map(lambda a, b: np.asarray(a).tobytes() == np.asarray(b).tobytes(), loaded, params)
    assert all(jax.tree.leaves(same))


def test_the_card_says_what_the_file_is(saved):
    card = json.loads(saved[0].with_suffix(".json").read_text())
    assert card["agent"] == {"filters": 2, "hidden": 4, "heads": [3], "name": "conv_lstm"}
    assert card["parameters"] == sum(x.size for x in jax.tree.leaves(saved[1]))
    assert (card["game"], card["method"], card["seed"], card["updates"]) == ("lasertag", "maestro", 5, 7)


def test_saving_leaves_nothing_but_the_file_and_its_card(saved):
    names = sorted(path.name for path in saved[0].parent.iterdir())
    assert names == ["student.json", "student.safetensors"]


def test_an_agent_is_loaded_by_the_name_of_its_file(saved):
    assert isinstance(agent_file.load(str(saved[0])), Trained)


@pytest.mark.parametrize("where", [0, 5, 40, -1])
def test_a_flipped_bit_is_refused(saved, where):
    content = bytearray(saved[0].read_bytes())
    content[where] ^= 4
    saved[0].write_bytes(content)
    with pytest.raises(AgentError, match=r"student.safetensors: not the file that its card describes"):
        agent_file.load(saved[0])


NETWORKS = {"hidden": 5, "filters": 3, "heads": [3, 3]}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_card_of_another_network_is_refused(saved, name):
    network = {"filters": 2, "hidden": 4, "heads": [3]} | {name: NETWORKS[name]}
    change_card(saved[0], agent=network)
    told = r"student.safetensors: (.* is float32|holds other arrays|not the file .* take)"
    with pytest.raises(AgentError, match=told):
        agent_file.load(saved[0])


def test_a_vast_network_on_the_card_of_a_small_file_is_refused_with_little_memory(saved):
    """Its parameters would take 600 GB: whoever asks for so many bytes gets a MemoryError."""
    change_card(saved[0], agent={"filters": 2, "hidden": 65_536, "heads": [65_536] * 16})
    tracemalloc.start()
    try:
        with pytest.raises(AgentError, match=r"student.safetensors: not the file .* alone take 6\d\d,.*"):
            agent_file.load(saved[0])
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("missing", [".safetensors", ".json"])
def test_the_message_names_the_file_that_was_typed(saved, capsys, missing):
    saved[0].with_suffix(missing).unlink()
    assert cli.run(["duel", "Cross", "--a", str(saved[0])]) == 2
    card = "its card, student.json: " * (missing == ".json")
    assert capsys.readouterr().err == f"maestro: --a: {saved[0]}: {card}No such file or directory\n"


CARDS = {
    "another game": (
        {"game": "chess"},
        "student.safetensors: its card, student.json: the game 'chess' is not known here",
    ),
    "no game": ({"game": 3}, "no card of an agent"),
    "no network": ({"agent": 3}, "no card of an agent"),
    "no environment": ({"environment": 3}, "no card of an agent"),
    "an unknown rule": ({"environment": {"min_sise": 4}}, "environment.min_sise: unknown setting; did you"),
    "a vast level": ({"environment": {"max_size": 10**9}}, "environment.max_size: 1000000000 is out of"),
    "an unknown setting": ({"agent": {"hiden": 4}}, "hiden: unknown setting; did you mean hidden"),
    "a wrong type": ({"agent": {"hidden": "4"}}, "hidden: '4' is not a whole number"),
    "a vast network": ({"agent": {"hidden": 10**9}}, "agent.hidden: 1000000000 is out of range"),
    "too many layers": ({"agent": {"heads": [1] * 99}}, "agent.heads: 99 entries; allowed: at most 16"),
    "an odd precision": ({"dtype": "float8"}, "dtype: 'float8' is not allowed; allowed: float16, float32"),
    "no digest": ({"sha256": None}, "not the file that its card describes"),
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_that_cannot_be_meant_is_refused(saved, name):
    changes, message = CARDS[name]
    change_card(saved[0], **changes)
    with pytest.raises(AgentError, match=message):
        agent_file.load(saved[0])


@pytest.fixture
def half(tmp_path):
    """An agent on disk in half precision, and its parameters."""
    params = AGENT.init(jax.random.key(6))
    path = tmp_path / "half.safetensors"
    agent_file.save(path, CONFIG, params, {"seed": 5}, half=True)
    return path, params


def test_half_precision_takes_two_bytes_a_number_and_comes_back_in_full(half):
    path, params = half
    card = json.loads(path.with_suffix(".json").read_text())
    assert card["dtype"] == "float16" and {x.dtype for x in load_file(path).values()} == {np.dtype("float16")}
    agent, loaded = agent_file.load_params(path)
    assert agent == AGENT and jax.tree.structure(loaded) == jax.tree.structure(params)
    rounded = jax.tree.map(lambda x: np.asarray(x).astype("float16").astype("float32"), params)
    assert all(
        a.dtype == "float32" and np.array_equal(a, b)
        for a, b in zip(*map(jax.tree.leaves, (loaded, rounded)), strict=True)
    )


def test_an_agent_in_half_precision_plays(half, capsys):
    assert cli.run(["duel", "random", "--a", str(half[0]), "--b", "random", "--games", "4"]) == 0
    assert capsys.readouterr().out.startswith("4 games: A trained won ")


def test_a_file_in_half_precision_must_be_the_one_of_its_card(half):
    content = bytearray(half[0].read_bytes())
    content[-1] ^= 4
    half[0].write_bytes(content)
    with pytest.raises(AgentError, match=r"half.safetensors: not the file that its card describes"):
        agent_file.load(half[0])


def test_a_file_of_another_precision_than_its_card_says_is_refused(half, saved, tmp_path):
    change_card(half[0], dtype=None)
    with pytest.raises(AgentError, match=r"half.safetensors: (not the file .* alone take|.* is float16)"):
        agent_file.load(half[0])
    change_card(saved[0], dtype="float16")
    with pytest.raises(AgentError, match=r"student.safetensors: (not the file .* alone take|.* is float32)"):
        agent_file.load(saved[0])


@pytest.mark.parametrize("number", [1e5, -1e5, np.inf, np.nan])
def test_a_number_that_half_precision_cannot_hold_is_refused_before_anything_is_written(tmp_path, number):
    params = AGENT.init(jax.random.key(6))
    params["lstm"]["b"] = params["lstm"]["b"].at[0].set(number)
    with pytest.raises(AgentError, match=r"^lstm.b holds a number that half precision .* is 65,504$"):
        agent_file.save(tmp_path / "large.safetensors", CONFIG, params, {}, half=True)
    assert not list(tmp_path.iterdir())


def test_an_agent_of_another_game_than_the_one_that_is_played_is_refused(saved):
    with pytest.raises(AgentError, match=r"student.json: plays 'lasertag', not race"):
        agent_file.load(saved[0], RACE)


def test_numbers_that_are_not_finite_are_refused(saved):
    params = jax.tree.map(lambda x: x.at[(0,) * x.ndim].set(np.nan), saved[1])
    agent_file.save(saved[0], CONFIG, params, {})
    with pytest.raises(AgentError, match="not finite"):
        agent_file.load(saved[0])


@pytest.mark.parametrize("name", ["none.safetensors", "student.json", "", ".", "a\0.safetensors"])
def test_what_is_no_agents_file_is_told(saved, name):
    path = saved[0].parent / name
    with pytest.raises(AgentError, match=r"No such file|does not end in .safetensors|null byte"):
        agent_file.load(path)


def test_a_lost_card_is_told(saved):
    saved[0].with_suffix(".json").unlink()
    with pytest.raises(AgentError, match=r"student.json: No such file"):
        agent_file.load(saved[0])


def test_an_exported_agent_plays_from_the_command_line(saved, capsys):
    code = cli.run(["duel", "random", "--a", str(saved[0]), "--b", "random", "--games", "4"])
    words = capsys.readouterr().out.replace(",", "").split()
    assert code == 0 and words[:5] == ["4", "games:", "A", "trained", "won"]
    assert sum(int(words[i]) for i in (5, 9, 11)) == 4


def test_a_bad_agent_on_the_command_line_is_a_mistake(saved, capsys):
    saved[0].write_bytes(b"no arrays")
    assert cli.run(["duel", "random", "--a", str(saved[0]), "--b", "random", "--games", "4"]) == 2
    assert "not the file that its card describes" in capsys.readouterr().err
