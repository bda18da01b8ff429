"""Shortest paths of LaserTag levels along a corridor that winds: they are looked at from time to time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.lasertag import levels
from maestro.envs.lasertag.levels import MAX_SIZE, SIDE, SWEEPS, Level, outer_wall, pack, shortest_path


def winding():
    """The cells of a corridor through every second row, in order."""
    cells = []
    for row in range(1, MAX_SIZE + 1, 2):
        columns = range(1, MAX_SIZE + 1)
        cells += [(row, column) for column in (columns if row % 4 == 1 else reversed(columns))]
        cells += [(row + 1, cells[-1][1])]
    return cells[:-1]


def level(steps, blocked=None):
    """A level whose agents are so many steps apart; the corridor may be blocked after some of them."""
    cells, walls = winding(), np.ones((SIDE, SIDE), bool)
    walls[tuple(zip(*cells, strict=True))] = False
    if blocked is not None:
        walls[cells[blocked]] = True
    size, ends = jnp.int32(MAX_SIZE), jnp.array([cells[0], cells[steps]])
    return Level(pack(walls | outer_wall(size, size)), size, size, ends, jnp.zeros(2, int), jnp.int32(9))


LENGTHS = [1, 2, SWEEPS - 1, SWEEPS, SWEEPS + 1, 2 * SWEEPS, 2 * SWEEPS + 1, 100, 126]


@pytest.fixture(params=["until_there", "everywhere"])
def form(request, monkeypatch):
    """As on a CPU, and as on a GPU."""
    monkeypatch.setattr(levels, "until_there", getattr(levels, request.param))
    return request.param


@pytest.mark.usefixtures("form")
def test_a_path_is_as_long_as_it_winds():
    assert len(winding()) == 127
    assert [int(shortest_path(level(steps))) for steps in LENGTHS] == LENGTHS


@pytest.mark.usefixtures("form")
def test_where_the_way_is_blocked_there_is_none():
    places = [1, SWEEPS - 1, SWEEPS, SWEEPS + 1, 2 * SWEEPS, 125]
    assert not any(int(shortest_path(level(126, blocked))) for blocked in places)


@pytest.mark.usefixtures("form")
def test_side_by_side_every_path_is_what_it_is_alone():
    every = [*map(level, LENGTHS), level(126, 20), level(30, 29)]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *every)
    assert jax.jit(jax.vmap(shortest_path))(together).tolist() == [*LENGTHS, 0, 0]


@pytest.mark.parametrize(("steps", "blocked", "looks"), [(1, None, 1), (100, None, 7), (126, 40, 3)])
def test_nobody_looks_at_every_step_whether_a_path_has_arrived(steps, blocked, looks, form, monkeypatch):
    seen = []

    def loop(going_on, body, carry):
        while seen.append(1) or going_on(carry):
            carry = body(carry)
        return carry

    monkeypatch.setattr(levels.jax.lax, "while_loop", loop)
    monkeypatch.setattr(levels.jax.lax, "platform_dependent", lambda *given, cpu, default: cpu(*given))
    assert shortest_path(level(steps, blocked)) == (0 if blocked else steps)
    assert len(seen) == (looks if form == "until_there" else 0)


@pytest.mark.parametrize(("platform", "loops"), [("cpu", 3), ("cuda", 1)])
def test_only_a_cpu_looks(platform, loops):
    program = jax.jit(shortest_path).trace(level(3)).lower(lowering_platforms=(platform,)).as_text()
    assert program.count("stablehlo.while") == loops
