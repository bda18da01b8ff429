"""A cohort on several devices: it computes what it does on one, and tells others no more than it must."""

import gc
import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spread
from maestro import cohort, mesh, sharding
from maestro.runs import cost
from maestro.sharding import Layout, choose, divisor, fitting
from probes import SMALL, experiment, start, with_changes

HERE = Path(__file__).parent
PATIENCE = 900  # seconds
SHORT = ("race",)
LONG = [name for name in spread.CASES if name not in SHORT]
CASES = [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in spread.CASES]
LEARNING = [p for p in CASES if spread.CASES[p.values[0]][3]]
ALL_DEVICES = pytest.param("race on all devices", "1x8", marks=pytest.mark.long)
# Bytes of a step that the devices of a seed tell each other: in cycles that learn action, log-probability,
# two values, reward, episodes finished, both scores, terminated and truncated; in others less.
LEARNING_STEP, EXPLORING_STEP = 6 * 4 + 8 + 2, 3 * 4 + 8 + 2


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What the layouts of a case come to, from a process with eight devices."""

    @cache
    def of(case):
        file = tmp_path_factory.mktemp("spread") / "arrays.npz"
        flags = "--xla_force_host_platform_device_count=8 --xla_cpu_multi_thread_eigen=false"
        known = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "JAX_NUMPY_RANK_PROMOTION": "raise"}
        known |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        call = [sys.executable, str(HERE / "spread.py"), case, str(file)]
        done = subprocess.run(call, env=os.environ | known, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr[-4000:]
        talk = json.loads(file.with_suffix(".json").read_text())
        with np.load(file) as arrays:
            return SimpleNamespace(arrays=dict(arrays), talk=talk, layouts=spread.CASES[case][2])

    return of


def part(outcome, layout, what):
    """The arrays of one state or rollout, by their names."""
    start = f"{layout}/{what}/"
    return {name.removeprefix(start): x for name, x in outcome.arrays.items() if name.startswith(start)}


def assert_near(found, wanted, tolerance):
    """Numbers that are not fractions are equal, the others up to a tolerance."""
    assert found.keys() == wanted.keys() and found
    for name, x in found.items():
        near = np.testing.assert_allclose if x.dtype.kind == "f" else np.testing.assert_array_equal
        near(x, wanted[name], **({"rtol": 0, "atol": tolerance} if x.dtype.kind == "f" else {}), err_msg=name)


def assert_equal(found, wanted):
    """Bit for bit."""
    assert found.keys() == wanted.keys() and found
    assert not [name for name, x in found.items() if x.tobytes() != wanted[name].tobytes()]


@pytest.mark.parametrize("case", CASES)
def test_the_first_rollout_is_the_same_on_any_number_of_devices(outcome, case):
    known = outcome(case)
    for layout in known.layouts:
        assert_near(part(known, layout, "rollout"), part(known, "none", "rollout"), 1e-6)


@pytest.mark.parametrize("case", LEARNING)
def test_after_an_update_and_many_more_cycles_all_layouts_have_the_same_state(outcome, case):
    known = outcome(case)
    for layout in known.layouts:
        assert_near(part(known, layout, "first"), part(known, "none", "first"), 1e-5)
        assert_near(part(known, layout, "later"), part(known, "none", "later"), 1e-5)
    assert part(known, "none", "later")[".updates"] > part(known, "none", "first")[".updates"] == 1


@pytest.mark.parametrize("case", LEARNING)
def test_a_layout_computes_the_same_bits_twice_and_after_a_resume(outcome, case):
    known = outcome(case)
    for layout in known.layouts:
        assert_equal(part(known, layout, "again"), part(known, layout, "later"))
        assert_equal(part(known, layout, "resumed"), part(known, layout, "later"))


@pytest.mark.parametrize("case", CASES)
def test_a_state_put_onto_any_layout_and_fetched_is_the_state(outcome, case):
    known = outcome(case)
    for layout in known.layouts:
        assert_equal(part(known, layout, "put"), part(known, "none", "put"))


def talk_of(known, layout):
    """{kind of collective: bytes of each} of a compiled chunk, and of the coin's."""
    every = known.talk[f"{layout}/first"]
    by_kind = {kind: [size for k, size, who in every if k == kind and who == "envs"] for kind, _, _ in every}
    return by_kind, [size for _, size, who in every if who == "everywhere"]


@pytest.mark.long
def test_seeds_on_several_devices_share_nothing_but_the_coin(outcome):
    known = outcome("race, seeds apart")
    assert known.talk["2x1/first"] == [["all-reduce", 4, "everywhere"]]
    assert "2x1/rollout" not in known.talk


@pytest.mark.parametrize("case, layout", [ALL_DEVICES, ("race", "2x4")])
def test_the_devices_of_a_seed_tell_each_other_what_the_documentation_lists(outcome, case, layout):
    exp, seeds = spread.CASES[case][0](), 2 // int(layout[0])
    talk, coin = talk_of(outcome(case), layout)
    steps = exp.ppo.rollout_length * exp.ppo.workers * seeds
    parameters = jax.eval_shape(exp.agent.init, jax.random.key(0))
    gradient = sum(leaf.size for leaf in jax.tree.leaves(parameters)) + 5  # losses
    levels = 4 * exp.ppo.workers * seeds  # of the first levels, the number is logged
    seen = 4 * 9 * steps  # one observation for each step that is learned from
    learns = 2 * LEARNING_STEP * steps + seen + 2 * levels
    explores = EXPLORING_STEP * steps + levels
    assert talk.keys() == {"all-gather", "all-reduce"}
    # The compiler may join some of a kind, so that there are fewer.
    assert talk["all-reduce"] == [4 * gradient * seeds]
    assert len(talk["all-gather"]) <= 11 + 7 and sum(talk["all-gather"]) == learns + explores
    assert coin == [4] * (layout == "2x4")


