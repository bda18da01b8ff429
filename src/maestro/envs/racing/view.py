"""What a driver sees: the road ahead from above, turned so that the car drives up (multi_car_racing's view).

The original draws 96 x 96 pixels of a window of 1000 x 800, of which 84 x 84 are used; what is cut off is
never drawn here.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, Int, UInt8

from maestro.envs.racing import kernel, raster
from maestro.envs.racing import track as tracks
from maestro.envs.racing.car import HULL, WHEEL, Car, origin, turned, wheels
from maestro.envs.racing.place import going
from maestro.envs.racing.raster import SIDE
from maestro.envs.racing.track import Track
from maestro.trees import Leaf

ROWS, COLUMNS = 16.2 * 96 / 800, 16.2 * 96 / 1000  # pixels per unit of the world
ROW, COLUMN = 71.5, 41.5  # of the driver's car, in the middle between pixels
SQUARES = 20  # of the meadow, from its center to its edge
STRIPE = 1.2  # rad of a wheel that is gray

GRASS, ROAD, WHITE, RED, BLACK, GRAY, FIRST, SECOND, LIGHT = 0, 1, 4, 5, 6, 7, 8, 9, 10  # codes of colors
PALETTE = ((102, 204, 102), *((gray,) * 3 for gray in (102, 105, 107)),
           (255, 255, 255), (255, 0, 0), (0, 0, 0), (76, 76, 76))  # fmt: skip
MEADOW = (102, 230, 102)  # of the light squares
OWN, OTHER = (204, 0, 0), (0, 0, 204)
CAMERA = np.array([ROW, COLUMN, ROWS, COLUMNS, SQUARES])
COLORS = np.array([*PALETTE, OTHER, OWN, MEADOW])  # by code

_WHEEL = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * WHEEL
_HULL = np.array(  # every polygon is cut into four-cornered shapes
    [corners[[i, i + 1, len(corners) - 2 - i, len(corners) - 1 - i]]
     for corners in HULL for i in range(len(corners) // 2 - 1)], np.float32
)  # fmt: skip


class Scene(PyTreeNode):
    """Everything there is to see, in the order in which it is drawn."""

    shapes: Leaf  # [K, 4, 2]; corners in the world
    codes: Leaf  # int32 [K]; of their colors; 0: not there
    half_side: Leaf  # of the field


def road(track: Track, visited: Bool[Array, " N"]) -> tuple[Float[Array, "K 4 2"], Int[Array, " K"]]:
    """Tiles and curbs with their colors; a tile is a shade darker once a car has driven over it."""
    number = jnp.arange(len(visited))
    tile = jnp.where(visited, ROAD, ROAD + number % 3)
    curb = jnp.where(tracks.curbed(track), jnp.where(number % 2 == 0, WHITE, RED), 0)
    shapes = jnp.stack([tracks.tiles(track), tracks.curbs(track)], axis=1)
    return shapes.reshape(-1, 4, 2), jnp.stack([tile, curb], axis=1).reshape(-1)


def stripes(phase: Float[Array, "4"]) -> tuple[Float[Array, "4 2"], Bool[Array, "4"]]:
    """From where to where along each wheel its stripe is seen, -1 to 1, and whether it is."""
    ends = jnp.stack([phase, phase + STRIPE], axis=-1)
    below = jnp.sin(ends) > 0  # the end is on the wheel's other side
    return jnp.where(below, jnp.sign(jnp.cos(ends)), jnp.cos(ends)), ~below.all(axis=1)


def parts(car: Car, color: int) -> tuple[Float[Array, "K 4 2"], Int[Array, " K"]]:
    """A car: each wheel with its stripe, then the hull."""
    ends, seen = stripes(car.phase)
    heights = jnp.stack([ends[:, 0], ends[:, 0], ends[:, 1], ends[:, 1]], axis=1)
    stripe = jnp.stack([jnp.tile(jnp.asarray(_WHEEL[None, :, 0]), (4, 1)), heights * WHEEL[1]], axis=-1)
    wheel = jnp.stack([jnp.tile(jnp.asarray(_WHEEL[None]), (4, 1, 1)), stripe], axis=1)
    centers, angles = wheels(car)
    wheel = jax.vmap(turned)(angles, wheel) + centers[:, None, None]
    hull = turned(car.heading, jnp.asarray(_HULL)) + origin(car)[None, None]
    shades = jnp.stack([jnp.full(4, BLACK), jnp.where(seen, GRAY, 0)], axis=1).reshape(-1)
    codes = jnp.concatenate([shades, jnp.full(len(hull), color)])
    return jnp.concatenate([wheel.reshape(-1, 4, 2), hull]).astype(jnp.float32), codes


def scene(track: Track, visited: Bool[Array, " N"], half_side: Float[Array, ""], cars: Car) -> Scene:
    """The road and two cars, the second over the first."""
    first, second = (jax.tree.map(lambda x, i=i: x[i], cars) for i in range(2))
    things = (road(track, visited), parts(first, FIRST), parts(second, SECOND))
    shapes, codes = (jnp.concatenate(part) for part in zip(*things, strict=True))
    return Scene(shapes, codes, half_side)


def ground(
    place: Float[Array, "2"], up: Float[Array, "2"], half_side: Float[Array, ""]
) -> Int[Array, "84 84"]:
    """The meadow's colors."""
    rows = (ROW - jnp.arange(SIDE, dtype=jnp.float32))[:, None] / ROWS
    columns = (jnp.arange(SIDE, dtype=jnp.float32) - COLUMN)[None, :] / COLUMNS
    x = place[0] + rows * up[0] + columns * up[1]
    y = place[1] + rows * up[1] - columns * up[0]
    square = [jnp.floor(c * (SQUARES / half_side)).astype(jnp.int32) for c in (x, y)]
    meadow = jnp.where((square[0] | square[1]) & 1 == 0, LIGHT, GRASS)
    return jnp.where(jnp.maximum(jnp.abs(x), jnp.abs(y)) > half_side, BLACK, meadow)


