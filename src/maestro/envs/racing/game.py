"""MultiCarRacing: two cars race each other around a closed road (paper, appendix C.2)."""

from dataclasses import dataclass, replace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from flax.struct import PyTreeNode
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8

from maestro.config import Range
from maestro.envs.base import Box, Info
from maestro.envs.racing import car, collision, contact, frames, levels, place, track, view
from maestro.envs.racing.car import Car
from maestro.envs.racing.levels import REPEAT, Level
from maestro.envs.racing.track import Track
from maestro.trees import Leaf

STACK = 4  # pictures in an observation, the newest last
CHANNELS = 3
LAP = 1000.0  # for all tiles, to whoever is first; half of it to the second
COST = 0.1  # of a frame
LOST = -100.0  # what the frame is worth in which a car leaves the field
APART = 3.0  # from the center line to each car at the start


class State(PyTreeNode):
    """Where everything is."""

    cars: Car  # the two cars as leading axis
    touching: Leaf  # bool [2, 4]; whether each wheel was on the road when the last frame began
    visited: Leaf  # bool [2, N]; the tiles that each car has driven over
    frame: Leaf  # frames played
    astray: Leaf  # int32 [2]; frames in a row that each car has been off the road
    seen: Leaf  # uint8 [2, 84, 84, 9]; the pictures before the newest one


class Ground(PyTreeNode):
    """What a level means for its frames, computed once for all of a decision's."""

    level: Level
    road: Track
    surface: Leaf  # [2 N, 4, 2]; tiles, then curbs

    @classmethod
    def of(cls, level: Level) -> "Ground":
        """The ground of a level."""
        road = track.along(level.center)
        return cls(level, road, place.surface(road))

    def touched(self, cars: Car) -> Bool[Array, "2 4 N"]:
        """Which tiles each wheel of each car touches."""
        tiles = self.surface[: self.road.beta.shape[0]]
        return jax.vmap(lambda one: contact.touched(tiles, *car.wheels(one)))(cars)


class Progress(PyTreeNode):
    """The frames of one decision."""

    state: State
    over: Leaf  # bool; the game is over, and nothing more happens
    reward: Leaf  # [2]; shaped
    score: Leaf  # [2]
    tiles: Leaf  # [2]; share of the lap that each car has driven over for the first time
    grass: Leaf  # [2]; frames off the road
    backwards: Leaf  # [2]; frames in the wrong direction


def controls(action: Float[Array, "2 3"]) -> Float[Array, "2 3"]:
    """An action in [0, 1] as steering from left to right, -1 to 1, gas and brake."""
    return jnp.clip(action, 0.0, 1.0) * jnp.array([[2.0, 1.0, 1.0]]) - jnp.array([[1.0, 0.0, 0.0]])


def tile_rewards(
    visited: Bool[Array, "2 N"], new: Bool[Array, "2 N"], first: Bool[Array, ""]
) -> Float[Array, "2"]:
    """What tiles are worth that are driven over for the first time; in a tie one of the cars was first."""
    beaten = visited[::-1] | (new[::-1] & (jnp.arange(2) != first.astype(jnp.int32))[:, None])
    return jnp.sum(jnp.where(new, jnp.where(beaten, LAP / 2, LAP), 0.0), axis=1) / visited.shape[1]


def observe(ground: Ground, state: State) -> UInt8[Array, "2 84 84 3"]:
    """What the two drivers see; whoever looks is red."""
    return view.both(ground.road, state.visited.any(axis=0), ground.level.half_side, state.cars)


