"""A chunk in pieces: what it computes is what the whole computes, to the bit on a CPU."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise
from threading import Event
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import runs_helpers
from maestro import cohort, pieces
from maestro.games.lasertag import GAME as LASERTAG
from maestro.runs import build, making, place, programs
from maestro.runs.chunks import VARIABLE, form, raw, whole
from maestro.settings import SettingsError
from maestro.sharding import Layout
from maestro.trees import is_key
from probes import experiment, start, with_changes
from quick import QUICK
from runs_helpers import Killed, QuickTrainer, like, micro, new_folder, newest

SEEDS, CYCLES = 2, 16


def case(name, method="maestro", long=False, seeds=SEEDS, curriculum=(), schedule=(), ppo=()):
    """A method with options, for some seeds, and what it is for."""
    run = with_changes(
        method=method,
        schedule={"kind": "parallel", **dict(schedule)},
        curriculum=dict(curriculum),
        ppo=dict(ppo),
    )
    return pytest.param(run, seeds, id=name, marks=[pytest.mark.long] * long)


CASES = [
    case("maestro"),
    case("coin, both seats", "plr-sp", schedule={"kind": "coin", "sp_train_both": True}),
    case("halves apart, rewards normalized", curriculum={"cold": "redraw"}, ppo={"normalize_returns": True}),
    case("new levels", "dr-fsp"),
    case("newcomers first", curriculum={"empty": "optimistic"}, seeds=1),  # their buffers are cold
    case("one seed tosses", schedule={"kind": "coin"}, seeds=1, long=True),
    case("newcomers of three seeds", curriculum={"empty": "optimistic"}, seeds=3, long=True),
    case("three seeds toss", schedule={"kind": "coin"}, seeds=3, long=True),
    case("coin", schedule={"kind": "coin"}, long=True),
    case("both seats", "plr-sp", schedule={"sp_train_both": True}, long=True),
    case("a co-player for each worker", curriculum={"coplayer_per": "worker"}, long=True),
    case("edits", "accel-pfsp", long=True),
    case("a score that remembers", curriculum={"score": "learnability"}, long=True),
    case("optimism", curriculum={"optimism": 0.5, "try_against": "uniform"}, long=True),
    case("warm-up", "plr-pfsp", schedule={"warmup": 3}, long=True),
]


class Quick:
    """A program that is ready to be compiled, quickly."""

    def __init__(self, lowered):
        self.lowered = lowered

    def compile(self, options=None):
        return self.lowered.compile(QUICK)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Pieces are compiled quickly."""
    traced = programs.traced

    def found(*arguments):
        one = traced(*arguments)
        return replace(one, lower=lambda: Quick(one.lower()))

    monkeypatch.setattr(programs, "traced", found)


def assert_equal(one, other):
    """Two trees, number by number."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        a, b = (jax.random.key_data(x) if is_key(x) else x for x in (a, b))
        np.testing.assert_array_equal(a, b)


def cycle_by_cycle(chunk, known):
    """To the end of a run: the kinds of its cycles, as each was decided before the last one's update."""
    leaves, kinds = jax.tree.leaves(raw(known)), []
    updates, decision = int(known.updates), chunk.decide(jax.tree.leaves(raw(known)))
    while updates < chunk.total:
        kinds.append(bool(decision))
        updates += kinds[-1]
        leaves, _, decision = chunk.launch(leaves, kinds[-1])
        assert bool(decision) == bool(chunk.decide(leaves)), "it is what it would be after the update"
    return kinds


@pytest.mark.parametrize("run, seeds", CASES)
def test_in_pieces_a_run_is_to_the_bit_what_it_is_as_a_whole(run, seeds):
    exp = experiment(run)
    state = start(exp, 3, seeds)
    steps = jax.jit(partial(cohort.train_steps, exp, CYCLES), compiler_options=QUICK)
    chunk, limits = making.compiled(None, exp, state), (np.int32(6), np.int32(CYCLES))
    expected, measured = steps(state, *limits)
    found, told = chunk(state, *limits)
    assert found.updates > 2 and (found.cycles > found.updates or len(cohort.plans(exp)) == 1)
    assert jax.tree.structure((found, told)) == jax.tree.structure((expected, measured))
    assert_equal(found, expected)
    rows = int(found.cycles)
    assert_equal(told, jax.tree.map(lambda x: x[:rows], measured))
    assert told.active.all() and not measured.active[rows:].any()
    between, _ = chunk(state, np.int32(6), np.int32(3))
    assert between.cycles == 3
    assert_equal(chunk(between, *limits)[0], expected)
    beyond, told = chunk(found, *limits)
    assert_equal(beyond, found)
    assert not told.active.any() and jax.tree.structure(told) == jax.tree.structure(measured)
    assert chunk(found, np.int32(99), np.int32(99))[0].updates == run.schedule.total_updates
    kinds = cycle_by_cycle(chunk, state)
    assert all(kinds) == (len(cohort.plans(exp)) == 1)
    if exp.teacher.config.empty == "optimistic":
        assert sum(one != other for one, other in pairwise(kinds)) > 4, "each time that a member joins"