@pytest.mark.parametrize(
    "case, layout, sequences",
    [
        ("race", "none", 8),
        ("race", "2x4", 2),
        pytest.param("race, seeds apart", "2x1", 8, marks=pytest.mark.long),
    ],
)
def test_the_form_of_the_lstm_is_that_for_a_devices_part_of_a_minibatch(outcome, case, layout, sequences):
    assert outcome(case).talk[f"{layout}/again"] == [sequences]


@pytest.mark.long
def test_a_mesh_of_one_device_compiles_to_as_many_instructions_of_each_kind_as_none():
    exp, limits = experiment(with_changes(schedule={"kind": "parallel"})), (np.int32(0), np.int32(0))
    state, counts = start(exp, 0, 2), []
    for layout in (None, Layout(1, 1)):
        chunk = spread.program(
            layout, partial(cohort.train_steps, exp, 2), sharding.put(layout, state), *limits
        )
        counts.append(Counter(re.findall(r"[\])}] ([a-z][a-z-]*)\(", chunk.as_text())))
    assert counts[0] == counts[1] and counts[0].total() > 1000


def test_no_device_is_asked_where_there_is_no_mesh():
    x, known = np.arange(6.0), jnp.bool_(True)
    assert mesh.devices(mesh.ENVS) == mesh.devices(mesh.SEEDS) == 1
    assert mesh.whole(x, 2) is x is mesh.mean(x) and mesh.everywhere(known) is known
    assert list(mesh.numbers(3, 2)) == list(range(6))


CHOSEN = {  # devices, seeds, workers -> layout
    (8, 8, 6): (8, 1),
    (8, 16, 6): (8, 1),
    (8, 1, 8): (1, 8),
    (8, 2, 4): (2, 4),
    (8, 10, 8): (2, 4),
    (4, 5, 64): (1, 4),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_seeds_take_as_many_devices_as_divide_both_and_environments_the_rest(case):
    assert choose(*case) == Layout(*CHOSEN[case])


def test_one_device_needs_no_mesh():
    assert choose(1, 10, 32) is None and choose(8, 10, 32, (1, 1)) is None


REFUSED = {
    "seeds": ((8, 3, 8, (2, 1)), "3 seeds cannot be spread over 2 devices; over 1 or 3 they can"),
    "environments": (
        (8, 1, 6, (1, 4)),
        "the environments of a run cannot be spread over 4 devices; over 1, 2, 3 or 6 they can",
    ),
    "by default": (
        (8, 1, 12),
        "the environments of a run cannot be spread over 8 devices; over 1, 2, 3, 4, 6 or 12 they can",
    ),
    "too many": ((8, 8, 8, (4, 4)), "4 x 4 devices are wanted, and there are 8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_divide_is_refused_with_the_numbers_that_would(case):
    arguments, told = REFUSED[case]
    with pytest.raises(ValueError) as error:
        choose(*arguments)
    assert str(error.value) == told


def test_the_numbers_of_devices_that_would_do_are_those_that_are_not_refused():
    for seeds, workers in [(1, 12), (3, 4), (10, 6), (16, 1)]:
        good = fitting(16, seeds, workers)
        for devices in range(1, 17):
            if devices in good:
                choose(devices, seeds, workers)
            else:
                with pytest.raises(ValueError):
                    choose(devices, seeds, workers)


DIVISORS = {
    "sequences": ({"workers": 32, "minibatches": 4}, {}, 8),
    "both seats": ({"workers": 32, "minibatches": 4}, {"sp_train_both": True}, 16),
    "steps": ({"workers": 12, "minibatches": 9, "shuffle": "steps", "rollout_length": 18}, {}, 12),
    "exploiters": ({"workers": 4, "minibatches": 8}, {"sp_train_both": True, "exploiters": "beside"}, 1),
}


@pytest.mark.parametrize("case", DIVISORS)
def test_devices_divide_the_workers_and_every_minibatch(case):
    ppo, schedule, wanted = DIVISORS[case]
    assert divisor(with_changes(SMALL, ppo=ppo, schedule=schedule)) == wanted


@pytest.mark.long
def test_the_memory_of_a_device_is_near_the_compilers_own_account(outcome):
    known, config, exp = outcome("lasertag learns"), spread.lasertag_config(), spread.lasertag()
    for name in known.layouts:
        layout = Layout(*map(int, name.split("x")))
        account = known.talk[f"{name}/later"]
        assert account / 2 < cost.memory(config, exp, layout) < 2 * account


def test_a_device_of_a_mesh_needs_less_memory():
    config = with_changes(SMALL, seeds=8, ppo={"workers": 64, "rollout_length": 256})
    exp = experiment(config)
    alone = cost.memory(config, exp)
    assert cost.memory(config, exp, Layout(8, 1)) == alone // 8
    assert alone / 8 < cost.memory(config, exp, Layout(1, 8)) < alone / 2
    assert cost.memory(config, exp, Layout(2, 4)) == cost.memory(config, exp, Layout(1, 4)) // 2


def test_garbage_is_looked_for_again_once_a_program_is_compiled_or_refused():
    def heard(x):
        seen.append(gc.isenabled())
        return x

    def refused(x):
        raise ValueError("cannot be traced")

    seen, state = [], start(experiment(), 0, 2)
    sharding.compiled(None, heard, state)
    with pytest.raises(ValueError, match="cannot be traced"):
        sharding.compiled(None, refused, state)
    assert seen == [False] and gc.isenabled()
