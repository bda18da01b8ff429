"""Games of racing in the middle of things: on the road and off it, spinning, touching, near any end."""

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.racing import car as model
from maestro.envs.racing import track
from maestro.envs.racing.game import Ground, Racing, State
from maestro.envs.racing.levels import Level
from oracles.racing_cars import thrown


def tracks(number: int, seed: int = 5) -> Level:
    """Random ones, and last a ring that nearly fills its field."""
    levels = jax.vmap(Racing().sample_level)(jax.random.split(jax.random.key(seed), number))
    angle = jnp.linspace(0, 2 * jnp.pi, 468, endpoint=False)
    ring = Level(40 * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1), jnp.float32(50), jnp.int32(100))
    return jax.tree.map(lambda all, one: all.at[-1].set(one), levels, ring)


def cars(generator: np.random.Generator, levels: Level, tiles: np.ndarray) -> model.Car:
    """Two cars in each game: each near a tile of its own, or both thrown into each other near one."""
    number = len(tiles)
    road = jax.tree.map(np.asarray, jax.vmap(track.along)(levels.center))
    games, seats = np.arange(number)[:, None], np.arange(2)[None]
    offset = generator.normal(0, 4, (number, 2, 2)) * generator.choice([0.2, 1, 2], (number, 1, 1))
    place = road.point[games, tiles] + offset
    heading = road.beta[games, tiles] + generator.choice([0, np.pi], (number, 2), p=[0.8, 0.2])
    heading = heading + generator.normal(0, 0.4, (number, 2))
    speed, spin = generator.uniform(0, 60, (number, 2)), generator.normal(0, 1.5, (number, 2))
    apart = generator.random(number) < 0.6
    close = jax.tree.map(np.asarray, thrown(generator, number))
    drawn = {
        "position": np.where(apart[:, None, None], place, place[:, :1] + close.position),
        "heading": np.where(apart[:, None], heading, close.heading),
        "velocity": np.where(
            apart[:, None, None],
            speed[..., None] * np.stack([-np.sin(heading), np.cos(heading)], axis=-1)
            + generator.normal(0, 3, (number, 2, 2)),
            close.velocity,
        ),
        "spin": np.where(apart[:, None], spin, close.spin),
        "steer": close.steer * np.where(generator.random((number, 2, 4)) < 0.2, 1.04 * 0.4 / 0.39, 1),
        "steer_rate": close.steer_rate,
        "omega": speed[games, seats][..., None] / model.RADIUS + generator.normal(0, 10, (number, 2, 4)),
        "gas": generator.random((number, 2)),
        "phase": generator.uniform(0, 6, (number, 2, 4)),
        "windup": generator.uniform(-0.1, 0.5, (number, 2, 4)),
    }
    drawn["heading_before"] = drawn["heading"] - 0.02 * drawn["spin"]
    return close.replace(**{name: jnp.asarray(value, jnp.float32) for name, value in drawn.items()})


def onto_curbs(generator: np.random.Generator, levels: Level, racers: model.Car) -> model.Car:
    """Every sixth game's first car slowly over the middle of a curb, if its track has one."""
    roads = jax.vmap(track.along)(levels.center)
    there, corners = (np.asarray(jax.vmap(of)(roads)) for of in (track.curbed, track.curbs))
    position, velocity = np.array(racers.position), np.array(racers.velocity)
    for game in range(3, len(there), 6):
        if there[game].any():
            curb = generator.choice(np.flatnonzero(there[game]))
            position[game, 0], velocity[game, 0] = corners[game, curb].mean(axis=0), (0.5, 0.5)
    return racers.replace(position=jnp.asarray(position), velocity=jnp.asarray(velocity))


def situations(number: int, seed: int) -> tuple[Level, State, jax.Array, jax.Array]:
    """Levels, states of play, actions and who wins a tie."""
    generator = np.random.default_rng(seed)
    few = tracks(7)
    which = generator.integers(7, size=number)
    levels = jax.tree.map(lambda x: x[which], few)
    tiles = generator.integers(468, size=(number, 2))
    tiles[::2, 1] = tiles[::2, 0]
    racers = onto_curbs(np.random.default_rng(seed), levels, cars(generator, levels, tiles))
    visited = generator.random((number, 2, 468)) < generator.choice([0, 0.5, 0.9], (number, 1, 1))
    nearly = np.arange(number) % 5 == 0  # a lap that lacks what lies just ahead
    ahead = (np.arange(468)[None] - tiles[:, :1]) % 468 < 6
    visited[nearly, 0] = ~ahead[nearly]
    visited[nearly, 1] &= ~ahead[nearly]
    frame = generator.integers(0, 90, number)
    frame[1::5] = np.asarray(levels.frames)[1::5] - generator.integers(0, 9, len(frame[1::5]))
    astray = generator.choice([0, 30, 95, 99], (number, 2))
    touching = jax.jit(jax.vmap(lambda level, two: Ground.of(level).touched(two).any(axis=2)))(levels, racers)
    state = State(
        cars=racers,
        touching=touching,
        visited=jnp.asarray(visited),
        frame=jnp.asarray(frame, jnp.int32),
        astray=jnp.asarray(astray, jnp.int32),
        seen=(),
    )
    actions = generator.random((number, 2, 3)) * generator.choice([0, 1], (number, 1, 3), p=[0.3, 0.7])
    return levels, state, jnp.asarray(actions, jnp.float32), jnp.asarray(generator.random(number) < 0.5)
