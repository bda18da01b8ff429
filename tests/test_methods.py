"""Every method, one table: what must hold in each cycle of a run, whatever the method."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from maestro import cohort
from maestro.agents.conv_lstm import ConvLSTM
from maestro.curriculum import Source
from maestro.envs.lasertag.game import LaserTag
from maestro.methods import METHODS, self_play
from maestro.train import EXPLORE
from probes import CountingAgent, Race, SmallAgent, experiment, record, start, with_changes

SEEDS, CYCLES, DRAWS = 2, 34, 4096
BUFFERED = [name for name, method in METHODS.items() if method.levels is not Source.NEW]
LONGER = (
    "dr-pfsp",
    "plr-fsp",
    "plr-pfsp",
    "accel-sp",
    "accel-fsp",
    "accel-pfsp",
    "maestro-l",
)  # with the coin
ROWS = [pytest.param(name, "coin", marks=[pytest.mark.long] * (name in LONGER)) for name in METHODS]
ROWS += [(name, "parallel") for name in ("plr-pfsp", "maestro")]


class Cycle(NamedTuple):
    """One cycle of the recorded run."""

    before: Any
    metrics: Any
    after: Any


class Recording(NamedTuple):
    experiment: Any
    cycles: list[Cycle]
    programs: int

    @property
    def active(self) -> list[Cycle]:
        return [c for c in self.cycles if c.metrics.active.all()]

    @property
    def states(self) -> list[Any]:
        return [c.before for c in self.cycles] + [self.cycles[-1].after]


def recorded(run: Any, env: Any, agent: Any, cycles: int) -> Recording:
    """Single cycles of one compiled program, each with the state before and after."""
    exp = experiment(run, env, agent)
    states, metrics, programs = record(exp, start(exp, run.seed, SEEDS), cycles)
    cycles_ = [Cycle(*c) for c in zip(states, metrics, states[1:], strict=False)]
    return Recording(exp, cycles_, programs)


def equal(one: Any, other: Any) -> bool:
    """Bitwise."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def part(tree: Any, *index: Any) -> Any:
    return jax.tree.map(lambda x: x[index], tree)


def curriculum_of(state: Any) -> Any:
    return state.seeds.curriculum


def chosen_slots(cycle: Any) -> np.ndarray:
    """[seeds]: the one co-player of all environments."""
    assert (cycle.metrics.chosen.max(axis=1) == 1).all() and (cycle.metrics.chosen.sum(axis=1) == 1).all()
    return cycle.metrics.chosen.argmax(axis=1)


def adam_steps(state: Any) -> np.ndarray:
    """[seeds]"""
    adam = optax.tree_utils.tree_get_all_with_path(state.seeds.learner.optimizer, "count")
    return adam[0][1]


def is_one_program(run: Recording) -> None:
    assert run.programs == 1


def is_finite(run: Recording) -> None:
    for state in run.states:
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(state.seeds.learner.params))
        assert (state.seeds.learner.skipped == 0).all()
    for cycle in run.active:
        losses = np.stack(jax.tree.leaves(cycle.metrics.losses))
        assert (np.isfinite(losses) == cycle.metrics.trained[None]).all()
    assert any(c.metrics.episodes.sum() > 0 for c in run.active)


def learns_in_training_cycles_only(run: Recording) -> None:
    for cycle in run.active:
        before, after = cycle.before.seeds.learner, cycle.after.seeds.learner
        if cycle.metrics.trained.all():
            for seed in range(SEEDS):
                assert not equal(part(before.params, seed), part(after.params, seed))
        else:
            assert equal(before, after)


def throws_no_update_away(run: Recording) -> None:
    per_update = run.experiment.ppo.epochs * run.experiment.ppo.minibatches
    trained = 0
    for cycle in run.active:
        assert len(set(cycle.metrics.trained.tolist())) == 1
        trained += int(cycle.metrics.trained[0])
        assert cycle.after.updates == trained
        assert (adam_steps(cycle.after) == trained * per_update).all()
    if isinstance(run.experiment.agent, CountingAgent):
        assert len(run.experiment.agent.executed) == trained * per_update * SEEDS