def picture(
    scene: Scene, driver: Car, colors: tuple[tuple[int, ...], ...] = (OTHER, OWN)
) -> UInt8[Array, "84 84 3"]:
    """A scene as one driver sees it, the cars in these colors."""
    place, up = origin(driver), going(driver)
    away = scene.shapes - place[None, None]
    row = ROW - ROWS * (away[..., 0] * up[0] + away[..., 1] * up[1])
    column = COLUMN + COLUMNS * (away[..., 0] * up[1] - away[..., 1] * up[0])
    code = raster.topmost(jnp.stack([row, column], axis=-1), scene.codes)
    code = jnp.where(code > 0, code, ground(place, up, scene.half_side))
    channels = []
    for shades in zip(*PALETTE, *colors, MEADOW, strict=True):
        channel = jnp.full((SIDE, SIDE), shades[0], jnp.uint8)
        for number, shade in enumerate(shades[1:], 1):
            channel = jnp.where(code == number, jnp.uint8(shade), channel)
        channels.append(channel)
    return jnp.stack(channels, axis=-1)


def view(
    track: Track,
    visited: Bool[Array, " N"],
    half_side: Float[Array, ""],
    cars: Car,
    ego: int | Int[Array, ""],
) -> UInt8[Array, "84 84 3"]:
    """What the driver of one of the two cars sees: the own car red, the other blue and below it."""
    pair = jax.tree.map(lambda x: jnp.stack([x[1 - ego], x[ego]]), cars)
    own = jax.tree.map(lambda x: x[1], pair)
    return picture(scene(track, visited, half_side, pair), own)


def both(
    track: Track, visited: Bool[Array, " N"], half_side: Float[Array, ""], cars: Car
) -> UInt8[Array, "2 84 84 3"]:
    """What each of the two drivers sees."""
    if not kernel.usable():
        return jax.vmap(lambda ego: view(track, visited, half_side, cars, ego))(jnp.arange(2))
    return drawn(track, visited, half_side, cars)


def drawn(
    track: Track, visited: Bool[Array, " N"], half_side: Float[Array, ""], cars: Car
) -> UInt8[Array, "2 84 84 3"]:
    """Likewise, by the kernel."""

    def seat(ego: Int[Array, ""]) -> tuple[Array, Array, Array]:
        other, own = (jax.tree.map(lambda x, i=i: x[i], cars) for i in (1 - ego, ego))
        pairs = zip(parts(other, FIRST), parts(own, SECOND), strict=True)
        shapes, codes = (jnp.concatenate(pair) for pair in pairs)
        return shapes, codes, jnp.concatenate([origin(own), going(own)])

    shapes, codes, poses = jax.vmap(seat)(jnp.arange(2))
    return kernel.pictures(road(track, visited), (shapes, codes), poses, half_side, CAMERA, COLORS)
