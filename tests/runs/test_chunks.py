"""In which order a chunk in pieces hands its programs to the device, and what the host waits for."""

import re
from functools import partial
from weakref import WeakSet

import jax
import numpy as np
import pytest

from maestro import cohort, pieces
from maestro.games.lasertag import GAME as LASERTAG
from maestro.runs import build
from maestro.runs.chunks import JUDGED, Pieces
from probes import experiment, start, with_changes

TRAINING, EXPLORING = ["ask", "play", "judge", "improve", "conclude"], ["explore", "play", "explored"]

RACE = experiment()
KNOWN = start(RACE, 0, 1)
SHAPES = jax.eval_shape(partial(cohort.train_step, RACE), KNOWN)[1]
NOTHING = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), SHAPES)  # metrics


class Played:
    """What a program has given."""


class Told:
    """Something on the device that the host may read; it notes when."""

    def __init__(self, log, what, value):
        self.log, self.what, self.value = log, what, value

    def __bool__(self):
        self.log.append(self.what)
        return self.value

    def __array__(self, *_, **__):
        self.log.append(self.what)
        return np.array(self.value)


class Device:
    """Programs that only note that they were called; `kinds` says which cycles train."""

    def __init__(self, kinds):
        self.kinds, self.log, self.cycle, self.alive = kinds, [], 0, WeakSet()
        self.held = []  # at the beginning of each cycle: results of the one before that are still there

    def learns(self, cycle):
        """A decision on a cycle, of which nobody knows beyond the last."""
        kind = self.kinds[cycle] if cycle < len(self.kinds) else True
        return Told(self.log, f"look {cycle}", kind)

    def program(self, course, number):
        """One piece of a cycle."""

        def call(leaves, *results):
            assert len(results) == number
            if number == 0:
                self.held.append(len(self.alive))
            self.log.append(f"{course[number]} {self.cycle}")
            if number + 1 < len(course):
                given = Played()
                self.alive.add(given)
                first = self.learns(self.cycle + 1) if number == JUDGED else given
                return [first, given]
            self.cycle += 1
            metrics = NOTHING.replace(active=Told(self.log, f"fetch {self.cycle - 1}", self.cycle - 1))
            told = leaves, metrics
            return told if course is TRAINING else (*told, self.learns(self.cycle))

        return call


def chunk(kinds, total=100):
    """A chunk on such a device, and the device."""
    device = Device(kinds)
    cycles = [[device.program(course, n) for n in range(len(course))] for course in (TRAINING, EXPLORING)]
    made = Pieces(total, KNOWN, NOTHING.replace(active=np.int32(-1)), lambda _: device.learns(0), cycles)

    def run(until, most):
        return made(KNOWN, until, most)[1].active.tolist()

    return device, run


def test_the_next_cycle_is_launched_before_the_last_has_ended_and_no_more_than_one_is_ahead():
    device, run = chunk([True, True, False, True])
    metrics = run(99, 4)
    expected = []
    for cycle, kind in enumerate(device.kinds):
        expected += [f"look {cycle}", *(f"{name} {cycle}" for name in (TRAINING if kind else EXPLORING))]
        expected += [f"fetch {cycle - 1}"] * (cycle > 0)
    assert device.log == [*expected, "fetch 3"], "what waits for the end of a cycle comes after the next"
    assert metrics == [0, 1, 2, 3]


def test_what_was_played_is_let_go_before_the_next_cycle_begins():
    device, run = chunk([True, True, False, False, True])
    run(99, 5)
    assert device.held == [0] * 5


@pytest.mark.parametrize(
    ("kinds", "until", "most", "total", "cycles"),
    [([True] * 3, 9, 3, 9, 3), ([True, False, True], 2, 9, 9, 3), ([True] * 2, 9, 9, 2, 2), ([], 0, 5, 9, 0)],
)
def test_nothing_is_launched_or_waited_for_beyond_the_end(kinds, until, most, total, cycles):
    device, run = chunk(kinds, total)
    metrics = run(until, most)
    assert device.cycle == cycles and len(device.held) == cycles
    assert not any(f"look {number}" in device.log for number in range(cycles, 9))
    assert metrics == ([*range(cycles)] if cycles else [-1])


def waits(text):
    """How many of a program's loops end by something else than a count: a GPU's host waits at every turn."""
    ends = [loop.split("do {")[0] for loop in re.findall(r"stablehlo\.while.*?\} do \{", text, re.DOTALL)]
    return sum("compare LT" not in end for end in ends)


def test_on_a_gpu_no_host_waits_within_a_cycle_that_trains():
    small = with_changes(LASERTAG.presets["tiny"], seeds=2, ppo={"rollout_length": 16, "workers": 8})
    exp = build.experiment(LASERTAG, small)
    known, found = [jax.eval_shape(lambda: cohort.init(exp, 0, 2))], {}
    for name, piece in pieces.of_cycle(exp, cohort.plans(exp)[0]).items():
        traced = jax.jit(piece).trace(*known)
        found[name] = waits(traced.lower(lowering_platforms=("cuda",)).as_text())
        known.append(traced.out_info)
    assert found == {"ask": 0, "play": 0, "judge": 0, "improve": 0, "conclude": 0}