def makes_all_updates_then_rests(run: Recording) -> None:
    assert run.states[-1].updates == run.experiment.schedule.total_updates
    idle = [c for c in run.cycles if not c.metrics.active.any()]
    assert run.cycles[len(run.active) :] == idle and idle
    assert all(equal(key_data(c.before), key_data(c.after)) for c in idle)


def key_data(tree: Any) -> Any:
    keys = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key)]
    rest = [x for x in jax.tree.leaves(tree) if not jnp.issubdtype(x.dtype, jax.dtypes.prng_key)]
    return [jax.random.key_data(k) for k in keys] + rest


def has_as_many_members_as_the_updates_say(run: Recording) -> None:
    schedule = run.experiment.schedule
    for state in run.states:
        latest = min(int(state.updates), schedule.total_updates - 1)
        expected = len(range(schedule.warmup, latest + 1, schedule.interval))
        assert (curriculum_of(state).population.size == expected).all()


def freezes_its_members(run: Recording) -> None:
    for cycle in run.cycles:
        before, after = curriculum_of(cycle.before).population, curriculum_of(cycle.after).population
        for seed in range(SEEDS):
            old = slice(1, 1 + int(before.size[seed]))
            assert equal(part(before.params, seed, old), part(after.params, seed, old))
            if after.size[seed] > before.size[seed]:
                newest = part(after.params, seed, int(after.size[seed]))
                assert equal(newest, part(cycle.after.seeds.learner.params, seed))
                assert after.games[seed, after.size[seed]] == 0


def mirrors_the_student_in_slot_0(run: Recording) -> None:
    for state in run.states:
        mirrored = jax.tree.map(lambda x: x[:, 0], curriculum_of(state).population.params)
        assert equal(mirrored, state.seeds.learner.params)


def remembers_only_whom_it_played(run: Recording) -> None:
    """Results, and the buffers that belong to co-players, of all others stay as they were."""
    per_coplayer = run.experiment.teacher.method.levels is Source.PER_COPLAYER
    for cycle in run.active:
        before, after = curriculum_of(cycle.before), curriculum_of(cycle.after)
        for seed, chosen in enumerate(chosen_slots(cycle)):
            others = np.arange(before.chosen_at.shape[1]) != chosen
            for memory in (lambda c: c.population.results, lambda c: c.population.games):
                assert equal(memory(before)[seed, others], memory(after)[seed, others])
            played = after.population.games[seed, chosen] - before.population.games[seed, chosen]
            assert played == cycle.metrics.episodes[seed]
            if per_coplayer:
                assert equal(part(before.buffers, seed, others), part(after.buffers, seed, others))
                assert after.buffers.clock[seed, chosen] > before.buffers.clock[seed, chosen]


def plays_only_those_it_may(run: Recording) -> None:
    """Self-play meets the live student, every other method a member."""
    live = run.experiment.teacher.method.coplayer is self_play
    for cycle in run.active:
        weights, chosen = cycle.metrics.coplayer_weights, chosen_slots(cycle)
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
        slots = np.arange(weights.shape[1])[None]
        members = (slots >= 1) & (slots <= curriculum_of(cycle.before).population.size[:, None])
        assert ((weights > 0) == ((slots == 0) if live else members)).all()
        assert (np.take_along_axis(weights, chosen[:, None], axis=1) > 0).all()


def warm_slots(run: Recording, state: Any) -> np.ndarray:
    """[seeds, P]: whose buffer is at least half full."""
    buffers, shape = curriculum_of(state).buffers, curriculum_of(state).chosen_at.shape
    fill = np.broadcast_to(buffers.size / buffers.score.shape[2], shape)
    return fill >= run.experiment.teacher.config.min_fill


