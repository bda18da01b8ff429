"""Edits of LaserTag levels: what may change, how often, and what stays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.lasertag import edits, levels, maps, text
from maestro.envs.lasertag.game import LaserTag

MANY = 20_000
KEYS = jax.random.split(jax.random.key(0), MANY)
CHANGE = jax.jit(jax.vmap(edits.change, (0, None)))
EDIT = jax.jit(jax.vmap(edits.edit))
GENERATE = jax.jit(jax.vmap(LaserTag().sample_level))
INNER = jax.jit(jax.vmap(levels.inner_cells))
GRIDS = jax.jit(jax.vmap(levels.wall_grid))
HEAD = "time limit: 30\nA faces: right\nB faces: left\n"
OBLONG = text.parse(f"{HEAD}A#..\n.#.B\n")


def near(count: int, chance: float, of: int = MANY) -> bool:
    """Within five standard errors."""
    return abs(count - of * chance) <= 5 * np.sqrt(of * chance * (1 - chance)) + 1e-9


def kinds(before, after) -> np.ndarray:
    """[many, 3]: whether walls, positions and facings differ."""
    differ = [np.asarray(getattr(after, name)) != np.asarray(getattr(before, name)) for name in NAMES]
    return np.stack([d.reshape(len(d), -1).any(axis=1) for d in differ], axis=1)


NAMES = ("walls", "position", "facing")


def test_a_change_is_a_flip_a_move_or_a_turn_as_often_as_said():
    changed = kinds(OBLONG, CHANGE(KEYS, OBLONG))
    assert (changed.sum(axis=1) == 1).all()
    for count, chance in zip(changed.sum(axis=0), (0.8, 0.1, 0.1), strict=True):
        assert near(count, chance)


def test_a_flip_takes_every_inner_cell_alike_but_those_of_the_agents():
    after = CHANGE(KEYS, OBLONG)
    flipped = np.asarray(GRIDS(after)) ^ np.asarray(levels.wall_grid(OBLONG))
    counts = flipped.sum(axis=0)
    allowed = np.zeros((17, 17), bool)
    allowed[1:3, 1:5] = True
    allowed[1, 1] = allowed[2, 4] = False
    assert (counts[~allowed] == 0).all()
    assert all(near(count, 0.8 / 6) for count in counts[allowed])


def test_a_move_takes_either_agent_to_any_free_cell():
    after = CHANGE(KEYS, OBLONG)
    old, new = np.asarray(OBLONG.position), np.asarray(after.position)
    moved = (new != old).any(axis=2)
    free = {(1, 3), (1, 4), (2, 1), (2, 3)}
    for agent in (0, 1):
        assert near(moved[:, agent].sum(), 0.05)
        cells, counts = np.unique(new[moved[:, agent], agent], axis=0, return_counts=True)
        assert {tuple(cell) for cell in cells} == free
        assert all(near(count, 1 / 4, moved[:, agent].sum()) for count in counts)


def test_a_turn_takes_either_agent_to_any_other_facing():
    after = CHANGE(KEYS, OBLONG)
    turned = (np.asarray(after.facing) - np.asarray(OBLONG.facing)) % 4
    for agent in (0, 1):
        assert near((turned[:, agent] > 0).sum(), 0.05)
        assert all(near((turned[:, agent] == way).sum(), 0.05 / 3) for way in (1, 2, 3))


def is_sound(before, after) -> None:
    """What an edit must leave as it is, for each of many levels."""
    for name in ("height", "width", "time_limit"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    grid, place = np.asarray(GRIDS(after)), np.asarray(after.position)
    inner = np.asarray(INNER(after.height, after.width))
    np.testing.assert_array_equal(grid & ~inner, np.asarray(GRIDS(before)) & ~inner)
    for agent in (0, 1):
        here = (np.arange(len(grid)), place[:, agent, 0], place[:, agent, 1])
        assert inner[here].all() and not grid[here].any()
    assert (place[:, 0] != place[:, 1]).any(axis=1).all()
    assert ((np.asarray(after.facing) >= 0) & (np.asarray(after.facing) < 4)).all()


def test_edits_of_edits_keep_borders_size_and_time_and_agents_apart_from_walls_and_each_other():
    before = GENERATE(KEYS[:2000])
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), before)
    now = before
    for generation in range(4):
        now = EDIT(jax.random.split(jax.random.key(generation + 1), 2000), now)
        assert jax.tree.map(lambda x: (x.shape, x.dtype), now) == shapes
        is_sound(before, now)
    assert kinds(before, now).any(axis=1).mean() > 0.99


@pytest.mark.parametrize("name", ["Corridor1", "Ruins", "Star"])
def test_edits_of_the_drawn_levels_are_sound(name):
    level = maps.LEVELS.load(name)
    before = jax.tree.map(lambda x: jnp.broadcast_to(x, (2000, *x.shape)), level)
    is_sound(before, EDIT(KEYS[:2000], before))


def test_where_nothing_is_free_only_turns_change_a_level():
    """Two cells, both taken."""
    full = text.parse(f"{HEAD}AB\n")
    changed = kinds(full, CHANGE(KEYS, full))
    assert not changed[:, :2].any() and near(changed[:, 2].sum(), 0.1)


def test_an_edit_is_five_changes_one_after_another_unless_said_otherwise():
    key, level = jax.random.key(3), OBLONG
    edit = jax.jit(LaserTag().edit, static_argnums=2)
    for count in (1, 5, 9):
        expected = level
        for own in jax.random.split(key, count):
            expected = jax.tree.map(lambda x: x[0], CHANGE(own[None], expected))
        found = edit(key, level, count)
        jax.tree.map(np.testing.assert_array_equal, found, expected)
    jax.tree.map(np.testing.assert_array_equal, edit(key, level), edit(key, level, 5))
