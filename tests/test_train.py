"""Cohorts of seeds, warm-up, and what the options change."""

import functools
from dataclasses import dataclass, field, replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from maestro import cohort, curriculum
from maestro.envs.lasertag import levels
from maestro.envs.lasertag.text import to_text
from maestro.games.lasertag import GAME
from maestro.runs import build
from maestro.train import EXPLORE, time_limit, training_plan
from probes import QUICK, SMALL, Level, Probe, SmallAgent, experiment, record, start, with_changes

WORKERS, MEMBER_BUFFER = SMALL.ppo.workers, SMALL.curriculum.member_buffer_size
DRAWS = 2048


def changed(one, other):
    """[seeds, slots]: where two arrays of that leading shape differ."""
    return (one != other).reshape(*one.shape[:2], -1).any(axis=-1)


@pytest.fixture(scope="module")
def two_seeds():
    """Two seeds of MAESTRO side by side: (experiment, states, metrics)."""
    exp = experiment(with_changes(curriculum={"exploration": 0.5}))
    states, metrics, _ = record(exp, start(exp, 0, 2), 14)
    return exp, states, metrics


@pytest.fixture(scope="module")
def single(two_seeds):
    """The same cycle for one seed."""
    return jax.jit(lambda s: cohort.train_step(two_seeds[0], s), compiler_options=QUICK)


def seed_of(state, seed):
    """A cohort of one."""
    return state.replace(seeds=jax.tree.map(lambda x: x[seed : seed + 1], state.seeds))


def assert_close(one, other):
    """Integers equal, floats to a relative 1e-3 or an absolute 1e-4: products are summed in another order."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if jnp.issubdtype(a.dtype, jnp.floating):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
        elif not jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(a, b)


def test_seeds_side_by_side_equal_seeds_one_by_one(two_seeds, single) -> None:
    exp, states, metrics = two_seeds
    compared = []
    for t, measured in enumerate(metrics):
        warm = jax.vmap(lambda c: curriculum.warm(exp.teacher, c))(states[t].seeds.curriculum)
        if not warm.any(axis=1).all() or not measured.active.all():
            continue
        for seed in range(2):
            after, alone = single(seed_of(states[t], seed))
            if alone.trained[0] != measured.trained[0]:  # a run of its own does not redraw, it waits
                continue
            compared.append(bool(measured.trained[0]))
            assert_close(after.seeds, seed_of(states[t + 1], seed).seeds)
            assert (after.updates, after.cycles) == (states[t + 1].updates, states[t + 1].cycles)
    assert compared.count(True) >= 3 and compared.count(False) >= 3


def test_many_cycles_as_one_program_equal_single_ones_and_stop_where_told(two_seeds, single) -> None:
    exp, states, _ = two_seeds
    state = start = seed_of(states[2], 0)
    run = jax.jit(lambda s, u, n: cohort.train_steps(exp, 8, s, u, n), compiler_options=QUICK)
    for _ in range(3):
        state, _ = single(state)
    after, metrics = run(start, jnp.int32(100), jnp.int32(3))
    assert_close(after, state)
    assert metrics.active[:, 0].tolist() == [True] * 3 + [False] * 5
    after, metrics = run(start, start.updates + 1, jnp.int32(8))
    assert after.updates == start.updates + 1
    assert metrics.trained[:, 0].sum() == 1 and not metrics.active[-1, 0]


def test_seeds_differ(two_seeds) -> None:
    _, states, _ = two_seeds
    first, second = (seed_of(states[-1], s).seeds.learner.params for s in (0, 1))
    assert not any(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (first, second)), strict=True))


@functools.cache
def fresh():
    """A cohort of two before training: how co-players are drawn changes nothing of it."""
    return start(experiment(), 0, 2)


def crafted(members, fills):
    """A cohort of two whose members' buffers hold so many levels; `fills` [2, P]."""
    state = fresh()
    teacher = state.seeds.curriculum
    population = teacher.population.replace(size=jnp.full(2, members))
    buffers = teacher.buffers.replace(size=jnp.array(fills), score=jnp.zeros_like(teacher.buffers.score))
    return state.seeds.replace(curriculum=teacher.replace(population=population, buffers=buffers))


