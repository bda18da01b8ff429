"""LaserTag is the recorded game, and equals its slow twin step by step."""

import gzip
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from oracles import lasertag as twin
from oracles import lasertag_bridge as bridge

TRACES = Path(__file__).parents[1] / "golden" / "lasertag_traces.json.gz"
NUM_STEPS = 15_605


@pytest.fixture(scope="module")
def traces():
    return json.loads(gzip.decompress(TRACES.read_bytes()))["traces"]


def walls_of(trace):
    return np.array([[cell == "#" for cell in row] for row in trace["walls"]])


def recorded_view(trace, time, player):
    """The recorded observation with channels last."""
    text = trace["obs"][time][player]
    return np.array([int(c) for c in text], np.uint8).reshape(3, 5, 5).transpose(1, 2, 0)


def padded(traces, name, like):
    """One field of all traces as [longest, number of traces, ...]."""
    longest = max(len(trace["actions"]) for trace in traces)
    out = np.zeros((longest, len(traces), *like), np.int32)
    for b, trace in enumerate(traces):
        out[: len(trace[name]), b] = trace[name]
    return out


def test_the_166_recorded_games_replay_without_a_mismatch(traces):
    level = bridge.stack([bridge.level_of(walls_of(trace), trace["agents"]) for trace in traces])
    start, first_obs = bridge.resets(level)
    episodes = bridge.play(level, start, padded(traces, "actions", (2,)), padded(traces, "first_player", ()))
    steps = mismatches = 0
    for b, trace in enumerate(traces):
        mismatches += any((first_obs[b, p] != recorded_view(trace, 0, p)).any() for p in (0, 1))
        for t in range(len(trace["actions"])):
            state = episodes.state(t, b)
            bolts = sorted([x, y, owner] for x, y, _, owner in bridge.bolts_of(state))
            same = bolts == sorted(trace["bolts"][t]) and bridge.agents_of(state) == trace["states"][t]
            same &= episodes.rewards[t, b].tolist() == trace["rewards"][t]
            same &= all((episodes.obs[t, b, p] == recorded_view(trace, t + 1, p)).all() for p in (0, 1))
            steps, mismatches = steps + 1, mismatches + (not same)
        tagged = not np.asarray(episodes.states.alive)[len(trace["actions"]) - 1, b].all()
        assert tagged == trace["done_by_tag"]
    assert (len(traces), steps, mismatches) == (166, NUM_STEPS, 0)


def test_the_slow_twin_replays_the_recorded_games_too(traces):
    steps = mismatches = 0
    for trace in traces:
        game = twin.Game(walls_of(trace), [list(agent) for agent in trace["agents"]])
        for t, actions in enumerate(trace["actions"]):
            reward = twin.step(game, actions, trace["first_player"][t])
            bolts = sorted([bolt.x, bolt.y, bolt.owner] for bolt in game.bolts)
            same = reward == trace["rewards"][t] and game.agents == trace["states"][t]
            same &= bolts == sorted(trace["bolts"][t])
            same &= all((twin.observe(game, p) == recorded_view(trace, t + 1, p)).all() for p in (0, 1))
            steps, mismatches = steps + 1, mismatches + (not same)
    assert (steps, mismatches) == (NUM_STEPS, 0)


BATCH, LONGEST = 160, 64  # a quarter of the batch is small and crowded, a quarter starts amid bolts


def random_walls(generator, largest):
    """A rectangle with its ring and clutter."""
    rows, columns = generator.integers(2, largest + 1, 2)
    walls = np.ones((rows + 2, columns + 2), bool)
    walls[1:-1, 1:-1] = generator.random((rows, columns)) < generator.uniform(0, 0.4)
    walls[1, 1] = walls[-2, -2] = False
    return walls


def random_level(generator, largest):
    """A random rectangle and two agents on distinct free cells of it."""
    walls = random_walls(generator, largest)
    cells = generator.permutation(np.argwhere(~walls))[:2]
    return bridge.level_of(walls, [[x, y, generator.integers(4)] for y, x in cells])


def random_bolt(generator, game, owner):
    """A bolt anywhere, or just before one of the agents."""
    direction = int(generator.integers(4))
    y, x = generator.permutation(np.argwhere(~game.walls))[0]
    if generator.random() < 0.3:
        agent, ahead = game.agents[generator.integers(2)], twin.AHEAD[direction]
        x, y = agent[0] - ahead[0], agent[1] - ahead[1]
    return twin.Bolt(int(x), int(y), direction, int(owner), fresh=False)


def crossfire(generator, game):
    """Up to 12 bolts (place, bolt) of the last 6 steps, one of each player and step, on free cells.

    Each is old enough only for a shooter within the level, so none outlives the 14 steps of a real one.
    """
    rows, columns = game.walls.shape
    bolts = []
    for age in range(6):
        for place, owner in enumerate(generator.permutation(2)):
            bolt = random_bolt(generator, game, owner)
            x, y = (at - (age + 1) * d for at, d in zip((bolt.x, bolt.y), twin.AHEAD[bolt.dir], strict=True))
            if 0 < x < columns - 1 and 0 < y < rows - 1 and twin.is_free(game, (bolt.x, bolt.y)):
                game.bolts.append(bolt)
                bolts.append((2 * age + place, bolt))
    return bolts


