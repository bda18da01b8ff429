"""What `impulse`, `game` and `view` compute, as kernels for NVIDIA GPUs: `kernel.cu`, through XLA.

$MAESTRO_RACING=portable leaves them out. Where they cannot be built, a warning says why, once.
"""

import functools
import logging
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from maestro import native
from maestro.envs.racing import impulse
from maestro.envs.racing.car import FRAME, MASS, WHEEL_MASS, WHEEL_SPIN
from maestro.envs.racing.raster import SIDE

VARIABLE = "MAESTRO_RACING"
SOLVE, SEPARATE, PICTURES = "maestro_racing_solve", "maestro_racing_separate", "maestro_racing_pictures"
FRAMES = "maestro_racing_frames"
SYMBOLS = (
    *((SOLVE, "RacingSolve"), (SEPARATE, "RacingSeparate")),
    *((PICTURES, "RacingPictures"), (FRAMES, "RacingFrames")),
)
SOURCE = Path(__file__).with_name("kernel.cu")
_i = impulse
_turns = (_i.SWEEPS, _i.TURNS, _i.BOX2D_TURNS)
FACTS = np.array(  # in the order of the kernels' `Constants`
    [MASS, FRAME, WHEEL_SPIN, WHEEL_MASS, _i.FRICTION, _i.SLOP, _i.SHARE, _i.LARGEST, *_turns], np.float32
)


def library(capability: str) -> native.Library:
    """The kernels for GPUs of a compute capability."""
    return native.Library(SOURCE, capability.replace(".", ""), SYMBOLS)


@functools.cache
def obstacle(asked: str) -> str:
    """Why the kernels cannot run, or nothing."""
    if asked == "portable":
        return f"${VARIABLE} says so"
    if jax.default_backend() != "gpu":
        return "there is no NVIDIA GPU"
    capability = getattr(jax.devices()[0], "compute_capability", "")
    if not isinstance(capability, str) or not capability.replace(".", "").isdigit():
        return "this GPU is not NVIDIA's"
    why = native.register(library(capability))
    if why:
        logging.getLogger("maestro").warning("racing without its kernels, many times slower: %s", why)
    return why


def usable() -> bool:
    """Whether the kernels run here."""
    return not obstacle(os.environ.get(VARIABLE, ""))


def call(name: str, shape: tuple[int, ...], kind: type):
    """A kernel as a function; `vmap` adds leading axes."""
    return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(shape, kind), vmap_method="broadcast_all")


def solve(pairs: impulse.Pairs, before: Float[Array, "14"]) -> Float[Array, "14"]:
    """The velocities after all impulses."""
    run = call(SOLVE, (14,), jnp.float32)
    return run(pairs.rows, pairs.active, pairs.wheel, pairs.strength, before, facts=FACTS)


def separate(pairs: impulse.Pairs, gap: Float[Array, "K 2"]) -> Float[Array, "14"]:
    """How both cars are shifted out of each other."""
    return call(SEPARATE, (14,), jnp.float32)(pairs.rows, pairs.active, gap, facts=FACTS)


def frames(inputs: tuple[Array, ...], tiles: int, facts: dict[str, np.ndarray]) -> tuple[Array, ...]:
    """What the frames of a decision lead to: cars, wheels on the road, tiles visited, counts, totals."""
    shapes = (
        ((2, 28), jnp.float32),
        ((2, 4), bool),
        ((2, tiles), bool),
        ((4,), jnp.int32),
        ((5, 2), jnp.float32),
    )
    results = [jax.ShapeDtypeStruct(shape, kind) for shape, kind in shapes]
    return tuple(jax.ffi.ffi_call(FRAMES, results, vmap_method="broadcast_all")(*inputs, **facts))


def pictures(
    road: tuple[Float[Array, "K 4 2"], Int[Array, " K"]],
    cars: tuple[Float[Array, "2 P 4 2"], Int[Array, "2 P"]],
    poses: Float[Array, "2 4"],
    half_side: Float[Array, ""],
    camera: np.ndarray,
    colors: np.ndarray,
) -> UInt8[Array, "2 84 84 3"]:
    """What two drivers see of a road and, over it, of the cars, each shape with the code of its color.

    A pose is a place and a direction that is up. `colors` has the bytes of each code's color.
    """
    run = call(PICTURES, (2, SIDE, SIDE, 3), jnp.uint8)
    inputs = (road[0], road[1].astype(jnp.int32), cars[0], cars[1].astype(jnp.int32), poses, half_side)
    return run(*inputs, camera=camera.astype(np.float32), colors=colors.astype(np.int32).ravel())
