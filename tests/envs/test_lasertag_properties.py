"""What must hold of LaserTag whatever the level and the play."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro.envs.lasertag import levels, text
from maestro.envs.lasertag.game import FORWARD, LaserTag
from oracles import lasertag as twin
from oracles import lasertag_bridge as bridge

BATCH, STEPS = 96, 40
SEEDS = st.integers(0, 2**32 - 1)
some_batches = settings(max_examples=8, deadline=None, derandomize=True)
ENV = LaserTag()
sample = jax.jit(jax.vmap(ENV.sample_level))
statistics = jax.jit(jax.vmap(ENV.statistics))


def generated(seed, num=BATCH):
    """Generated levels in NumPy."""
    return jax.tree.map(np.asarray, sample(jax.random.split(jax.random.key(seed), num)))


def grids_of(level):
    """The walls of each level, bool [B, 17, 17]."""
    return (level.walls[:, :, None] >> np.arange(levels.SIDE, dtype=np.uint32) & 1).astype(bool)


def inner_of(level):
    """The cells inside the outer wall, bool [B, 17, 17]."""
    along = np.arange(levels.SIDE)[None]
    rows = (along >= 1) & (along <= level.height[:, None])
    columns = (along >= 1) & (along <= level.width[:, None])
    return rows[:, :, None] & columns[:, None, :]


def random_actions(generator):
    """Actions [T, B, 2], a third of them shots, and who acts first [T, B]."""
    actions = generator.choice(5, (STEPS, BATCH, 2), p=[0.05, 0.15, 0.3, 0.15, 0.35])
    return actions, generator.integers(0, 2, (STEPS, BATCH))


@some_batches
@given(SEEDS)
def test_no_wall_is_entered_and_every_cell_holds_one_thing(seed):
    level = generated(seed)
    played = bridge.play(level, bridge.resets(level)[0], *random_actions(np.random.default_rng(seed)))
    things = np.repeat(grids_of(level).astype(int)[None], STEPS, 0) + (played.states.bolts > 0)
    time, batch = np.indices((STEPS, BATCH))
    for player in range(2):
        y, x = np.moveaxis(played.states.position[:, :, player], -1, 0)
        np.add.at(things, (time, batch, y, x), played.states.alive[:, :, player].astype(int))
    running = np.roll(played.states.alive.all(-1), 1, axis=0)
    running[0] = True  # a step is judged up to and with the tag
    assert (things.max(axis=(2, 3))[np.logical_and.accumulate(running)] <= 1).all()
    assert not (things.astype(bool) & ~grids_of(level) & ~inner_of(level)).any()


@some_batches
@given(SEEDS)
def test_rewards_sum_to_zero_and_only_a_tag_pays(seed):
    level = generated(seed)
    played = bridge.play(level, bridge.resets(level)[0], *random_actions(np.random.default_rng(seed)))
    assert (played.rewards.sum(-1) == 0).all()
    alive = np.concatenate([np.ones((1, BATCH), bool), played.states.alive.all(-1)])
    running = np.logical_and.accumulate(alive)
    tag = running[:-1] & ~running[1:]
    assert tag.any() and not played.rewards[running[1:]].any()
    dead, reward = ~played.states.alive[tag], played.rewards[tag]
    one = dead.sum(-1) == 1
    assert (reward[one] == np.where(dead, -1, 1)[one]).all() and not reward[~one].any()


@some_batches
@given(SEEDS, st.sampled_from([1, 3]))
def test_four_turns_are_the_identity(seed, turn):
    level = generated(seed)
    start, obs = bridge.resets(level)
    actions = np.full((STEPS, BATCH, 2), turn)
    played = bridge.play(level, start, actions, np.zeros((STEPS, BATCH), int))
    for t in range(3, STEPS, 4):
        now = jax.tree.map(lambda x, t=t: x[t], played.states)
        jax.tree.map(np.testing.assert_array_equal, now.replace(time=start.time), start)
        np.testing.assert_array_equal(played.obs[t], obs)
    turned = (start.facing + (1 if turn == 3 else -1)) % 4
    np.testing.assert_array_equal(played.states.facing[0], turned)


def reflect(symmetry, grid, rows, columns):
    """The image of a map's inner cells under a mirror (left to right) or a half turn."""
    out = grid.copy()
    inner = grid[1 : rows + 1, 1 : columns + 1]
    out[1 : rows + 1, 1 : columns + 1] = inner[:, ::-1] if symmetry == "mirror" else inner[::-1, ::-1]
    return out


