"""New levels tried apart from replaying, and cold choices that redraw: who plays, and whose books change."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort
from maestro.train import EXPLORE, training_plan
from probes import QUICK, experiment, record, start, with_changes

WORKERS, FULL, DRAWS = 8, 8, 4096
LIMIT = 2.5 / DRAWS**0.5  # five standard errors of any share are less


def first(exp: Any) -> Any:
    """One seed before training."""
    return jax.tree.map(lambda x: x[0], start(exp, 0, 1).seeds)


@functools.cache
def fresh() -> Any:
    """The same for all who differ only in who is drawn, and when."""
    return first(experiment())


def crafted(members: int, fills: list[int], best: list[float] | None = None, exp: Any = None) -> Any:
    """One seed whose members' buffers hold so many levels, of these highest scores."""
    state = fresh() if exp is None else first(exp)
    known = state.curriculum
    table = np.zeros(known.buffers.score.shape, np.float32)
    if best is not None:
        table[:, 0] = best
    buffers = known.buffers.replace(size=jnp.array(fills), score=jnp.asarray(table))
    population = known.population.replace(size=jnp.int32(members))
    return state.replace(curriculum=known.replace(population=population, buffers=buffers))


def shares(slots: Any, count: int = 5) -> np.ndarray:
    return np.bincount(np.asarray(slots).ravel(), minlength=count) / np.size(slots)


def draws(exp: Any, state: Any, plan: Any, number: int = DRAWS) -> np.ndarray:
    keys = jax.random.split(jax.random.key(3), number)
    return np.asarray(jax.jit(jax.vmap(lambda k: cohort.draw_coplayers(k, exp, state, plan)))(keys))


UNIFORM, REDRAW = {"try_against": "uniform"}, {"cold": "redraw"}
EQ2 = {"exploration": 0.4}
COLD = [0, 8, 3, 8, 0]  # of three members the second, of the highest score, cannot be replayed from
BEST = [0, 1.0, 3.0, 2.0, 0]


def halves(changes: dict, kind: str = "parallel", plan: Any = None) -> tuple[np.ndarray, np.ndarray]:
    exp = experiment(with_changes(curriculum={**EQ2, **changes}, schedule={"kind": kind}))
    slots = draws(exp, crafted(3, COLD, BEST), plan or training_plan(exp))
    return (slots[:, :WORKERS], slots[:, WORKERS:]) if slots.ndim > 1 else (slots, slots)


