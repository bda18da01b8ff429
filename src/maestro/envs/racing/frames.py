"""All frames of a decision by one kernel (`kernels/frames.cuh`): what goes into it and what comes out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from maestro.envs.racing import car, contact, kernel, manifold, place
from maestro.envs.racing.car import Car

MOST_TILES = 1024  # of a track, for which the kernel has memory
NEARBY = float(np.linalg.norm(car.ARMS, axis=1).max() + np.linalg.norm(car.WHEEL)) + 0.1
"""From a car to the furthest tile that it can touch, with more than enough for skins and rounding."""
BODY = np.hstack(  # in the order of the kernel's `Body`
    [
        *(car.DT, car.DT * car.POWER / car.WHEEL_INERTIA, car.BRAKE, car.RADIUS, car.STIFFNESS),
        *(car.GRIP, car.GRASS * car.GRIP, car.LIMIT, car.SLOP, car._WINDING, car.MOTOR_IMPULSE),
        *(2 * car._ORBIT, car.WHEEL_SPIN, car.INERTIA, car.DT / car.MASS),
        *(car.DT * car.RADIUS / car.WHEEL_INERTIA, car.MAX_SPEED, car.MAX_SPIN, -car._KAPPA / 3),
        *(car.WHEEL, car.ARMS.ravel(), car.CENTER, car.HULL_CENTER - car.CENTER),
        *(place.SLOW, contact.SKIN, manifold.REACH, NEARBY),
        *(manifold.SKIN, manifold.RELATIVE, manifold.ABSOLUTE),
    ]
).astype(np.float32)
_corners = [len(corners) for corners in car.HULL] + [4] * 4
_outline = manifold.START, manifold.END, manifold.NORMAL, manifold.PIVOT, np.array(_corners)
SHAPES = np.concatenate([part.ravel() for part in _outline]).astype(np.float32)
FIELDS = {
    name: int(np.prod(leaf.shape)) for name, leaf in vars(jax.eval_shape(car.start, np.zeros(2), 0.0)).items()
}
"""How many numbers each field of a `Car` has."""


def packed(cars: Car) -> Float[Array, "2 28"]:
    """Two cars as one array, field after field."""
    fields = [getattr(cars, name).reshape(2, size) for name, size in FIELDS.items()]
    return jnp.concatenate(fields, axis=1)


def unpacked(numbers: Float[Array, "2 28"], like: Car) -> Car:
    """The cars of an array."""
    parts = jnp.split(numbers, np.cumsum([*FIELDS.values()])[:-1].tolist(), axis=1)
    named = zip(FIELDS, parts, strict=True)
    return like.replace(**{name: part.reshape(getattr(like, name).shape) for name, part in named})


def held(tiles: int) -> bool:
    """Whether the kernel runs here and has memory for so many tiles."""
    return kernel.usable() and tiles <= MOST_TILES


def played(
    ground: Any, start: Any, actions: Float[Array, "2 3"], first: Bool[Array, ""], rules: np.ndarray
) -> Any:
    """The progress of a decision from its start; `rules` has the numbers of the kernel's `Rules`."""
    state, level = start.state, ground.level
    inputs = (
        *(ground.surface, ground.road.point, ground.road.beta, level.half_side, level.frames),
        *(packed(state.cars), state.touching, state.visited, state.frame, state.astray, actions, first),
    )
    facts = {"facts": kernel.FACTS, "body": BODY, "rules": rules.astype(np.float32), "shapes": SHAPES}
    return after(start, *kernel.frames(inputs, state.visited.shape[1], facts))


def after(start: Any, cars: Array, touching: Array, visited: Array, counts: Array, totals: Array) -> Any:
    """The progress that the kernel's results mean."""
    state = start.state.replace(
        cars=unpacked(cars, start.state.cars),
        touching=touching,
        visited=visited,
        frame=counts[0],
        astray=counts[1:3],
    )
    names = ("reward", "score", "tiles", "grass", "backwards")
    return start.replace(state=state, over=counts[3] != 0, **dict(zip(names, totals, strict=True)))
