"""Wheels touch the tiles that they touch in Box2D, and at the same time."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.racing import car as model
from maestro.envs.racing import contact, track
from oracles import racing_world as box2d


def bent_road(generator, number):
    """A closed line with some turns tighter than the road is wide, so that tiles fold and overlap."""
    angle = np.linspace(0, 2 * np.pi, number, endpoint=False)
    waves = range(1, 8)
    center = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 60
    for wave in waves:
        size, shift = generator.normal(0, 22 / wave, 2), generator.uniform(0, 2 * np.pi, 2)
        center += size * np.cos(wave * angle[:, None] + shift)
    return center + generator.uniform(-250, 250, 2)


def tiles_of(center):
    return np.array(track.tiles(track.along(jnp.array(center, jnp.float32))))


def wheels_near(generator, tiles, number):
    """Poses of wheels near the edges and corners of tiles."""
    some = tiles[generator.integers(0, len(tiles), number)]
    first = generator.integers(0, 4, number)
    share = generator.choice([0, 1], number) * generator.random(number)
    corner, after = (some[np.arange(number), (first + i) % 4] for i in (0, 1))
    at = corner + share[:, None] * (after - corner) + generator.normal(0, 0.6, (number, 2))
    return at.astype(np.float32), generator.uniform(-np.pi, np.pi, number).astype(np.float32)


def crosses_itself(tile):
    """Whether a tile is a bow tie: its corners turn both ways."""
    edges = np.roll(tile, -1, axis=0) - tile
    after = np.roll(edges, -1, axis=0)
    turns = np.sign(edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0])
    return (turns > 0).any() and (turns < 0).any()


touched = jax.jit(jax.vmap(contact.touched, in_axes=(None, 0, 0)))


def test_wheels_touch_the_tiles_that_they_touch_in_box2d():
    generator, near, bow_ties = np.random.default_rng(88001), 0, 0
    for _ in range(4):
        tiles = tiles_of(bent_road(generator, 200))
        centers, angles = wheels_near(generator, tiles, 1600)
        found, pairs = box2d.contacts(tiles, centers, angles)
        ours = touched(
            jnp.array(tiles), jnp.array(centers).reshape(-1, 4, 2), jnp.array(angles).reshape(-1, 4)
        )
        assert (np.array(ours).reshape(-1, len(tiles)) == found).all()
        near += pairs
        bow_ties += found[:, [crosses_itself(tile) for tile in tiles]].sum()
    print(f"{near} pairs near each other, {bow_ties} contacts with bow ties")
    assert near > 10_000 and bow_ties > 100


def test_a_wheel_touches_within_two_skins_and_no_further():
    tile = jnp.array([[[-5.0, 2], [5, 2], [5, -2], [-5, -2]]])
    for gap, expected in ((-0.1, True), (0.0, True), (0.0195, True), (0.0205, False), (1.0, False)):
        centers = jnp.array(
            [[0, 2 + 0.54 + gap], [5 + 0.28 + gap, 0], [0, -2 - 0.54 - gap], [-5 - 0.28 - gap, 0]]
        )
        assert (np.array(contact.touched(tile, centers, jnp.zeros(4))) == expected).all()


def follow(env, t):
    """A driver that aims at the road ahead, but leaves it now and then."""
    hull = env.car.hull
    points = np.array(env.track)[:, 2:]
    nearest = int(np.argmin(np.hypot(*(points - hull.position).T)))
    way = points[(nearest + 4) % len(points)] - hull.position
    error = (np.arctan2(-way[0], way[1]) - hull.angle + np.pi) % (2 * np.pi) - np.pi
    swerve = 0.9 * np.sin(t / 40) if t % 300 > 200 else 0.0
    speed = np.hypot(*hull.linearVelocity)
    return np.clip(np.array([-error + swerve, 0.4 * (speed < 45), 0.3 * (speed > 60)]), [-1, 0, 0], 1).astype(
        np.float32
    )


def flags(env):
    return np.array([len(wheel.tiles) > 0 for wheel in env.car.wheels])


def real_drive(seed, num_steps):
    """gymnasium's own game: (start, track, actions, on_road before each frame, visited, end)."""
    env = gymnasium.make("CarRacing-v3").unwrapped
    env._render = lambda mode: np.zeros((96, 96, 3), np.uint8)
    env.reset(seed=seed)
    points, beta = np.array(env.track)[:, 2:], np.array(env.track)[:, 1]
    road = track.Track(jnp.array(points, jnp.float32), jnp.array(beta, jnp.float32))
    start, actions, on_road = box2d.same_start(env.car), [], [flags(env)]
    for t in range(num_steps):
        actions.append(follow(env, t))
        env.step(actions[-1].astype(np.float64))
        on_road.append(flags(env))
    visited = [tile.road_visited for tile in sorted(env.road, key=lambda tile: tile.idx)]
    end = box2d.pose(env.car)
    env.close()
    return start, road, np.array(actions), np.array(on_road), np.array(visited), end


@jax.jit
def drive(start, tiles, first, actions):
    def frame(carry, action):
        car, on_road, visited = carry
        hits = contact.touched(tiles, *model.wheels(car))  # Box2D looks before it moves
        car = model.step(car, action, on_road)
        return (car, hits.any(axis=1), visited | hits.any(axis=0)), hits.any(axis=1)

    return jax.lax.scan(frame, (start, first, jnp.zeros(len(tiles), bool)), actions)


@pytest.mark.parametrize("seed", (881, 882))
def test_a_drive_on_gymnasiums_own_track_visits_the_same_tiles(seed):
    start, road, actions, on_road, visited, end = real_drive(seed, 900)
    (car, _, ours), seen = drive(start, track.tiles(road), jnp.array(on_road[0]), jnp.array(actions))
    distance = np.hypot(*(np.array(model.origin(car)) - end[:2]))
    print(f"{visited.sum()} of {len(visited)} tiles, {1 - on_road.mean():.3f} on grass, {distance:.4f} apart")
    assert (np.array(ours) == visited).all() and visited.sum() > 80
    assert (np.array(seen) == on_road[1:]).all() and 0.01 < 1 - on_road.mean() < 0.5
    assert distance < 0.05