def test_pieces_that_are_kept_are_not_traced_again_and_compute_the_same(tmp_path, monkeypatch):
    tiny = with_changes(LASERTAG.presets["tiny"], ppo={"rollout_length": 64, "workers": 8})
    exp = build.experiment(LASERTAG, with_changes(tiny, curriculum={"min_fill": 0.01}))
    state, limits = start(exp, 3, 1), (np.int32(3), np.int32(CYCLES))
    traced = making.compiled(tmp_path, exp, state)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 9, "eight pieces, and the decision"
    monkeypatch.setattr(making.Course, "flat", lambda *_: 1 / 0)
    monkeypatch.setattr(pieces, "decide", None)
    kept = making.compiled(tmp_path, exp, state)
    begun = Event()
    again = making.Making(tmp_path, exp, state, begun)
    again.trace("decide", lambda *_: 1 / 0, again.leaves)
    assert begun.is_set(), "nobody waits for what need not be traced"
    found = traced(state, *limits)
    assert found[0].updates > 1
    assert_equal(found, kept(state, *limits))
    assert sorted(tmp_path.iterdir()) == files


def test_the_piece_that_takes_longest_is_the_first_that_is_compiled(monkeypatch):
    traced, begun, order = programs.traced, Event(), []

    def noted(folder, known, *arguments):
        def lower():
            order.append((known[0][1], begun.is_set()))
            return SimpleNamespace(compile=lambda options: None)

        return replace(traced(folder, known, *arguments), lower=lower)

    monkeypatch.setattr(programs, "traced", noted)
    exp = experiment(with_changes(schedule={"kind": "coin"}))
    making.compiled(None, exp, start(exp, 3, SEEDS), begun)
    names, heard = zip(*order, strict=True)
    first, others = ("improve", "play", "play", "judge", "explored"), {"ask", "conclude", "explore", "decide"}
    assert names[:5] == first and set(names[5:]) == others
    assert heard == (False, *[True] * 8)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys_come_back_as_they_were(impl):
    known = {"x": jnp.arange(3), "keys": jax.random.split(jax.random.key(3, impl=impl))}
    numbers = raw(known)
    assert not any(is_key(x) for x in jax.tree.leaves(numbers))
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), known)
    back = whole(shapes, jax.tree.leaves(numbers))
    assert back["keys"].dtype == known["keys"].dtype
    assert_equal(back, known)


def test_a_run_in_pieces_leaves_the_files_of_one_that_was_a_whole(tmp_path, monkeypatch):
    run = micro(schedule={"kind": "parallel"})
    made = [new_folder(tmp_path / name, run) for name in ("whole", "pieces", "resumed")]
    QuickTrainer(made[0], run).run()
    chunk = making.compiled(None, runs_helpers.experiment(run), like(run))
    monkeypatch.setattr(QuickTrainer, "compile", lambda self: chunk)
    QuickTrainer(made[1], run).run()
    with pytest.raises(Killed):
        QuickTrainer(made[2], run, killed_after=4).run()
    QuickTrainer(made[2], run).run()
    assert newest(made[0].path) == newest(made[1].path) == newest(made[2].path)


def on(monkeypatch, backend):
    """As if JAX had another backend."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)


def of(**schedule):
    """An experiment with such a schedule."""
    return experiment(with_changes(schedule=schedule))


def test_short_runs_on_one_gpu_are_in_pieces(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert form(of()) == "whole", "a CPU"
    on(monkeypatch, "gpu")
    assert form(of()) == form(of(total_updates=4999)) == "pieces"
    assert (
        form(of(total_updates=5000)) == form(of(), Layout(2, 1)) == form(of(exploiters="beside")) == "whole"
    )


def test_the_environment_decides_otherwise_where_it_can(monkeypatch):
    monkeypatch.setenv(VARIABLE, "pieces")
    assert form(of()) == form(of(total_updates=10_000)) == "pieces"
    with pytest.raises(SettingsError, match="a run on several devices cannot be computed in pieces"):
        form(of(), Layout(1, 2))
    with pytest.raises(SettingsError, match="a run with exploiters cannot be computed in pieces"):
        form(of(exploiters="beside"))
    on(monkeypatch, "gpu")
    monkeypatch.setenv(VARIABLE, "whole")
    assert form(of()) == "whole"
    monkeypatch.setenv(VARIABLE, "halves")
    with pytest.raises(SettingsError, match="'halves' is unknown; allowed: auto, whole, pieces"):
        form(of())


@pytest.mark.parametrize("asked", ["pieces", "whole"])
def test_what_is_asked_for_is_what_is_compiled(asked, monkeypatch):
    made = []
    monkeypatch.setenv(VARIABLE, asked)
    monkeypatch.setattr(place.making, "compiled", lambda *_, **__: made.append("pieces"))
    monkeypatch.setattr(place.programs, "compiled", lambda *_, **__: made.append("whole"))
    exp = of()
    place.compiled(None, exp, start(exp, 0, 1))
    assert made == [asked]


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_the_command_refuses_a_form_it_does_not_know(more, tmp_path):
    command = [sys.executable, "-m", "maestro", "train", "lasertag", "--preset", "tiny"]
    command += ["--out", str(tmp_path / "run"), *more]
    done = subprocess.run(command, env=os.environ | {VARIABLE: "halves"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "$MAESTRO_CHUNK: 'halves' is unknown" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