def random_starts(generator):
    """Levels, and the same starts as the package's states and as the twin's games."""
    level = bridge.stack([random_level(generator, 6 if b % 4 == 0 else 15) for b in range(BATCH)])
    start = bridge.resets(level)[0]
    games, states = [], []
    for b in range(BATCH):
        game = bridge.game_of(jax.tree.map(lambda x, b=b: x[b], level))
        state = jax.tree.map(lambda x, b=b: x[b], start)
        states.append(bridge.put_bolts(state, crossfire(generator, game)) if b % 4 == 1 else state)
        games.append(game)
    return level, bridge.stack(states), games


def differences(episodes, games, actions, first):
    """(steps compared, steps that differ); an episode ends with its first tag."""
    steps = wrong = 0
    for b, game in enumerate(games):
        for t in range(len(actions)):
            reward = twin.step(game, actions[t, b], int(first[t, b]))
            state = episodes.state(t, b)
            same = bridge.agents_of(state) == game.agents and episodes.rewards[t, b].tolist() == reward
            same &= bridge.bolts_of(state) == [(c.x, c.y, c.dir, c.owner) for c in game.bolts]
            same &= all((episodes.obs[t, b, p] == twin.observe(game, p)).all() for p in (0, 1))
            steps, wrong = steps + 1, wrong + (not same)
            if None in game.agents:
                break
    return steps, wrong


def compare(seed):
    """Random play with much shooting through the package and through the twin."""
    generator = np.random.default_rng(seed)
    level, start, games = random_starts(generator)
    shooting = generator.choice([0.2, 0.4, 0.6], BATCH)[:, None]
    shape = (LONGEST, BATCH, 2)
    actions = np.where(generator.random(shape) < shooting, 4, generator.integers(0, 4, shape))
    first = generator.integers(0, 2, shape[:2])
    return differences(bridge.play(level, start, actions, first), games, actions, first)


ROOM = np.pad(np.zeros((5, 7), bool), 1, constant_values=True)

# agents [x, y, dir]; bolts (x, y, dir, owner), all fired before; actions; who acts first; what follows
SCENES = {
    "a shot into the next cell does nothing": (
        ([3, 3, 1], [4, 3, 3]), [], (4, 0), 0, ([3, 3, 1], [4, 3, 3]), [], [0, 0]
    ),
    "of two who want one cell the first gets it": (
        ([2, 3, 1], [4, 3, 3]), [], (2, 2), 1, ([2, 3, 1], [3, 3, 3]), [], [0, 0]
    ),
    "of two who shoot into one cell the first gets it": (
        ([2, 3, 1], [4, 3, 3]), [], (4, 4), 1, ([2, 3, 1], [4, 3, 3]), [(3, 3, 3, 1)], [0, 0]
    ),
    "walking into a bolt is harmless, but the bolt arrives": (
        ([2, 3, 1], [6, 3, 3]), [(3, 3, 3, 1)], (2, 0), 0, (None, [6, 3, 3]), [], [-1, 1]
    ),
    "who flees from a bolt is not caught": (
        ([3, 3, 1], [6, 1, 0]), [(2, 3, 1, 1)], (2, 0), 0, ([4, 3, 1], [6, 1, 0]), [(3, 3, 1, 1)], [0, 0]
    ),
    "a later bolt enters the cell that a hit emptied": (
        ([3, 3, 0], [6, 1, 0]), [(2, 3, 1, 1), (3, 2, 2, 1)], (0, 0), 0,
        (None, [6, 1, 0]), [(3, 3, 2, 1)], [-1, 1],
    ),
    "and a third one dies on it": (
        ([3, 3, 0], [6, 1, 0]), [(2, 3, 1, 1), (3, 2, 2, 1), (4, 3, 3, 1)], (0, 0), 0,
        (None, [6, 1, 0]), [(3, 3, 2, 1)], [-1, 1],
    ),
    "both can be tagged at once, for nothing": (
        ([2, 2, 0], [5, 4, 0]), [(2, 3, 0, 1), (5, 5, 0, 0)], (0, 0), 0, (None, None), [], [0, 0]
    ),
    "of two bolts face to face the one processed first dies": (
        ([1, 3, 1], [7, 3, 3]), [(3, 3, 1, 0), (4, 3, 3, 1)], (0, 0), 0,
        ([1, 3, 1], [7, 3, 3]), [(3, 3, 3, 1)], [0, 0],
    ),
    "a fresh bolt stands and stops an older one": (
        ([2, 3, 1], [7, 3, 3]), [(4, 3, 3, 1)], (4, 0), 0, ([2, 3, 1], [7, 3, 3]), [(3, 3, 1, 0)], [0, 0]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_drawn_by_hand(name):
    agents, bolts, actions, first, agents_after, bolts_after, reward = SCENES[name]
    level = bridge.stack([bridge.level_of(ROOM, agents)])
    start = jax.tree.map(lambda x: x[0], bridge.resets(level)[0])
    start = bridge.put_bolts(start, [(place, twin.Bolt(*bolt)) for place, bolt in enumerate(bolts)])
    played = bridge.play(level, bridge.stack([start]), np.array([[actions]]), np.array([[first]]))
    after = played.state(0, 0)
    assert bridge.agents_of(after) == list(agents_after)
    assert bridge.bolts_of(after) == bolts_after
    assert played.rewards[0, 0].tolist() == reward


def test_random_steps_equal_the_slow_twin_to_the_order_of_bolts():
    steps, wrong = compare(0)
    assert wrong == 0
    assert steps >= 5_000


@pytest.mark.long
def test_100_000_random_steps_equal_the_slow_twin():
    steps = wrong = 0
    seed = 1
    while steps < 100_000:
        more, differing = compare(seed)
        steps, wrong, seed = steps + more, wrong + differing, seed + 1
    assert wrong == 0
