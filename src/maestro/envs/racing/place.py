"""Where a car is on its track, on the grass, in the wrong direction: as multi_car_racing tells."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from maestro.envs.racing import track as tracks
from maestro.envs.racing.car import Car, hull_velocity, origin
from maestro.envs.racing.raster import PAIRS
from maestro.envs.racing.track import Track

SLOW = 0.5  # up to this speed a car goes where its hull points, above where it moves


def nearest(track: Track, place: Float[Array, "2"]) -> Int[Array, ""]:
    """The tile whose end is nearest."""
    away = track.point - place[None]
    return jnp.argmin(jnp.sum(away * away, axis=1))


def surface(track: Track) -> Float[Array, "_ 4 2"]:
    """All tiles, then their curbs; in place of a curb that is not there the tile once more."""
    tiles = tracks.tiles(track)
    return jnp.concatenate(
        [tiles, jnp.where(tracks.curbed(track)[:, None, None], tracks.curbs(track), tiles)]
    )


def on_grass(surface: Float[Array, "_ 4 2"], place: Float[Array, "2"]) -> Bool[Array, ""]:
    """Whether a place, a hull's origin, is neither on a tile nor on a curb.

    Wheels on a curb have only the grip of grass, but a car on a curb is not called off the road.
    """
    return ~jnp.any(inside(surface, place))


def inside(shapes: Float[Array, "N 4 2"], place: Float[Array, "2"]) -> Bool[Array, " N"]:
    """Whether a place is within the convex hull of each four corners.

    It is if, of the six lines between the corners, one passes it on the left and one on the right.
    """
    x, y = shapes[..., 0] - place[0], shapes[..., 1] - place[1]
    above, left = y > 0, jnp.zeros(len(shapes), bool)
    right = left
    for a, b in PAIRS:
        level = above[:, a] != above[:, b]
        beyond = (x[:, a] * y[:, b] > x[:, b] * y[:, a]) == above[:, b]
        left, right = left | (level & ~beyond), right | (level & beyond)
    return left & right


def going(car: Car) -> Float[Array, "2"]:
    """The direction in which a car goes."""
    velocity = hull_velocity(car)
    speed = jnp.sqrt(jnp.sum(velocity * velocity))
    facing = jnp.stack([-jnp.sin(car.heading), jnp.cos(car.heading)])
    return jnp.where(speed > SLOW, velocity / jnp.maximum(speed, SLOW), facing)


def backwards(track: Track, car: Car) -> Bool[Array, ""]:
    """Whether a car goes more against its nearest tile's direction than along it, on the road or not."""
    way, beta = going(car), track.beta[nearest(track, origin(car))]
    return way[1] * jnp.cos(beta) < way[0] * jnp.sin(beta)