def reflect_facing(symmetry, facing):
    """The image of a direction."""
    return (-facing) % 4 if symmetry == "mirror" else (facing + 2) % 4


def symmetric_level(generator, symmetry):
    """A rectangle that is its own image, its second start the image of the first."""
    rows, columns = generator.integers(3, 10, 2)
    walls = np.ones((rows + 2, columns + 2), bool)
    walls[1:-1, 1:-1] = generator.random((rows, columns)) < 0.12
    walls &= reflect(symmetry, walls, rows, columns)
    walls[0] = walls[-1] = walls[:, 0] = walls[:, -1] = True
    while True:
        x, y = generator.integers(1, columns + 1), generator.integers(1, rows + 1)
        facing = int(generator.integers(4))
        other = (columns + 1 - x, y if symmetry == "mirror" else rows + 1 - y)
        if (x, y) != other:
            break
    walls[y, x] = walls[other[1], other[0]] = False
    return bridge.level_of(walls, [[x, y, facing], [*other, reflect_facing(symmetry, facing)]])


def swapped_actions(symmetry, actions):
    """The players' actions exchanged, left and right too when seen in a mirror."""
    mirrored = np.array([0, 3, 2, 1, 4])[actions] if symmetry == "mirror" else actions
    return mirrored[..., ::-1]


def image_of(symmetry, level, state):
    """A state's agents (players exchanged) and bolts in order, reflected into the level."""
    rows, columns = int(level.height), int(level.width)

    def move(x, y, facing):
        y = y if symmetry == "mirror" else rows + 1 - y
        return [columns + 1 - x, y, reflect_facing(symmetry, facing)]

    agents = [agent and move(*agent) for agent in bridge.agents_of(state)[::-1]]
    return agents, [(*move(x, y, d), 1 - owner) for x, y, d, owner in bridge.bolts_of(state)]


@pytest.mark.parametrize("symmetry", ["mirror", "half turn"])
def test_on_a_symmetric_level_exchanged_players_and_order_exchange_the_outcome(symmetry):
    generator = np.random.default_rng(0)
    level = bridge.stack([symmetric_level(generator, symmetry) for _ in range(BATCH)])
    start, _ = bridge.resets(level)
    actions, first = random_actions(generator)
    once = bridge.play(level, start, actions, first)
    again = bridge.play(level, start, swapped_actions(symmetry, actions), 1 - first)
    assert once.rewards.any()
    for b in range(BATCH):
        one = jax.tree.map(lambda x, b=b: x[b], level)
        for t in range(STEPS):
            state = again.state(t, b)
            there = (bridge.agents_of(state), bridge.bolts_of(state))
            assert there == image_of(symmetry, one, once.state(t, b))
            np.testing.assert_array_equal(again.rewards[t, b], once.rewards[t, b, ::-1])
            views = once.obs[t, b, ::-1]
            views = views[..., ::-1, :] if symmetry == "mirror" else views
            np.testing.assert_array_equal(again.obs[t, b], views)
            if not once.states.alive[t, b].all():
                break


@jax.jit
def idle_until_over(key, level):
    """(terminated, truncated) [T, B] of idle play, T beyond every limit used here."""

    def step(state, key):
        keys = jax.random.split(key, BATCH)
        actions = jax.numpy.zeros((BATCH, 2), jax.numpy.int32)
        state, _, _, terminated, truncated, _ = jax.vmap(ENV.step)(keys, level, state, actions)
        return state, (terminated, truncated)

    state, _ = jax.vmap(ENV.reset, (None, 0))(key, level)
    return jax.lax.scan(step, state, jax.random.split(key, 30))[1]