def frequencies(slots, count):
    return np.bincount(np.asarray(slots).ravel(), minlength=count) / np.size(slots)


def decisions(exp, runs):
    keys, own = jax.random.split(jax.random.key(23), DRAWS), jax.random.split(jax.random.key(0), 2)
    decide = jax.jit(jax.vmap(lambda k: cohort.replay_decision(k, exp, runs, own)))
    return np.asarray(decide(keys))


def test_no_seed_replays_until_every_seed_has_a_warm_buffer() -> None:
    exp = experiment(with_changes(method="maestro-r"))
    half = MEMBER_BUFFER // 2
    assert not decisions(exp, crafted(2, [[0, half, 0, 0, 0], [0, half - 1, half - 1, 0, 0]])).any()
    share = decisions(exp, crafted(2, [[0, half, 0, 0, 0], [0, 0, half, 0, 0]])).mean()
    assert abs(share - 0.5) < 5 * 0.5 / DRAWS**0.5


def test_a_single_run_replays_only_against_a_chosen_coplayer_whose_buffer_is_warm() -> None:
    exp = experiment(with_changes(method="maestro-r", curriculum={"replay_rate": 1.0}))
    runs = crafted(2, [[0, MEMBER_BUFFER, 0, 0, 0]] * 2)
    runs = jax.tree.map(lambda x: x[:1], runs)
    keys = jax.random.split(jax.random.key(37), DRAWS)
    decide = jax.jit(jax.vmap(lambda k: cohort.replay_decision(k, exp, runs, k[None])))
    choose = jax.jit(
        jax.vmap(lambda k: curriculum.choose(k, exp.teacher, jax.tree.map(lambda x: x[0], runs.curriculum)))
    )
    chosen = np.asarray(choose(keys))
    assert 0 < (chosen == 1).mean() < 1
    assert np.array_equal(np.asarray(decide(keys)), chosen == 1)


def test_a_buffer_of_someone_who_cannot_be_chosen_warms_nobody() -> None:
    exp = experiment(with_changes(method="maestro-r"))
    full = MEMBER_BUFFER
    assert not decisions(exp, crafted(2, [[full, 0, 0, full, full]] * 2)).any()


def test_in_a_replay_cycle_a_seed_redraws_among_its_warm_members() -> None:
    exp = experiment(with_changes(method="maestro-r"))
    run = jax.tree.map(lambda x: x[0], crafted(3, [[8, 8, 0, 8, 8]] * 2))
    keys = jax.random.split(jax.random.key(29), DRAWS)
    plans = ((EXPLORE, [0, 1 / 3, 1 / 3, 1 / 3, 0]), (training_plan(exp), [0, 1 / 2, 0, 1 / 2, 0]))
    for plan, weights in plans:
        draw = jax.jit(jax.vmap(lambda k, p=plan: cohort.draw_coplayers(k, exp, run, p)))
        seen, weights = frequencies(draw(keys), 5), np.array(weights)
        assert (np.abs(seen - weights) <= 5 * np.sqrt(weights * (1 - weights) / DRAWS)).all()


