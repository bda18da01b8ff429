"""A closed road of tiles: where it lies, which way it leads, where its curbs are."""

import jax.numpy as jnp
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float

from maestro.trees import Leaf

WIDTH = 40 / 6  # from the center line to either edge
BORDER = 8 / 6  # width of a curb
TILES = 468  # of every track in training, so that shapes are fixed
CURB_TURN, CURB_LENGTH = 0.062, 4  # a curb lies where so many tiles in a row turn so much, all the same way


class Track(PyTreeNode):
    """Any number N of tiles in driving order; tile i reaches from point i - 1 to point i."""

    point: Leaf  # [N, 2]; on the center line
    beta: Leaf  # [N]; a car that drives along has this angle: it faces (-sin beta, cos beta)

    @property
    def normal(self) -> Float[Array, "N 2"]:
        """To the right of whoever drives along."""
        return jnp.stack([jnp.cos(self.beta), jnp.sin(self.beta)], axis=-1)


def along(center: Float[Array, "N 2"]) -> Track:
    """The track of a closed center line, which at each point leads from the point before to the one after."""
    way = jnp.roll(center, -1, axis=0) - jnp.roll(center, 1, axis=0)
    return Track(center, jnp.arctan2(-way[:, 0], way[:, 1]))


def tiles(track: Track) -> Float[Array, "N 4 2"]:
    """Corners of each tile: left and right at its end, right and left at its beginning."""
    left, right = track.point - WIDTH * track.normal, track.point + WIDTH * track.normal
    return jnp.stack([left, right, jnp.roll(right, 1, axis=0), jnp.roll(left, 1, axis=0)], axis=1)


def turns(track: Track) -> Float[Array, " N"]:
    """How much each tile turns, to the left if positive."""
    change = track.beta - jnp.roll(track.beta, 1)
    return (change + jnp.pi) % (2 * jnp.pi) - jnp.pi


def curbed(track: Track) -> Bool[Array, " N"]:
    """Whether a tile has a curb: it and the tiles before it turn enough, the same way."""
    turn = turns(track)
    signs = jnp.where(jnp.abs(turn) > CURB_TURN, jnp.sign(turn), 0.0)
    last = jnp.stack([jnp.roll(signs, i) for i in range(CURB_LENGTH)])
    begins = jnp.abs(jnp.sum(last, axis=0)) == CURB_LENGTH
    return jnp.stack([jnp.roll(begins, -i) for i in range(CURB_LENGTH)]).any(axis=0)


def curbs(track: Track) -> Float[Array, "N 4 2"]:
    """Corners of each tile's curb, along the inner edge of the turn; without meaning where it has none."""
    side = jnp.sign(turns(track))[:, None]
    before = Track(jnp.roll(track.point, 1, axis=0), jnp.roll(track.beta, 1))
    outer = WIDTH + BORDER
    places = ((track, WIDTH), (track, outer), (before, outer), (before, WIDTH))
    return jnp.stack([at.point - side * reach * at.normal for at, reach in places], axis=1)
