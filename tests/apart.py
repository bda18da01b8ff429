"""The first rollout of a cohort on two processes: `python apart.py NUMBER PORT FILE` writes arrays."""

import os
import sys
from functools import partial

import numpy as np

from maestro.runs.first import First
from maestro.runs.other import Other
from maestro.runs.processes import Member

LAYOUTS = ((1, 2),)  # environments apart; seeds apart share nothing but the coin


def main(number, port, file):
    """The first rollout on each layout and, in the first process, on one device; the first writes them."""
    kind = Other if number else First
    crew = kind(Member(number, 2, "127.0.0.1", port), [], sys.stderr.write)
    crew.start()
    import jax

    import spread  # loads JAX's devices, which both must do together
    from maestro import cohort, sharding
    from maestro.runs.checkpoint import flatten

    exp, seeds, _, _ = spread.CASES["race"]
    exp = exp()
    state = jax.jit(lambda: cohort.init(exp, 0, seeds))()
    rollout, found = partial(spread.first_rollout, exp), {}
    for layout in map(lambda along: sharding.Layout(*along), LAYOUTS):
        placed = sharding.put(layout, state)
        found[str(layout)] = sharding.fetch(sharding.compiled(layout, rollout, placed)(placed)[1])
    if number:
        crew.orders.get()  # for ever: the end of the first is the end of this one
    found["none"] = jax.jit(rollout)(state)[1]
    named = {f"{layout}/{name}": x for layout, seen in found.items() for name, x in flatten(seen).items()}
    np.savez(file, **named)
    crew.end(0)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
