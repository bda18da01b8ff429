"""Sets of poses (cell and facing) as bits, grown one action at a time: how the hunter looks ahead."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt8, UInt32

from maestro.envs.lasertag import levels
from maestro.envs.lasertag.levels import DOWN, LEFT, MAX_SIZE, RIGHT, UP, Level

Cells = UInt32[Array, "17"]  # bit x of entry y: the cell (y, x)
Poses = UInt32[Array, "4 17"]  # a set of cells for each facing; for bolts, for each direction

HORIZON = 8  # steps for which the hunter looks at the bolts in flight


def floor(level: Level, other: Int[Array, "2"]) -> Cells:
    """The cells where neither a wall nor the other agent stands."""
    inner = levels.pack(levels.inner_cells(level.height, level.width))
    return inner & ~level.walls & ~levels.cell_bit(other)


def bolts(codes: UInt8[Array, "17 17"]) -> Poses:
    """The bolts in flight by their direction."""
    return jnp.stack([levels.pack((codes > 0) & (codes & 3 == d)) for d in range(4)])


def holds(poses: Poses, position: Int[Array, "2"], facing: Int[Array, ""]) -> Bool[Array, ""]:
    """Whether a pose is in the set."""
    return (poses[facing, position[0]] >> position[1].astype(jnp.uint32)) & 1 == 1


def only(position: Int[Array, "2"], facing: Int[Array, ""]) -> Poses:
    """The set of one pose."""
    return jnp.where((jnp.arange(4) == facing)[:, None], levels.cell_bit(position)[None], 0)


def union(poses: Poses) -> Cells:
    """The cells of all facings."""
    return poses[UP] | poses[RIGHT] | poses[DOWN] | poses[LEFT]


def within(poses: Poses, cells: Cells) -> Poses:
    """The poses on some cells only."""
    return poses & cells[None]


def forward(poses: Poses) -> Poses:
    """Every pose one cell further ahead; the caller keeps it on the floor."""
    up, right, down, left = poses
    return jnp.stack([jnp.roll(up, -1), right << 1, jnp.roll(down, 1), left >> 1])


def backward(poses: Poses) -> Poses:
    """Every pose one cell further back; the caller keeps it on the floor."""
    up, right, down, left = poses
    return jnp.stack([jnp.roll(up, 1), right >> 1, jnp.roll(down, -1), left << 1])


def before(poses: Poses, free: Cells) -> Poses:
    """The poses from which one action leads into the set, entering free cells only."""
    turned = jnp.roll(poses, 1, axis=0) | jnp.roll(poses, -1, axis=0)
    return poses | turned | backward(within(poses, free))


def aiming(floor: Cells, other: Int[Array, "2"]) -> Poses:
    """The poses with the other agent straight ahead, 2 or more cells away, and no wall between."""
    adjacent = within(backward(jnp.tile(levels.cell_bit(other)[None], (4, 1))), floor)

    def further(_, carry):
        lane, found = carry
        lane = within(backward(lane), floor)
        return lane, found | lane

    return jax.lax.fori_loop(0, MAX_SIZE, further, (adjacent, jnp.zeros_like(adjacent)))[1]


def nearer(floor: Cells, goal: Poses, position: Int[Array, "2"], facing: Int[Array, ""]) -> Poses:
    """The poses fewer actions away from the goal than this one; empty at the goal."""

    def going_on(carry):
        reached, previous = carry
        return ~holds(reached, position, facing) & jnp.any(reached != previous)

    def spread(carry):
        reached, _ = carry
        return within(before(reached, floor), floor), reached

    return jax.lax.while_loop(going_on, spread, (goal, jnp.zeros_like(goal)))[1]


def parrying(floor: Cells, bolts: Poses) -> Poses:
    """The poses with a bolt flying at them from 2 cells ahead: a shot stops it."""
    return backward(within(backward(jnp.roll(bolts, 2, axis=0)), floor & ~union(bolts)))


def survivable(floor: Cells, bolts: Poses, fresh: Poses) -> Poses:
    """The poses after this step that no bolt hits in it, and from which the next ones can be escaped.

    `fresh` are bolts fired in this step, which fly from the next one on. What bolts do to each
    other is left out, but for a parry.
    """

    def fly(now, _):
        return within(forward(now), floor), now

    def escape(safe, now):
        safe = within(safe, ~union(forward(now)))
        return before(safe, floor & ~union(now)) | parrying(floor, now), None

    _, flight = jax.lax.scan(fly, within(forward(bolts), floor) | fresh, length=HORIZON)
    safe, _ = jax.lax.scan(escape, jnp.tile(floor[None], (4, 1)), flight, reverse=True)
    return within(safe, ~union(forward(bolts)))


def meets(ground: Cells, shot: Poses, target: Poses) -> Bool[Array, ""]:
    """Whether a bolt fired now hits an agent that walks straight on until a wall stops it."""

    def walk(target):
        moved = within(forward(target), ground)
        return jnp.where(jnp.any(moved > 0), moved, target)

    def step(carry, _):
        shot, target, met = carry
        shot, target = forward(shot), walk(target)
        met |= jnp.any(union(shot) & union(target) > 0)
        return (within(shot, ground), target, met), None

    (_, _, met), _ = jax.lax.scan(step, (shot, walk(target), jnp.bool_(False)), length=HORIZON)
    return met