def replays_only_from_warm_buffers(run: Recording) -> None:
    """Coin: whoever replays has a warm buffer. Parallel: a cycle trains if and only if all have one."""
    if run.experiment.teacher.method.levels is Source.NEW:
        assert all(c.metrics.trained.all() for c in run.active)
        return
    assert len({bool(c.metrics.trained[0]) for c in run.active}) == 2
    for cycle in run.active:
        warm = warm_slots(run, cycle.before)
        chosen = np.take_along_axis(warm, chosen_slots(cycle)[:, None], axis=1).all()
        if run.experiment.schedule.kind == "parallel":
            assert cycle.metrics.trained[0] == chosen
        elif cycle.metrics.trained[0]:
            assert chosen


def draws_coplayers_by_their_weights(run: Recording) -> None:
    """Frequencies of many draws from the last state, within 5 standard errors of the logged weights."""
    cycle = run.active[-1]
    keys = jax.random.split(jax.random.key(17), DRAWS)

    def one(state: Any, key: Any) -> Any:
        return cohort.draw_coplayers(key, run.experiment, state, EXPLORE)

    draw = jax.jit(jax.vmap(one, in_axes=(None, 0)))
    for seed in range(SEEDS):
        slots = draw(part(cycle.before.seeds, seed), keys)
        weights = cycle.metrics.coplayer_weights[seed]
        seen = np.bincount(slots, minlength=weights.size) / DRAWS
        error = np.sqrt(weights * (1 - weights) / DRAWS)
        assert (np.abs(seen - weights) <= 5 * error + 1e-7).all()


def replays_half_of_the_time(run: Recording) -> None:
    """The coin of a cohort whose buffers are warm, within 5 standard errors of p."""
    if run.experiment.teacher.method.levels is Source.NEW or run.experiment.schedule.kind != "coin":
        return
    cycle = run.active[-1]
    keys = jax.random.split(jax.random.key(19), DRAWS)
    unused = jax.random.split(jax.random.key(0), SEEDS)
    toss = jax.jit(
        jax.vmap(lambda r, k: cohort.replay_decision(k, run.experiment, r, unused), in_axes=(None, 0))
    )
    share = float(jnp.mean(toss(cycle.before.seeds, keys)))
    assert abs(share - run.experiment.teacher.config.replay_rate) < 5 * 0.5 / DRAWS**0.5


EVERY_CYCLE = [
    is_one_program,
    is_finite,
    learns_in_training_cycles_only,
    throws_no_update_away,
    has_as_many_members_as_the_updates_say,
    freezes_its_members,
    mirrors_the_student_in_slot_0,
    remembers_only_whom_it_played,
    plays_only_those_it_may,
    replays_only_from_warm_buffers,
]
WHOLE_RUN = [makes_all_updates_then_rests, draws_coplayers_by_their_weights, replays_half_of_the_time]


@pytest.mark.parametrize(("method", "kind"), ROWS)
def test_every_method_keeps_the_rules_in_every_cycle(method: str, kind: str) -> None:
    run = with_changes(method=method, schedule={"kind": kind}, curriculum={"exploration": 0.5})
    agent = CountingAgent() if method == "plr-sp" else SmallAgent()  # the first is never cached
    recording = recorded(run, Race(), agent, CYCLES)
    for rule in EVERY_CYCLE + WHOLE_RUN:
        rule(recording)


@pytest.mark.long
@pytest.mark.parametrize("score", ["mean_mc", "learnability"])
@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if not row.edits and not row.score])
def test_the_rules_hold_with_scores_that_remember(method: str, score: str) -> None:
    changes = {"exploration": 0.5, "score": score}
    run = with_changes(method=method, schedule={"kind": "parallel"}, curriculum=changes)
    recording = recorded(run, Race(), SmallAgent(), CYCLES)
    for rule in EVERY_CYCLE:
        rule(recording)
    assert recording.states[-1].updates > 0


@pytest.mark.long
@pytest.mark.parametrize("method", ["dr-sp", "maestro"])
def test_the_rules_hold_on_lasertag(method: str) -> None:
    run = with_changes(method=method, ppo={"rollout_length": 64}, schedule={"kind": "parallel"})
    agent = ConvLSTM(filters=4, hidden=8, heads=(8,))
    recording = recorded(run, LaserTag(5, 5), agent, 8)
    for rule in EVERY_CYCLE:
        rule(recording)
    assert recording.states[-1].updates > 0
