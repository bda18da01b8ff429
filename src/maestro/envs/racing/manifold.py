"""Where two cars touch: pairs of convex shapes, and up to two points for each pair, as Box2D finds them.

A car is eight shapes, four of its hull and four wheels. Vectors have their two components on the first
axis, so that the last one is long enough for a processor to run through.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int

from maestro.envs.racing.car import ARMS, CENTER, HULL, WHEEL, Car
from maestro.trees import Leaf

PAIRS = 6  # of shapes that can touch at a time; any others wait for the next frame
SKIN = 0.02  # two shapes touch when they are this close
RELATIVE, ABSOLUTE = 0.98, 0.001  # how much better a face of the second shape must be to be taken

_wheel = WHEEL * np.array([(1, -1), (1, 1), (-1, 1), (-1, -1)])
_shapes = [corners - CENTER for corners in HULL] + [_wheel] * 4
# Eight corners each; a shape of four repeats its first one, and with it its first edge.
_START = np.stack([np.concatenate([s, np.repeat(s[:1], 8 - len(s), axis=0)]) for s in _shapes])
_END = np.stack([np.concatenate([np.roll(s, -1, 0), np.repeat(s[1:2], 8 - len(s), axis=0)]) for s in _shapes])
_edge = (_END - _START) / np.linalg.norm(_END - _START, axis=-1, keepdims=True)
_NORMAL = np.stack([_edge[..., 1], -_edge[..., 0]], axis=-1)
START, END, NORMAL = (np.moveaxis(a, -1, 0).astype(np.float32) for a in (_START, _END, _NORMAL))
PIVOT = np.concatenate([np.zeros((4, 2)), ARMS]).T.astype(np.float32)  # what each shape turns about
REACH = 2 * float(np.linalg.norm(_START[:4], axis=-1).max()) + SKIN  # cars further apart than this are free
WHEELS_ONLY = np.add.outer(np.arange(8) < 4, np.arange(8) < 4) == 0


class Outline(PyTreeNode):
    """A car's shapes in the world, or some of them: edges with their ends and outward normals."""

    start: Leaf  # [2, 8, 8]; component, shape, edge
    end: Leaf
    normal: Leaf


class Manifold(PyTreeNode):
    """How two cars touch: in so many pairs of shapes, at up to two points each."""

    shape: Leaf  # int32 [2, K]; of the first and of the second car
    normal: Leaf  # [2, K]; from the first car to the second
    point: Leaf  # [2, K, 2]; halfway between the shapes, from the first car's center of mass
    gap: Leaf  # [K, 2]; between the skins, negative if they overlap
    active: Leaf  # bool [K, 2]


def dot(a: Array, b: Array) -> Array:
    """Of vectors with their components first."""
    return a[0] * b[0] + a[1] * b[1]


def turned(c: Array, s: Array, vectors: Array) -> Array:
    """Vectors turned by the angle with this cosine and sine."""
    return jnp.stack([c * vectors[0] - s * vectors[1], s * vectors[0] + c * vectors[1]])


def pivots(car: Car) -> Float[Array, "2 8"]:
    """What each shape turns about, from the car's center of mass."""
    return turned(jnp.cos(car.heading), jnp.sin(car.heading), jnp.asarray(PIVOT))


def outline(car: Car, about: Float[Array, "2"]) -> Outline:
    """A car's shapes, from a point near it."""
    angle = jnp.concatenate([jnp.broadcast_to(car.heading, 4), car.heading + car.steer])[:, None]
    c, s = jnp.cos(angle), jnp.sin(angle)
    at = (pivots(car) + (car.position - about)[:, None])[:, :, None]
    start, end, normal = (turned(c, s, jnp.asarray(a)) for a in (START, END, NORMAL))
    return Outline(start + at, end + at, normal)


def distances(a: Outline, b: Outline) -> Float[Array, "8 8 8"]:
    """How far each shape of b is outside of each edge of each shape of a: [shape of a, shape of b, edge]."""
    corners = [dot(a.normal[:, :, None], b.start[:, None, :, i, None]) for i in range(8)]
    return functools.reduce(jnp.minimum, corners) - dot(a.normal, a.start)[:, None]


def clipped(ends: Float[Array, "2 K 2"], way: Float[Array, "2 K"], most: Float[Array, " K"]):
    """Segments cut where they go too far along a direction, and whether anything is left of them."""
    over = dot(ends, way[:, :, None]) - most[:, None]
    share = over / jnp.where(over == over[:, ::-1], 1, over - over[:, ::-1])
    cut = ends + share[None] * (ends[:, :, ::-1] - ends)
    return jnp.where((over > 0)[None], cut, ends), jnp.any(over <= 0, axis=-1)


def pick(a: Outline, shape: Int[Array, " K"]) -> Outline:
    """Some of a car's shapes: [2, K, 8]."""
    return jax.tree.map(lambda x: x[:, shape], a)


def choose(flip: Bool[Array, " K"], a: Outline, b: Outline) -> Outline:
    """Of each pair, the second shape where flipped, else the first."""
    return jax.tree.map(lambda x, y: jnp.where(flip[None, :, None], y, x), a, b)


def one_edge(shapes: Outline, edge: Int[Array, " K"]) -> Outline:
    """One edge of each shape: [2, K]."""
    return jax.tree.map(lambda x: jnp.take_along_axis(x, edge[None, :, None], axis=2)[:, :, 0], shapes)


def manifold(cars: Car) -> Manifold:
    """The points at which two cars touch, in the pairs of shapes that overlap most."""
    first, second = (jax.tree.map(lambda x, i=i: x[i], cars) for i in (0, 1))
    a, b = outline(first, first.position), outline(second, first.position)
    from_a, from_b = distances(a, b), distances(b, a)
    apart = jnp.maximum(from_a.max(axis=-1), from_b.max(axis=-1).T)
    apart = jnp.where(WHEELS_ONLY, jnp.inf, apart).ravel()
    _, chosen = jax.lax.top_k(-apart, PAIRS)
    i, j = chosen // 8, chosen % 8
    from_a, from_b, a, b = from_a[i, j], from_b[j, i], pick(a, i), pick(b, j)
    flip = from_b.max(axis=-1) > RELATIVE * from_a.max(axis=-1) + ABSOLUTE
    face = one_edge(choose(flip, a, b), jnp.where(flip, from_b.argmax(axis=-1), from_a.argmax(axis=-1)))
    other = choose(flip, b, a)
    opposite = one_edge(other, dot(face.normal[:, :, None], other.normal).argmin(axis=-1))
    point, gap, active = points(face, opposite)
    normal = jnp.where(flip[None], -face.normal, face.normal)
    return Manifold(jnp.stack([i, j]), normal, point, gap, active & (apart[chosen] <= SKIN)[:, None])


def points(face: Outline, opposite: Outline) -> tuple[Array, Array, Array]:
    """Where an edge lies against a face: (points, gaps between the skins, whether they are in contact)."""
    along = jnp.stack([-face.normal[1], face.normal[0]])
    ends = jnp.stack([opposite.start, opposite.end], axis=-1)
    ends, some = clipped(ends, -along, SKIN - dot(along, face.start))
    ends, more = clipped(ends, along, SKIN + dot(along, face.end))
    apart = dot(face.normal[:, :, None], ends - face.start[:, :, None])
    point = ends - 0.5 * apart[None] * face.normal[:, :, None]
    return point, apart - SKIN, (apart <= SKIN) & (some & more)[:, None]
