"""Racing levels: a closed center line in its field; the generator, edits, and what is measured of them."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from maestro.envs.racing import bezier, hull
from maestro.envs.racing.track import TILES
from maestro.trees import Leaf

HALF_SIDE = 2000 / 6  # of the field around generated tracks
FRAMES = 1000  # until the time is up on a generated track
REPEAT = 8  # frames of a decision
LEAST_TILE = 1e-3  # a shorter tile has no direction in float32
STRAIGHT = 1e-3  # radians; what turns less is no corner: the sign of its turn is chance
CHANGES = 5  # of an edit
BUMP = 0.05  # of the field's side: how far a change moves the road at most
REACH = TILES // bezier.CONTROL  # tiles ahead and behind that a change moves along


class Level(PyTreeNode):
    """Where the road lies; its first point is where cars start, and they drive in the order of the points."""

    center: Leaf  # float32 [468, 2]; the middle of the road
    half_side: Leaf  # float32; the field reaches from minus to plus this, in x and in y
    frames: Leaf  # int32; until the time is up

    @property
    def time_limit(self) -> Leaf:
        """Decisions until the time is up."""
        return -(-self.frames // REPEAT)


def level_of(center: Float[Array, "468 2"]) -> Level:
    """A center line as generated levels have it around them."""
    return Level(center, jnp.float32(HALF_SIDE), jnp.int32(FRAMES))


def sample_level(key: PRNGKeyArray, disc: bool = False) -> Level:
    """A random track through control points from a square, or from the disc inside it."""
    return level_of(bezier.center_line(bezier.sample_control(key, disc)))


def edges(center: Float[Array, "N 2"]) -> Float[Array, "N 2"]:
    """From each point to the next."""
    return jnp.roll(center, -1, axis=0) - center


def is_drivable(center: Float[Array, "N 2"], half_side: Any) -> Bool[Array, ""]:
    """Whether a center line stays in the field and leads somewhere at every point."""
    step = edges(center)
    across = step + jnp.roll(step, 1, axis=0)  # zero where the line doubles back on itself
    shortest = jnp.minimum(jnp.linalg.norm(step, axis=1).min(), jnp.linalg.norm(across, axis=1).min())
    return jnp.all(jnp.abs(center) <= half_side) & (shortest >= LEAST_TILE)  # false for what is no number


def bump(key: PRNGKeyArray, level: Level) -> Level:
    """The road moved smoothly around a random tile, anywhere within reach; unchanged if that is no road."""
    tile_key, way_key, far_key = jax.random.split(key, 3)
    ahead = (jnp.arange(TILES) - jax.random.randint(tile_key, (), 0, TILES)) % TILES
    away = jnp.minimum(ahead, TILES - ahead)
    weight = jnp.where(away < REACH, (1 + jnp.cos(jnp.pi * away / REACH)) / 2, 0.0)
    angle = jax.random.uniform(way_key, (), maxval=2 * jnp.pi)
    far = BUMP * 2 * level.half_side * jnp.sqrt(jax.random.uniform(far_key))
    moved = level.center + far * weight[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)])[None, :]
    return level.replace(center=jnp.where(is_drivable(moved, level.half_side), moved, level.center))


def edit(key: PRNGKeyArray, level: Level, changes: int = CHANGES) -> Level:
    """A level nearby: a few bumps, one after another."""
    keys = jax.random.split(key, changes)
    return jax.lax.fori_loop(0, changes, lambda i, changed: bump(keys[i], changed), level)


def statistics(level: Level) -> dict[str, Float[Array, ""]]:
    """How long, how winding and how far from convex a track is.

    Notches are the corners that turn against the track's sense over the number of edges less 3, and beside
    them, as in Jiang et al. (2021), the edges that lead down when the track is walked against the driving
    direction, over the same number: their complexity is made of these.
    """
    edge = edges(level.center)
    before = jnp.roll(edge, 1, axis=0)
    cross = before[:, 0] * edge[:, 1] - before[:, 1] * edge[:, 0]
    turn = jnp.arctan2(cross, jnp.sum(before * edge, axis=1))
    area = jnp.sum(level.center[:, 0] * edge[:, 1] - level.center[:, 1] * edge[:, 0]) / 2
    length, least = jnp.linalg.norm(edge, axis=1).sum(), len(edge) - 3
    hull_length, hull_area = hull.measure(level.center)
    notches_down = jnp.sum(edge[:, 1] > 0) / least
    amplitude, convexity = (length - hull_length) / length, (hull_area - jnp.abs(area)) / hull_area
    return {
        "length": length,
        "curvature": jnp.abs(turn).sum() / length,
        "notches": jnp.sum(turn * jnp.sign(area) < -STRAIGHT) / least,
        "notches_down": notches_down,
        "amplitude": amplitude,
        "area": jnp.abs(area),
        "convexity": convexity,
        "complexity": 0.8 * amplitude * notches_down + 0.2 * convexity,
    }