@dataclass(frozen=True)
class Racing:
    """Two cars, one lap: the first on a tile gets 1000 / tiles, the second half of it; a frame costs 0.1."""

    grass_penalty: Annotated[float, Range(0, 100)] = 0.1
    """Taken from the reward of training for each frame off the road."""
    backwards_penalty: Annotated[float, Range(0, 100)] = 0.5
    """Likewise, for each frame in the wrong direction."""
    most_astray: Annotated[int, Range(0, 100_000)] = 100
    """In training the game ends once the student's car has been off the road for so many frames; 0: never."""
    disc: bool = False
    """Draw the control points of generated tracks from a disc, as the paper says, not from a square."""

    num_agents = 2
    zero_sum = False
    action = Box(3, 0.0, 1.0)
    observation_bounds = (0, 255)

    def judged(self) -> "Racing":
        """The game as it is evaluated: nothing shapes its reward or ends it early."""
        return replace(self, grass_penalty=0.0, backwards_penalty=0.0, most_astray=0)

    def sample_level(self, key: PRNGKeyArray) -> Level:
        """A random track."""
        return levels.sample_level(key, self.disc)

    def edit(self, key: PRNGKeyArray, level: Level, changes: int = levels.CHANGES) -> Level:
        """A track that differs a little."""
        return levels.edit(key, level, changes)

    def statistics(self, level: Level) -> dict[str, Float[Array, ""]]:
        """Length, curvature and complexity of the track."""
        return levels.statistics(level)

    def reset(self, key: PRNGKeyArray, level: Level) -> tuple[State, UInt8[Array, "2 84 84 12"]]:
        """Both cars beside the first tile's center; who is on which side is drawn from the key."""
        ground = Ground.of(level)
        road = ground.road
        side = jnp.where(jax.random.bernoulli(key), APART, -APART) * jnp.array([1.0, -1.0])
        places = road.point[:1] + side[:, None] * road.normal[:1]
        cars = jax.vmap(car.start, (0, None))(places, road.beta[0])
        state = State(
            cars=cars,
            touching=ground.touched(cars).any(axis=2),
            visited=jnp.zeros((2, level.center.shape[0]), bool),
            frame=jnp.int32(0),
            astray=jnp.zeros(2, jnp.int32),
            seen=jnp.zeros((2, 84, 84, CHANNELS * (STACK - 1)), jnp.uint8),
        )
        picture = observe(ground, state)
        return state.replace(seen=jnp.tile(picture, STACK - 1)), jnp.tile(picture, STACK)

    def step(
        self, key: PRNGKeyArray, level: Level, state: State, actions: Float[Array, "2 3"]
    ) -> tuple[State, UInt8[Array, "2 84 84 12"], Float[Array, "2"], Bool[Array, ""], Bool[Array, ""], Info]:
        """One decision, held for 8 frames or until the game is over."""
        ground, none = Ground.of(level), jnp.zeros(2)
        first = jax.random.bernoulli(key)  # who wins a tie
        unseen = state.replace(seen=())  # pictures wait outside of the loop
        start = Progress(unseen, jnp.bool_(False), none, none, none, none, none)

        end = self.played(ground, start, controls(actions), first)
        picture = observe(ground, end.state)
        obs = jnp.concatenate([state.seen, picture], axis=-1)
        truncated = (end.state.frame >= level.frames) & ~end.over
        info = {"score": end.score, "tiles": end.tiles, "grass": end.grass, "backwards": end.backwards}
        return end.state.replace(seen=obs[..., CHANNELS:]), obs, end.reward, end.over, truncated, info

    def played(self, ground: Ground, start: Progress, actions: Array, first: Array) -> Progress:
        """All frames of a decision, one after the other, or all by one kernel where there is a GPU for it."""
        if frames.held(ground.road.beta.shape[0]):
            rules = (LAP, COST, LOST, self.grass_penalty, self.backwards_penalty, self.most_astray)
            return frames.played(ground, start, actions, first, np.array(rules))

        def frame(now: Progress, _: None) -> tuple[Progress, None]:
            over = now.over | (now.state.frame >= ground.level.frames)
            after = self.frame(ground, now, actions, first)
            return jax.tree.map(lambda old, new: jnp.where(over, old, new), now, after), None

        return jax.lax.scan(frame, start, length=REPEAT)[0]

    def frame(self, ground: Ground, now: Progress, actions: Array, first: Array) -> Progress:
        """One fiftieth of a second; wheels are on the road, and tiles are reached, where a frame began."""
        state = now.state
        cars = collision.step(state.cars, actions, state.touching)
        on = ground.touched(state.cars)
        new = on.any(axis=1) & ~state.visited
        origin = jax.vmap(car.origin)(cars)
        grass = jax.vmap(place.on_grass, (None, 0))(ground.surface, origin)
        backwards = jax.vmap(place.backwards, (None, 0))(ground.road, cars)
        lost = (jnp.abs(origin) > ground.level.half_side).any(axis=1)
        score = jnp.where(lost, LOST, tile_rewards(state.visited, new, first) - COST)
        shaping = self.grass_penalty * grass + self.backwards_penalty * backwards
        astray = jnp.where(grass, state.astray + 1, 0)
        visited = state.visited | new
        over = lost.any() | visited.any(axis=0).all()
        if self.most_astray:
            over |= astray[0] >= self.most_astray
        return Progress(
            state=state.replace(
                cars=cars, touching=on.any(axis=2), visited=visited, frame=state.frame + 1, astray=astray
            ),
            over=over,
            reward=now.reward + score - shaping,
            score=now.score + score,
            tiles=now.tiles + jnp.mean(new, axis=1),
            grass=now.grass + grass,
            backwards=now.backwards + backwards,
        )