@pytest.mark.parametrize("kind", ["coin", "parallel"])
def test_a_coplayer_for_each_worker_is_drawn_on_its_own_and_replays_only_if_warm(kind: str) -> None:
    changes = {"curriculum": {"coplayer_per": "worker"}, "schedule": {"kind": kind}}
    exp = experiment(with_changes(method="maestro-r", **changes))
    run = jax.tree.map(lambda x: x[0], crafted(3, [[0, 8, 0, 8, 0]] * 2))
    keys = jax.random.split(jax.random.key(31), DRAWS // WORKERS)
    slots = jax.jit(jax.vmap(lambda k: cohort.draw_coplayers(k, exp, run, training_plan(exp))))(keys)
    replay, new = slots[:, -WORKERS:], slots[:, :-WORKERS]
    assert new.shape[1] == (WORKERS if kind == "parallel" else 0)
    np.testing.assert_allclose(frequencies(replay, 5), [0, 1 / 2, 0, 1 / 2, 0], atol=0.06)
    if kind == "parallel":
        np.testing.assert_allclose(frequencies(new, 5), [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=0.06)
    assert (np.ptp(replay, axis=1) > 0).mean() > 0.9


@pytest.fixture(scope="module")
def warmed_up():
    """MAESTRO with a warm-up of 3 updates, optimistic about empty buffers, evicting the least score."""
    schedule = {"warmup": 3, "total_updates": 8}
    exp = experiment(with_changes(curriculum={"empty": "optimistic", "eviction": "score"}, schedule=schedule))
    states, metrics, _ = record(exp, start(exp, 1, 2), 40)
    return exp, states, metrics


def test_until_the_warm_up_ends_the_student_plays_itself(warmed_up) -> None:
    _, states, metrics = warmed_up
    for state, measured, after in zip(states, metrics, states[1:], strict=False):
        if not measured.active.all():
            continue
        assert (measured.chosen[:, 0] == (state.updates < 3)).all()
        scratch = [s.seeds.curriculum.buffers.clock[:, 0] for s in (state, after)]
        assert ((scratch[1] > scratch[0]) == (state.updates < 3)).all()
    assert states[-1].updates == 8


def test_members_join_from_the_end_of_the_warm_up_on_with_empty_buffers(warmed_up) -> None:
    _, states, _ = warmed_up
    sizes = {int(s.updates): s.seeds.curriculum.population.size.tolist() for s in states}
    assert sizes == {u: [n, n] for u, n in enumerate([0, 0, 0, 1, 1, 2, 2, 3, 3])}
    for before, after in pairwise(states):
        joined = int(after.seeds.curriculum.population.size[0])
        if joined > before.seeds.curriculum.population.size[0]:
            assert (after.seeds.curriculum.buffers.size[:, joined] == 0).all()


def test_optimism_prefers_a_member_whose_buffer_is_empty(warmed_up) -> None:
    exp, states, metrics = warmed_up
    rate, seen = exp.teacher.config.exploration, 0
    for state, measured in zip(states, metrics, strict=False):
        teacher = state.seeds.curriculum
        for seed, size in enumerate(teacher.population.size):
            empty = teacher.buffers.size[seed, 1 : 1 + size] == 0
            if measured.active.all() and empty.sum() == 1:
                favorite = measured.coplayer_weights[seed, 1 + np.argmax(empty)]
                np.testing.assert_allclose(favorite, 1 - rate + rate / size, rtol=1e-5)
                seen += 1
    assert seen >= 2


def test_evicting_by_score_the_lowest_goes_first(warmed_up) -> None:
    _, states, metrics = warmed_up
    evictions = 0
    for state, measured, after in zip(states, metrics, states[1:], strict=False):
        before, later = state.seeds.curriculum.buffers, after.seeds.curriculum.buffers
        for seed in np.flatnonzero(measured.active & ~measured.trained):
            slot = measured.chosen[seed].argmax()
            old, new = (jax.tree.map(lambda x, i=(seed, slot): x[i], b) for b in (before, later))
            replaced = changed(old.digest[None], new.digest[None])[0]
            kept_as_they_were = (old.score == new.score)[~replaced].all()
            if old.size == MEMBER_BUFFER and replaced.any() and kept_as_they_were:
                assert replaced[np.argmin(old.score)]
                assert (new.score[replaced] >= old.score[replaced]).all()
                evictions += 1
    assert evictions >= 2


@dataclass(frozen=True)
class NotingAgent(SmallAgent):
    """Notes the shapes of the minibatches of its program."""

    traced: list = field(default_factory=list, compare=False)

    def unroll(self, params, obs, keep):
        self.traced.append(obs.shape)
        return super().unroll(params, obs, keep)


def test_learning_from_both_seats_doubles_the_sequences_of_an_update() -> None:
    schedule = {"sp_train_both": True, "kind": "parallel"}
    agent = NotingAgent()
    exp = experiment(with_changes(method="plr-sp", schedule=schedule), agent=agent)
    states, metrics, _ = record(exp, start(exp, 0, 1), 4)
    assert states[-1].updates == sum(int(m.trained[0]) for m in metrics) >= 2
    (count, *_) = optax.tree_utils.tree_get_all_with_path(states[-1].seeds.learner.optimizer, "count")
    assert count[1] == states[-1].updates * SMALL.ppo.epochs * SMALL.ppo.minibatches
    assert {shape[1] for shape in agent.traced} == {2 * WORKERS // SMALL.ppo.minibatches}
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(states[-1].seeds.learner.params))


@pytest.fixture(scope="module")
def per_worker():
    """A co-player for each worker, positive value loss, proportional replay."""
    options = {"coplayer_per": "worker", "score": "positive_value_loss", "prioritization": "proportional"}
    exp = experiment(with_changes(method="maestro-r", curriculum=options, schedule={"kind": "parallel"}))
    states, metrics, _ = record(exp, start(exp, 0, 2), 14)
    return exp, states, metrics


def test_with_a_coplayer_per_worker_several_are_met_in_one_cycle(per_worker) -> None:
    _, states, metrics = per_worker
    most = 0
    for state, measured, after in zip(states, metrics, states[1:], strict=False):
        before, later = state.seeds.curriculum, after.seeds.curriculum
        met = later.population.games - before.population.games
        np.testing.assert_array_equal(met.sum(axis=1), measured.episodes)
        members = before.population.size
        assert not met[:, 0].any() and all(not met[s, 1 + n :].any() for s, n in enumerate(members))
        for leaf in ("score", "digest", "clock"):
            differs = changed(*(np.asarray(getattr(c.buffers, leaf)) for c in (before, later)))
            assert (differs <= (met > 0)).all()
        most = max(most, int((met > 0).sum(axis=1).max()))
    assert most >= 2
    assert states[-1].updates == SMALL.schedule.total_updates


def test_positive_value_loss_is_never_negative(per_worker) -> None:
    for state in per_worker[1]:
        score = state.seeds.curriculum.buffers.score
        assert (score[np.isfinite(score)] >= 0).all()
    assert np.isfinite(score).any()


def specialist(method, kind, limit):
    """(experiment, states, metrics) of one level: a race of so many steps for action 2."""

    def generate(key):
        return Level(jnp.int32(2), jnp.int32(limit))

    run = with_changes(method=method, schedule={"kind": kind})
    exp = experiment(run, generate=generate, num_levels=1)
    states, metrics, _ = record(exp, start(exp, 0, 2), 6)
    return exp, states, metrics


@pytest.mark.parametrize(
    ("method", "kind"),
    [("maestro", "coin"), pytest.param("plr-fsp", "parallel", marks=pytest.mark.long)],
)
def test_a_specialist_learns_in_every_cycle_and_its_score_is_stored(method, kind) -> None:
    exp, states, metrics = specialist(method, kind, 4)
    assert exp.teacher.learns_from_new and states[-1].updates == len(metrics) == 6
    for state, measured, after in zip(states, metrics, states[1:], strict=False):
        assert measured.trained.all() and (measured.chosen[:, 0] == 0).all()
        before, later = state.seeds.curriculum.buffers, after.seeds.curriculum.buffers
        whose = measured.chosen.argmax(axis=1) if method == "maestro" else np.zeros(2, int)
        for seed, slot in enumerate(whose):
            assert later.size[seed, slot] == 1 and later.levels.number[seed, slot, 0] == 2
            assert later.clock[seed, slot] == before.clock[seed, slot] + WORKERS
            np.testing.assert_allclose(later.score[seed, slot, 0], measured.new.regret[seed], rtol=1e-5)
        assert later.size.max() == 1
        np.testing.assert_array_equal(measured.new.levels["number"], 2)
        assert np.isnan(measured.replayed.regret).all()
    most = np.where(later.size > 0, later.score.max(axis=2), -np.inf)
    if method == "maestro":  # Eq. 2 weighs the members by these scores
        weights = jax.vmap(lambda c: curriculum.weights(exp.teacher, c))(after.seeds.curriculum)
        members = after.seeds.curriculum.population.size
        for seed, size in enumerate(members):
            assert np.argmax(weights[seed]) == 1 + np.argmax(most[seed, 1 : 1 + size])


@pytest.mark.parametrize(
    ("method", "kind"),
    [("maestro", "parallel"), pytest.param("plr-sp", "coin", marks=pytest.mark.long)],
)
def test_a_specialist_learns_where_no_episode_ends_within_a_rollout(method, kind) -> None:
    """Both take what is right, or wrong, together for ever; the game is cut off after 1000 steps."""
    run = with_changes(method=method, schedule={"kind": kind})
    level = Level(jnp.int32(2), jnp.int32(1000))
    exp = experiment(run, Probe(length=1000), generate=lambda key: level, num_levels=1)
    states, metrics, _ = record(exp, start(exp, 0, 1), 3)
    assert [m.episodes[0] for m in metrics] == [0] * 3 and states[-1].updates == 3
    assert (states[-1].seeds.curriculum.buffers.size == 0).all()


def test_a_rollout_of_one_step_of_one_worker_is_learned_from() -> None:
    ppo = {"rollout_length": 1, "workers": 1, "epochs": 1, "minibatches": 1}
    exp = experiment(with_changes(method="dr-sp", ppo=ppo), Probe())
    states, metrics, _ = record(exp, start(exp, 0, 1), 2)
    assert states[-1].updates == 2 and states[-1].seeds.learner.skipped.tolist() == [0]
    assert np.isfinite(metrics[-1].losses.total).all()


def test_a_game_may_have_nothing_to_tell_of_its_levels() -> None:
    class Plain(Probe):
        def statistics(self, level):
            return {}

    exp = experiment(with_changes(SMALL, method="maestro"), Plain())
    _, metrics = jax.eval_shape(lambda: cohort.train_step(exp, cohort.init(exp, 0, 1)))
    assert metrics.new.levels == metrics.replayed.levels == {}


TINY = GAME.presets["tiny"]


def test_a_time_limit_is_known_where_chance_has_no_part_in_it() -> None:
    """Nor an edit; whatever a file says, a specialist's level has one."""

    def limit(method="maestro", **changes):
        return time_limit(build.experiment(GAME, with_changes(TINY, method=method, **changes)).teacher)

    assert limit() == levels.TIME_LIMIT and limit("maestro-accel") is None
    of_a_file = GAME.levels.load("FourRooms").replace(time_limit=jnp.int32(77))
    assert limit("dr-sp", level=to_text(of_a_file)) == 77
    teacher = build.experiment(GAME, TINY).teacher
    assert time_limit(replace(teacher, generate=of_any_length)) is None
    assert time_limit(replace(teacher, generate=lambda key: of_a_file)) == 77
    of_a_program = []
    jax.make_jaxpr(lambda x: of_a_program.append(time_limit(replace(teacher, generate=lambda key: x))))(
        of_a_file
    )
    assert of_a_program == [None]


def of_any_length(key):
    """A level with a time limit of its own."""
    return Level(jnp.int32(0), jax.random.randint(key, (), 1, 9))
