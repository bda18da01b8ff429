"""Games of LaserTag as the package plays them, with every choice written down, for the page to play again."""

import base64
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.lasertag import levels, text
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.players import Sight
from maestro.games import shipped
from maestro.runs import agent_file

ENV = LaserTag()


class Games(NamedTuple):
    """Leading axes [game, time]; `states` and `obs` have the start too; nothing after the end counts."""

    levels: Any  # [game]
    states: Any
    obs: np.ndarray  # [game, time + 1, 2, 5, 5, 3]
    actions: np.ndarray
    first: np.ndarray  # who acted first
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    def length(self, game: int) -> int:
        """Steps until the end, which counts."""
        return int(np.argmax(self.terminated[game] | self.truncated[game])) + 1


def play(levels: Any, a: Any, b: Any, seed: int) -> Games:
    """One game on each level between two players, to its end."""
    steps = int(np.max(levels.time_limit))
    keys = jax.random.split(jax.random.key(seed), len(levels.time_limit))
    out = jax.jit(jax.vmap(one_game, (0, 0, None, None, None)), static_argnums=4)(keys, levels, a, b, steps)
    return Games(levels, *jax.tree.map(np.asarray, out))


def one_game(key: Any, level: Any, a: Any, b: Any, steps: int) -> Any:
    state, obs = ENV.reset(key, level)

    def step(carry: Any, key: Any) -> Any:
        state, obs, memories = carry
        *act_keys, step_key = jax.random.split(key, 3)
        acted = [
            player.act(act_keys[i], memories[i], obs[i], Sight(level, state, i))
            for i, player in enumerate((a, b))
        ]
        actions = jnp.stack([action for _, action in acted])
        first = (jax.random.bits(step_key, (), jnp.uint32) >> 31).astype(jnp.int32)
        state, obs, reward, terminated, truncated, _ = ENV.step(step_key, level, state, actions)
        after = (state, obs, tuple(memory for memory, _ in acted))
        return after, (state, obs, actions, first, reward, terminated, truncated)

    start = (state, obs, (a.start(), b.start()))
    _, (states, seen, *rest) = jax.lax.scan(step, start, jax.random.split(key, steps))
    with_start = jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), (state, obs), (states, seen))
    return (*with_start, *rest)


def one(tree: Any, *index: int) -> Any:
    """One level or state of many."""
    return jax.tree.map(lambda x: x[index], tree)


def asked(games: Games, game: int) -> dict[str, Any]:
    """What the page is told of a game: its level and everything that was chosen."""
    length = games.length(game)
    return {
        "text": text.to_text(one(games.levels, game)),
        "actions": games.actions[game, :length].tolist(),
        "first": games.first[game, :length].tolist(),
    }


def expected(games: Games, game: int) -> list[list[Any]]:
    """What the page must find after the start and after every step."""
    rows = [told(games, game, 0, [0, 0], False, False)]
    for t in range(games.length(game)):
        ends = bool(games.terminated[game, t]), bool(games.truncated[game, t])
        rows.append(told(games, game, t + 1, games.rewards[game, t].astype(int).tolist(), *ends))
    return rows


def told(games: Games, game: int, t: int, reward: list[int], terminated: bool, truncated: bool) -> list[Any]:
    now = one(games.states, game, t)
    views = ["".join(map(str, games.obs[game, t, seat].ravel())) for seat in (0, 1)]
    agents = [leaf.tolist() for leaf in (now.position, now.facing, now.alive)]
    return [*agents, sparse(now.bolts.ravel()), int(now.time), reward, terminated, truncated, views]


def sparse(bolts: np.ndarray) -> list[list[int]]:
    """[cell, code] of every bolt."""
    return [[int(cell), int(bolts[cell])] for cell in np.flatnonzero(bolts)]


PLAY_AGAIN = """(games) => {
  const game = maestro.lasertag;
  const row = (level, state, reward, ...ends) => {
    const bolts = Array.from(state.bolts, (code, cell) => [cell, code]).filter(([, code]) => code);
    const views = [0, 1].map((seat) => game.observe(level, state, seat).join(""));
    return [state.position, state.facing, state.alive, bolts, state.time, reward, ...ends, views];
  };
  return JSON.stringify(games.map(({ text, actions, first }) => {
    const level = game.parse(text);
    let state = game.reset(level);
    const rows = [row(level, state, [0, 0], false, false)];
    actions.forEach((both, t) => {
      const after = game.step(level, state, both, first[t]);
      state = after.state;
      rows.push(row(level, state, after.reward, after.terminated, after.truncated));
    });
    return rows;
  }));
}"""  # what follows from recorded choices, as the page's rules have it


def generated(seed: int, count: int) -> Any:
    """Random levels."""
    return jax.jit(jax.vmap(levels.sample_level))(jax.random.split(jax.random.key(seed), count))


def stacked(many: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *many)


def packed(params: Any) -> dict[str, Any]:
    """Parameters as a page holds them: every array by its path, in half precision."""
    arrays = agent_file.halved(agent_file.flatten(params))
    return {
        path: {"shape": list(array.shape), "f16": base64.b64encode(array.tobytes()).decode()}
        for path, array in arrays.items()
    }


def shipped_agent(name: str) -> tuple[Any, Any]:
    """(network, parameters) of an agent that comes with the package."""
    path = shipped.find("lasertag", name)
    assert path is not None
    return agent_file.load_params(path)