def test_tried_apart_new_levels_meet_any_member_and_replayed_ones_the_rules_choice_among_the_warm():
    new, replayed = halves(UNIFORM)
    assert (new == new[:, :1]).all() and (replayed == replayed[:, :1]).all()  # one co-player for each half
    np.testing.assert_allclose(shares(new[:, 0]), [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=LIMIT)
    np.testing.assert_allclose(shares(replayed[:, 0]), [0, 0.5, 0, 0.5, 0], atol=LIMIT)
    both = np.histogram2d(new[:, 0], replayed[:, 0], bins=[[1, 2, 3, 4], [1, 3, 4]])[0] / DRAWS
    np.testing.assert_allclose(both, np.full((3, 2), 1 / 6), atol=LIMIT)  # neither knows of the other


def test_a_cold_choice_that_redraws_is_kept_by_the_half_that_tries_new_levels():
    new, replayed = (half[:, 0] for half in halves(REDRAW))
    np.testing.assert_allclose(shares(new), [0, 0.4 / 3, 0.6 + 0.4 / 3, 0.4 / 3, 0], atol=LIMIT)
    np.testing.assert_allclose(shares(replayed), [0, 0.5, 0, 0.5, 0], atol=LIMIT)
    assert ((new == replayed) == (new != 2)).all()  # who was chosen and is warm plays both


def test_without_either_all_environments_of_a_cycle_have_one_coplayer():
    exp = experiment(with_changes(schedule={"kind": "parallel"}))
    assert draws(exp, crafted(3, COLD, BEST), training_plan(exp), 4).shape == (4,)


@pytest.mark.parametrize("changes", [UNIFORM, REDRAW], ids=["uniform", "redraw"])
def test_a_cycle_that_only_tries_new_levels_has_one_coplayer_drawn_as_for_new_ones(changes):
    alone = halves(changes, plan=EXPLORE)[0]
    assert alone.ndim == 1
    expected = [0, 1 / 3, 1 / 3, 1 / 3, 0] if changes is UNIFORM else [0, 0.4 / 3, 0.6 + 0.4 / 3, 0.4 / 3, 0]
    np.testing.assert_allclose(shares(alone), expected, atol=LIMIT)


def test_under_coin_a_replay_follows_the_rule_though_new_levels_are_tried_against_anyone():
    _, replayed = halves({**UNIFORM}, kind="coin")
    np.testing.assert_allclose(shares(replayed), [0, 0.5, 0, 0.5, 0], atol=LIMIT)


def test_a_coplayer_for_each_worker_is_drawn_uniformly_for_new_levels_on_its_own():
    new, replayed = halves({**UNIFORM, "coplayer_per": "worker"})
    np.testing.assert_allclose(shares(new), [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=LIMIT)
    np.testing.assert_allclose(shares(replayed), [0, 0.5, 0, 0.5, 0], atol=LIMIT)
    assert (np.ptp(new, axis=1) > 0).mean() > 0.9


@pytest.mark.parametrize("changes", [UNIFORM, REDRAW], ids=["uniform", "redraw"])
def test_before_anyone_has_joined_the_live_student_plays_both_halves(changes):
    exp = experiment(with_changes(curriculum=changes, schedule={"kind": "parallel"}))
    state = crafted(0, [FULL, 0, 0, 0, 0])
    assert (draws(exp, state, training_plan(exp), 16) == 0).all()


def decided(changes: dict, kind: str, fills: list[list[int]]) -> float:
    """The share of many decisions to replay, each with choices of its own; a row of fills for each seed."""
    exp = experiment(with_changes(curriculum={**EQ2, **changes}, schedule={"kind": kind}))
    states = [crafted(3, row, BEST) for row in fills]
    seeds = jax.tree.map(lambda *x: jnp.stack(x), *states)
    keys = jax.random.split(jax.random.key(5), DRAWS)

    def one(key: Any) -> Any:
        coin, *own = jax.random.split(key, 1 + len(fills))
        return cohort.replay_decision(coin, exp, seeds, jnp.stack(own))

    return float(jax.jit(jax.vmap(one))(keys).mean())


NOBODY = [FULL, 0, 3, 0, FULL]  # the live student's buffer and that of one who has not joined are full
CASES = [
    (UNIFORM, "parallel", [COLD], 1.0),
    (REDRAW, "parallel", [COLD], 1.0),
    (REDRAW, "parallel", [COLD, COLD], 1.0),
    (REDRAW, "parallel", [COLD, NOBODY], 0.0),
    (UNIFORM, "parallel", [NOBODY], 0.0),
    (UNIFORM, "coin", [COLD], 0.5),
    (UNIFORM, "coin", [COLD, COLD], 0.5),
    (UNIFORM, "coin", [NOBODY], 0.0),
    ({}, "parallel", [COLD], 0.4 * 2 / 3),
    ({}, "coin", [COLD], 0.5 * 0.4 * 2 / 3),
]


@pytest.mark.parametrize("changes, kind, fills, share", CASES)
def test_with_halves_apart_a_cycle_replays_as_soon_as_every_seed_has_a_warm_buffer(
    changes, kind, fills, share
):
    found = decided(changes, kind, fills)
    assert found == share if share in (0, 1) else abs(found - share) < LIMIT


def cycles_of(exp: Any, cycles: int, seeds: int = 1) -> Any:
    """(before, metrics, after, co-players [seeds, E]) of each cycle that took place."""
    states, metrics, programs = record(exp, start(exp, 0, seeds), cycles)
    assert programs == 1

    def whom(state: Any, plan: Any) -> Any:
        keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, state.cycles))[0])(state.seeds.key)
        return jax.vmap(lambda k, s: cohort.draw_coplayers(k, exp, s, plan))(keys, state.seeds)

    plans = {
        name: jax.jit(lambda s, p=plan: whom(s, p), compiler_options=QUICK)
        for name, plan in ((True, training_plan(exp)), (False, EXPLORE))
    }
    for before, measured, after in zip(states, metrics, states[1:], strict=False):
        if measured.active.all():
            slots = np.asarray(plans[bool(measured.trained[0])](before))
            envs = WORKERS * (2 if measured.trained[0] and exp.schedule.kind == "parallel" else 1)
            whose = np.broadcast_to(slots.reshape(seeds, -1), (seeds, envs))
            yield before, measured, after, whose


