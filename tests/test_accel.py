"""Edits of served levels as new levels (ACCEL): which levels, how many, and from when on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import curriculum
from maestro.train import training_plan
from probes import LEVELS, QUICK, experiment, with_changes
from test_trying import WORKERS, crafted, cycles_of


def asked(exp: Any, state: Any, seed: int, new: bool = True, replay: bool = False) -> Any:
    ask = jax.jit(lambda key, known: curriculum.ask(key, exp.teacher, known, jnp.int32(1), new, replay))
    return jax.device_get(ask(jax.random.key(seed), state.curriculum))


def with_parents(state: Any, numbers: list[int]) -> Any:
    parents = state.curriculum.parents
    levels = parents.levels.replace(number=jnp.array(numbers), time_limit=2 + jnp.array(numbers) % 4)
    known = jnp.ones(WORKERS, bool)
    return state.replace(
        curriculum=state.curriculum.replace(parents=parents.replace(levels=levels, known=known))
    )


@pytest.mark.parametrize("share, children", [(0.0, 0), (0.5, 4), (0.3, 2), (1.0, 8)])
def test_a_share_of_the_new_levels_are_edits_of_what_was_served_and_the_generator_draws_the_rest(
    share, children
):
    changes = {"edit_share": share, "edits": 3}
    exp = experiment(with_changes(method="maestro-accel", curriculum=changes))
    state = crafted(1, [0, 0, 0, 0, 0], exp=exp)
    numbers = [0, 10, 20, 30, 40, 5, 15, 25]
    generated = asked(exp, state, 0).levels.number[0]
    found = asked(exp, with_parents(state, numbers), 0).levels.number[0]
    np.testing.assert_array_equal(found[children:], generated[children:])
    away = (found - np.array(numbers))[:children] % LEVELS
    assert ((away >= 1) & (away <= 3)).all()  # the game's own edits, of three changes
    plain = experiment(with_changes(method="maestro", curriculum=changes))
    np.testing.assert_array_equal(asked(plain, crafted(1, [0] * 5, exp=plain), 0).levels.number[0], generated)


def test_edits_are_drawn_anew_in_every_cycle_and_for_every_worker():
    exp = experiment(with_changes(method="accel-fsp", curriculum={"edit_share": 1.0, "edits": 40}))
    state = with_parents(crafted(1, [0], exp=exp), [7] * WORKERS)
    one, other = (asked(exp, state, seed).levels.number[0] for seed in (0, 1))
    assert len(set(one)) > 4 and (one != other).any()


def test_under_parallel_children_stand_beside_replayed_levels_and_are_kept_for_all_their_games():
    exp = experiment(with_changes(method="maestro-accel", schedule={"kind": "parallel"}))
    state = with_parents(crafted(1, [0, 8, 0, 0, 0], exp=exp), [11] * WORKERS)
    task = asked(exp, state, 0, replay=True)
    new = task.levels.number[:, :WORKERS]
    assert (new == new[:1]).all() and task.replayed == WORKERS
    assert ((new[0, :4] - 11 >= 1) & (new[0, :4] - 11 <= 5)).all()


@pytest.mark.parametrize("kind", [pytest.param("coin", marks=pytest.mark.long), "parallel"])
def test_parents_are_the_first_levels_that_the_last_replay_served(kind):
    exp = experiment(with_changes(method="accel-fsp", schedule={"kind": kind}))
    ask, replays = asking(exp), 0
    for before, measured, after, _ in cycles_of(exp, 30):
        old, new = before.seeds.curriculum.parents, after.seeds.curriculum.parents
        if not measured.trained[0]:
            jax.tree.map(np.testing.assert_array_equal, old, new)
            continue
        replays += 1
        key = jax.random.split(jax.random.fold_in(before.seeds.key[0], before.cycles))[1]
        state = jax.tree.map(lambda x: x[0], before.seeds)
        task = jax.device_get(ask(jax.random.split(key, 3)[0], state.curriculum))
        expected = jax.tree.map(lambda x: x[0, -WORKERS:], task.levels)
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[0], b), new.levels, expected)
        assert new.known.all()
    assert replays > 2


def asking(exp: Any) -> Any:
    """What a teacher serves in a cycle that replays, by the cycle's key and what the teacher knows."""
    plan = training_plan(exp)
    return jax.jit(
        lambda k, known: curriculum.ask(k, exp.teacher, known, jnp.int32(1), plan.new, plan.replay),
        compiler_options=QUICK,
    )
