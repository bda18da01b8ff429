"""Training computes, bit for bit, what it computed before the code was rebuilt (commit 2cdbdf0)."""

import hashlib
import json
import platform
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cohort
from probes import QUICK, experiment, start, with_changes

GOLDEN = json.loads((Path(__file__).parent / "golden" / "training_digests.json").read_text())
CYCLES = 20


def instructions() -> list[str]:
    """The instruction sets that decide how this machine rounds sums."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    return [platform.machine(), *sorted(flag for flag in flags if flag.startswith(("avx", "fma")))]


def kind() -> int | None:
    """Which kind of CPU this is of those that commit 2cdbdf0 has run on with this jax; None if another."""
    known, own = GOLDEN["instructions"], instructions()
    return known.index(own) if GOLDEN["jax"] == jax.__version__ and own in known else None


def same_rounding() -> bool:
    """Whether this is the first of them, on which the old run of the other golden was made."""
    return kind() == 0


def plain(leaf: jax.Array) -> np.ndarray:
    """An array as numbers; random keys as what they hold."""
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def digest(tree: object) -> str:
    """Of all arrays of a tree, whatever their names and their order."""
    arrays = [plain(leaf) for leaf in jax.tree.leaves(tree)]
    each = [hashlib.sha256(f"{x.dtype}{x.shape}".encode() + x.tobytes()).hexdigest() for x in arrays]
    return hashlib.sha256("".join(sorted(each)).encode()).hexdigest()


def trained(row: dict) -> cohort.Cohort:
    """The cohort of a row after some cycles."""
    changes = {name: row[name] for name in ("method", "curriculum") if name in row}
    schedule = {"total_updates": 32, "interval": 4, **row["schedule"]}
    exp = experiment(with_changes(**changes, schedule=schedule))
    step = jax.jit(lambda s: cohort.train_step(exp, s), compiler_options=QUICK)
    state = start(exp, 0, row["seeds"])
    for _ in range(CYCLES):
        state, _ = step(state)
    return state


def name(row: dict) -> str:
    return "-".join([row["method"], *map(str, row["schedule"].values()), f"{row['seeds']}-seeds"])


SHORT = {"dr-pfsp": "coin", "maestro-p": "coin"}


def is_short(row: dict) -> bool:
    """A row of each schedule, one of them with two seeds; `make test-long` takes all."""
    plain = "curriculum" not in row and row["seeds"] == 1
    return row == EXTRA[1] or (plain and row["schedule"] == {"kind": SHORT.get(row["method"])})


EXTRA = [row for row in GOLDEN["rows"] if "curriculum" in row]
ROWS = [pytest.param(row, marks=[] if is_short(row) else pytest.mark.long) for row in GOLDEN["rows"]]


@pytest.mark.skipif(kind() is None, reason="the golden is of another jax or another kind of CPU")
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_state_after_20_cycles_is_what_it_was(row: dict) -> None:
    state = trained(row)
    assert int(state.updates) == row["updates"]
    assert digest(state) == row["sha256"][kind()]