@some_batches
@given(SEEDS)
def test_an_episode_ends_exactly_at_its_limit(seed):
    level = generated(seed)
    limit = np.random.default_rng(seed).integers(1, 25, BATCH).astype(level.time_limit.dtype)
    terminated, truncated = idle_until_over(jax.random.key(seed), level.replace(time_limit=limit))
    assert not np.asarray(terminated).any()
    np.testing.assert_array_equal(np.asarray(truncated).argmax(0) + 1, limit)


@some_batches
@given(SEEDS)
def test_a_generated_level_is_valid(seed):
    level = generated(seed, 512)
    grid, inner = grids_of(level), inner_of(level)
    size = level.height
    assert ((size >= 5) & (size <= 15) & (level.width == size)).all()
    assert (grid[:, 0, :] == (np.arange(17) <= size[:, None] + 1)).all()
    ring = grid & ~inner
    assert (ring.sum((1, 2)) == 4 * (size + 1)).all()
    batch = np.arange(len(size))[:, None]
    at_start = (batch, level.position[..., 0], level.position[..., 1])
    assert inner[at_start].all() and not grid[at_start].any()
    assert (level.position[:, 0] != level.position[:, 1]).any(-1).all()
    clutter = (grid & inner).sum((1, 2))
    assert (clutter <= (size * size - 2) // 2).all()
    assert ((level.facing >= 0) & (level.facing < 4)).all()
    assert (level.time_limit == 300).all()


def test_the_generator_reaches_every_size_facing_cell_and_wall_count():
    level = generated(0, 4096)
    assert set(level.height.tolist()) == set(range(5, 16))
    assert {tuple(f) for f in level.facing.tolist()} == {(a, b) for a in range(4) for b in range(4)}
    smallest = level.height == 5
    starts = {tuple(p) for p in level.position[smallest].reshape(-1, 2).tolist()}
    assert starts == {(y, x) for y in range(1, 6) for x in range(1, 6)}
    clutter = (grids_of(level) & inner_of(level)).sum((1, 2))
    assert set(clutter[smallest].tolist()) == set(range(12))  # int((5 * 5 - 2) * rate), rate below a half
    walls = (grids_of(level) & inner_of(level))[smallest]
    assert walls.any(0)[1:6, 1:6].all()


@some_batches
@given(SEEDS)
def test_statistics_equal_a_breadth_first_search(seed):
    level = generated(seed)
    found = jax.tree.map(np.asarray, statistics(level))
    clutter = (grids_of(level) & inner_of(level)).sum((1, 2))
    np.testing.assert_allclose(found["wall_share"], clutter / level.height**2, rtol=1e-6)
    np.testing.assert_array_equal(found["grid_size"], level.height)
    paths = []
    for b in range(BATCH):
        game = bridge.game_of(jax.tree.map(lambda x, b=b: x[b], level))
        paths.append(twin.shortest_path(game.walls, tuple(game.agents[0][:2]), tuple(game.agents[1][:2])))
    np.testing.assert_array_equal(found["shortest_path"], paths)
    np.testing.assert_array_equal(found["solvable"], np.array(paths) > 0)


def test_each_player_acts_first_half_of_the_time():
    """Both want the one cell between them; within 5 standard errors of a half."""
    level = text.parse("time limit: 9\nA faces: right\nB faces: left\nA.B\n")
    state, _ = LaserTag().reset(jax.random.key(0), level)
    both = jnp.array([FORWARD, FORWARD])

    def first_got_it(key):
        return LaserTag().step(key, level, state, both)[0].position[0, 1] == 2

    share = jax.jit(jax.vmap(first_got_it))(jax.random.split(jax.random.key(5), 4096)).mean()
    assert abs(share - 0.5) < 5 * 0.5 / 4096**0.5