def books_are_kept(before: Any, measured: Any, after: Any, whose: np.ndarray) -> None:
    """Results and levels go to whoever played, and to nobody else."""
    old, new = before.seeds.curriculum, after.seeds.curriculum
    slots = old.chosen_at.shape[1]
    for seed, row in enumerate(whose):
        np.testing.assert_allclose(measured.chosen[seed], shares(row, slots), atol=1e-6)
        known = shares(row[WORKERS:], slots) if row.size > WORKERS else np.full(slots, np.nan)
        np.testing.assert_allclose(measured.replayed_against[seed], known, atol=1e-6)
        games = new.population.games[seed] - old.population.games[seed]
        played = np.isin(np.arange(slots), row)
        assert (games[~played] == 0).all() and games.sum() == measured.episodes[seed]
        assert (new.chosen_at[seed][played] == old.cycle[seed]).all()
        started = new.buffers.clock[seed] - old.buffers.clock[seed]
        tried, replayed = row[:WORKERS], row[WORKERS:]
        if started.size == 1:
            assert started >= row.size
            continue
        changed = (new.buffers.digest[seed] != old.buffers.digest[seed]).any(axis=(1, 2))
        for slot in range(slots):
            fewest = (row == slot).sum()
            assert started[slot] >= fewest and (started[slot] == 0) == (fewest == 0)
            if slot not in tried:
                assert not changed[slot]  # replayed levels are scored again, not stored
            if slot not in replayed and replayed.size:
                assert started[slot] == fewest  # one new level for each worker, kept for all its games


RUNS = [("maestro", "parallel", {**UNIFORM, "estimate": "expected"}, 2)]
LONGER = [
    ("maestro", "parallel", {**REDRAW, "optimism": 0.5, "empty": "optimistic"}, 1),
    ("plr-fsp", "parallel", UNIFORM, 1),
    ("maestro-accel", "parallel", {**UNIFORM, **REDRAW, "estimate": "top_mean"}, 1),
    ("accel-pfsp", "parallel", {**UNIFORM, "coplayer_per": "worker"}, 1),
    ("maestro", "parallel", {**UNIFORM, "coplayer_per": "worker"}, 2),
    ("maestro-r", "parallel", {**UNIFORM, **REDRAW}, 3),
]


@pytest.mark.parametrize(
    "method, kind, changes, seeds", [*RUNS, *(pytest.param(*row, marks=pytest.mark.long) for row in LONGER)]
)
def test_results_and_levels_go_to_whoever_played_them(method, kind, changes, seeds):
    exp = experiment(with_changes(method=method, curriculum={**EQ2, **changes}, schedule={"kind": kind}))
    trained, apart = [], 0
    for before, measured, after, whose in cycles_of(exp, 24, seeds):
        books_are_kept(before, measured, after, whose)
        trained.append(bool(measured.trained[0]))
        apart += len(np.unique(whose[0])) > 1
    assert int(after.updates) == exp.schedule.total_updates == sum(trained)
    assert apart > 0 and trained == sorted(trained)  # once something can be replayed, every cycle trains


def test_under_coin_new_levels_fill_the_buffers_of_all_members_alike():
    changes = {**UNIFORM, "exploration": 0.0, "replay_rate": 0.3}
    exp = experiment(with_changes(curriculum=changes, schedule={"total_updates": 12, "interval": 4}))
    tried = []
    for before, measured, _, whose in cycles_of(exp, 40):
        assert np.ptp(whose) == 0
        np.testing.assert_allclose(measured.chosen[0], shares(whose[0], 4), atol=1e-6)
        if not measured.trained[0] and int(before.seeds.curriculum.population.size[0]) == 3:
            tried.append(whose[0, 0])
        if measured.trained[0]:
            assert measured.coplayer_weights[0, whose[0, 0]] > 0
    assert set(tried) == {1, 2, 3}
