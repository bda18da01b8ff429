"""Where this device stands among others: what it has a part of, and what it exchanges with them.

Inside a program that `sharding` spreads over devices these functions talk to the others; everywhere else
there are no others, and they return what they are given.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool

SEEDS, ENVS = "seeds", "envs"  # the axes of the mesh; one run's devices differ in the second


def devices(axis: str) -> int:
    """How many devices share the work along an axis."""
    here = jax.sharding.get_abstract_mesh()
    return here.shape[axis] if axis in here.manual_axes else 1


def numbers(count: int, groups: int = 1) -> Array:
    """Those of `groups` times `count` environments that this device plays: as many of each group."""
    if devices(ENVS) == 1:
        return jnp.arange(groups * count)
    own = share(jnp.arange(count))
    return (jnp.arange(groups)[:, None] * count + own[None]).reshape(-1)


def share(x: Array) -> Array:
    """This device's part of the first axis."""
    parts = devices(ENVS)
    if parts == 1:
        return x
    size = x.shape[0] // parts
    return lax.dynamic_slice_in_dim(x, lax.axis_index(ENVS) * size, size)


def whole(tree: Any, groups: int, axis: int = 1) -> Any:
    """What all devices have played, from what each has; `axis` counts environments as `numbers` does."""
    if devices(ENVS) == 1:
        return tree

    def leaf(x: Array) -> Array:
        split = x.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])
        every = lax.all_gather(split, ENVS, axis=axis + 1, tiled=True)
        return every.reshape(*x.shape[:axis], -1, *x.shape[axis + 1 :])

    return jax.tree.map(leaf, tree)


def mean(tree: Any) -> Any:
    """Of what the devices found on equal parts."""
    return tree if devices(ENVS) == 1 else lax.pmean(tree, ENVS)


def everywhere(known: Bool[Array, ""]) -> Bool[Array, ""]:
    """Whether something is so for the seeds of all devices."""
    return known if devices(SEEDS) == 1 else lax.pmin(known.astype(jnp.int32), SEEDS) > 0
