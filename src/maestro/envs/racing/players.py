"""Scripted drivers: two that know the road, and a car that stands still."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.tree_util import register_static
from jaxtyping import Array, Float, PRNGKeyArray

from maestro.envs.players import Memory, Sight
from maestro.envs.racing import car, place, track
from maestro.envs.racing.game import State
from maestro.envs.racing.levels import Level
from maestro.envs.racing.track import Track
from maestro.trees import Tree

WHEELBASE = 3.24  # between front and rear axle
LOCK = 0.4  # the most that front wheels turn
GRIP = 35.0  # sideways acceleration that a driver allows itself
SLOW = 9.0  # speed of a car that has yet to turn
LOST = 15.0  # from the center line, and a driver looks for the road anew
SIGHTED, BACK = 60, 10  # tiles that a driver looks ahead, and back for where it is
BEHIND = 30.0  # how close another must be to be blocked
NEAR = 5.0  # from the center line, and no further, is that done
HAIRPIN, WITHIN = 2.2, 20.0  # radians that the road turns on so little of its length: tighter than a car
WIDE, SOON = 4.0, 25.0  # how far outside a hairpin is entered, and from how far before it on


def ahead(road: Track, nearest: Array) -> tuple[Track, Float[Array, " K"]]:
    """The next tiles, and how far along the road each of them is."""
    index = (nearest + jnp.arange(SIGHTED)) % road.beta.shape[0]
    next_ones = Track(road.point[index], road.beta[index])
    steps = jnp.linalg.norm(jnp.diff(next_ones.point, axis=0), axis=1)
    return next_ones, jnp.concatenate([jnp.zeros(1), jnp.cumsum(steps)])


def bends(road: Track, far: Float[Array, " K"]) -> Float[Array, " B"]:
    """How much the road turns to the left from each tile on, in radians for each unit of length."""
    turn = jnp.unwrap(road.beta)[3:] - jnp.unwrap(road.beta)[:-3]
    return turn / jnp.maximum(far[3:] - far[:-3], 1.0)


def fastest(bend: Float[Array, " B"], far: Float[Array, " B"], limit: float) -> Float[Array, ""]:
    """A speed from which every turn ahead can still be taken, as there is road to brake on before it."""
    there = jnp.sqrt(GRIP / jnp.maximum(jnp.abs(bend), 1e-3))
    return jnp.minimum(limit, jnp.min(jnp.sqrt(there**2 + 2 * GRIP * far)))


def swing(road: Track, far: Float[Array, " K"]) -> Float[Array, ""]:
    """How far right of the center line to come to a hairpin, so that the circle of the car fits into it."""
    beta = jnp.unwrap(road.beta)
    turn = jnp.interp(far + WITHIN, far, beta) - beta
    hairpin = (jnp.abs(turn) > HAIRPIN) & (far < SOON)
    first = jnp.argmax(hairpin)
    return jnp.where(hairpin.any() & (first > 0), WIDE * jnp.sign(turn[first]), 0.0)


def passed(road: Track, last: Array, here: Float[Array, "2"]) -> Array:
    """The nearest tile not far from the last one, as roads meet themselves; any, if the road is lost."""
    index = (last + jnp.arange(-BACK, SIGHTED)) % road.beta.shape[0]
    tile = index[jnp.argmin(jnp.sum((road.point[index] - here[None]) ** 2, axis=1))]
    lost = jnp.linalg.norm(road.point[tile] - here) > LOST
    return jnp.where(lost, place.nearest(road, here), tile)


def drive(
    sight: Sight, last: Array, limit: float, aside: Float[Array, ""]
) -> tuple[Array, Float[Array, "3"]]:
    """(tile, action): to a point ahead, so far aside of the center line, no faster than the road allows."""
    level: Level = sight.level
    own = car_of(sight.state, sight.seat)
    road, here, speed = track.along(level.center), car.origin(own), jnp.linalg.norm(own.velocity)
    tile = passed(road, last, here)
    tiles, far = ahead(road, tile)
    bend, aim = bends(tiles, far), jnp.argmax(far >= 6.5 + 0.2 * speed)
    aside = jnp.where(aside == 0, swing(tiles, far), aside)
    target = tiles.point[aim] + aside * tiles.normal[aim] - here
    angle = jnp.arctan2(-target[0], target[1]) - own.heading
    angle = (angle + jnp.pi) % (2 * jnp.pi) - jnp.pi
    reach = jnp.maximum(jnp.linalg.norm(target), 1.0)
    curve = jnp.where(jnp.abs(angle) < 1.2, jnp.sin(angle), jnp.sign(angle))
    steer = jnp.clip(jnp.arctan(2 * WHEELBASE * curve / reach), -LOCK, LOCK)
    turned = jnp.where(jnp.abs(angle) > 0.6, SLOW, limit)
    too_fast = speed - jnp.minimum(turned, fastest(bend, far[: len(bend)], limit))
    most = jnp.where(jnp.abs(steer) > LOCK / 2, 0.1, 0.6)  # more would spin the car
    gas, brake = jnp.clip(-0.1 * too_fast, 0.0, most), jnp.clip(0.03 * too_fast, 0.0, 0.5)
    return tile, jnp.stack([0.5 - 0.5 * steer, gas, brake])


def car_of(state: State, seat: Array | int) -> Tree:
    """One of the two cars."""
    return jax.tree.map(lambda x: x[seat], state.cars)


@register_static
@dataclass(frozen=True)
class Follower:
    """Follows the center line at a speed that its turns allow, and knows of nobody else."""

    limit: float = 45.0
    name: str = "follower"

    def start(self) -> Memory:
        """The tile where it is."""
        return jnp.int32(0)

    def act(self, key: PRNGKeyArray, memory: Memory, obs: Array, sight: Sight) -> tuple[Memory, Array]:
        """Toward the center line ahead."""
        return drive(sight, memory, self.limit, jnp.float32(0.0))


@register_static
@dataclass(frozen=True)
class Blocker(Follower):
    """Drives likewise, but gets in the way of whoever is close behind, and at whoever is close ahead."""

    name: str = "blocker"

    def act(self, key: PRNGKeyArray, memory: Memory, obs: Array, sight: Sight) -> tuple[Memory, Array]:
        """Toward where the other one is across the road."""
        road = track.along(sight.level.center)
        own, other = (car.origin(car_of(sight.state, seat)) for seat in (sight.seat, 1 - sight.seat))
        tile = place.nearest(road, other)
        across = jnp.dot(other - road.point[tile], road.normal[tile])
        close = jnp.linalg.norm(other - own) < BEHIND
        return drive(sight, memory, self.limit, jnp.where(close, jnp.clip(across, -NEAR, NEAR), 0.0))


@register_static
@dataclass(frozen=True)
class Idle:
    """Stands where it started."""

    name: str = "idle"

    def start(self) -> Memory:
        """Nothing."""
        return ()

    def act(self, key: PRNGKeyArray, memory: Memory, obs: Array, sight: Sight) -> tuple[Memory, Array]:
        """Wheels straight, no gas, no brake."""
        return memory, jnp.array([0.5, 0.0, 0.0])


PLAYERS = {player.name: player for player in (Idle(), Follower(), Blocker())}
