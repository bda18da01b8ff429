"""A cohort spread over devices: seeds along one axis of a mesh, the environments of each along the other."""

import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import gcd
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from maestro.cohort import Cohort
from maestro.config import RunConfig
from maestro.mesh import ENVS, SEEDS
from maestro.trees import is_key

BY_SEED, ALIKE = PartitionSpec(SEEDS), PartitionSpec()
MEASURED = PartitionSpec(None, SEEDS)  # metrics: cycles, seeds
ROOM = (1 << 17) + 1000  # words on Python's stack: a megabyte, which is one half of a piece


@dataclass(frozen=True)
class Layout:
    """How many devices there are along each axis."""

    seeds: int
    envs: int

    def __str__(self) -> str:
        return f"{self.seeds}x{self.envs}"

    @property
    def devices(self) -> int:
        """In all."""
        return self.seeds * self.envs

    @property
    def mesh(self) -> Mesh:
        """The devices of one seed stand beside each other, as they talk most."""
        devices = np.array(jax.devices()[: self.devices]).reshape(self.seeds, self.envs)
        return Mesh(devices, (SEEDS, ENVS))

    def shardings(self, cohort: Cohort) -> Any:
        """Where each array of a cohort lies."""
        mesh = self.mesh
        return jax.tree.map(lambda part: NamedSharding(mesh, part), specs(cohort))

    def put(self, cohort: Cohort) -> Cohort:
        """A cohort that every process holds as a whole, onto the devices."""
        return jax.tree.map(placed, cohort, self.shardings(cohort))

    def spread(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`train_steps`, or what has its arguments and results, as one program of all devices."""

        def run(cohort: Cohort, *limits: Any) -> Any:
            own = specs(cohort)
            inside = (own, *(ALIKE for _ in limits))
            # What all devices of a seed compute alike is not proven to be alike, hence no check.
            return jax.shard_map(
                function, mesh=self.mesh, in_specs=inside, out_specs=(own, MEASURED), check_vma=False
            )(cohort, *limits)

        return run


def specs(cohort: Cohort) -> Any:
    """What of a cohort is spread by seeds; everything is alike on the devices of one seed."""
    known = cohort.exploiters
    if known is not None:
        known = jax.tree.map(lambda _: BY_SEED, known).replace(updates=ALIKE)
    seeds = jax.tree.map(lambda _: BY_SEED, cohort.seeds)
    return cohort.replace(seeds=seeds, key=ALIKE, updates=ALIKE, cycles=ALIKE, exploiters=known)


def placed(x: Any, sharding: NamedSharding) -> jax.Array:
    """An array of which every process holds the whole, as one array of all devices."""
    if is_key(x):
        return jax.random.wrap_key_data(placed(jax.random.key_data(x), sharding), impl=jax.random.key_impl(x))
    known = np.asarray(x)
    return jax.make_array_from_callback(known.shape, sharding, lambda part: known[part])


def put(layout: Layout | None, cohort: Cohort) -> Cohort:
    """A cohort where it is to be trained."""
    return cohort if layout is None else layout.put(cohort)


def fetch(tree: Any) -> Any:
    """Whole arrays on the host, in every process; random keys stay such."""
    return jax.device_get(jax.tree.map(local, tree))


def local(x: Any) -> Any:
    """An array that this process holds as a whole."""
    if not isinstance(x, jax.Array) or x.is_fully_addressable:
        return x
    if is_key(x):
        return jax.random.wrap_key_data(local(jax.random.key_data(x)), impl=jax.random.key_impl(x))
    return multihost_utils.process_allgather(x, tiled=True)


def compiled(
    layout: Layout | None,
    function: Callable[..., Any],
    cohort: Cohort,
    *limits: Any,
    options: dict[str, Any] | None = None,
) -> Any:
    """`train_steps` compiled, under XLA's options, for a cohort as `put` has placed it."""
    program = jax.jit(function if layout is None else layout.spread(function))
    return at_ease(lambda: program.lower(cohort, *limits).compile(options))


def at_ease(trace: Callable[[], Any]) -> Any:
    """The result of something that traces programs, with room for it."""
    looks = gc.isenabled()
    gc.disable()  # tracing makes very many small objects, and hardly any garbage
    try:
        return trace()
    finally:
        if looks:
            gc.enable()


# Programs are traced in deep calls, and Python's stack grows in pieces of 16 KiB: where one ends among them,
# another is mapped and given back at each call. A function that asks for much gets a large piece, and those
# that it calls use the rest.
at_ease.__code__ = at_ease.__code__.replace(co_stacksize=ROOM)


def divisor(config: RunConfig) -> int:
    """What the number of devices along the environments must divide: the workers, and each minibatch."""
    ppo, schedule = config.ppo, config.schedule
    pieces = ppo.pieces * (2 if schedule.sp_train_both else 1) // ppo.minibatches
    if schedule.exploiters != "none":
        pieces = gcd(pieces, ppo.pieces // gcd(ppo.minibatches, ppo.pieces))
    return gcd(ppo.workers, pieces)


def choose(devices: int, seeds: int, workers: int, wanted: tuple[int, int] | None = None) -> Layout | None:
    """The layout that is wanted; or seeds over as many devices as divide both, environments over the rest.

    None for one device. `workers` is what the devices along the environments must divide, see `divisor`;
    `ValueError` names the numbers that would do.
    """
    along = wanted or (gcd(seeds, devices), devices // gcd(seeds, devices))
    if along[0] * along[1] > devices:
        raise ValueError(f"{along[0]} x {along[1]} devices are wanted, and there are {devices}")
    if seeds % along[0]:
        told = f"{seeds} seeds cannot be spread over {along[0]} devices"
        raise ValueError(f"{told}; over {listed(seeds)} they can")
    if workers % along[1]:
        told = f"the environments of a run cannot be spread over {along[1]} devices"
        raise ValueError(f"{told}; over {listed(workers)} they can")
    return Layout(*along) if along != (1, 1) else None


def fitting(devices: int, seeds: int, workers: int) -> list[int]:
    """How many devices, of so many at most, can be used without a word about the mesh."""
    return [n for n in range(1, devices + 1) if workers % (n // gcd(seeds, n)) == 0]


def listed(number: int) -> str:
    """The numbers that divide one, the largest of very many left out."""
    return spoken([n for n in range(1, min(number, 1024) + 1) if number % n == 0])


def spoken(numbers: Iterable[int]) -> str:
    """1, 2 or 4."""
    *most, last = (str(n) for n in numbers)
    return f"{', '.join(most)} or {last}" if most else last
