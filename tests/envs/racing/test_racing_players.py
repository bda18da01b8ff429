"""The scripted drivers race, and the game keeps what every game promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs import check
from maestro.envs.racing import circuits, text
from maestro.envs.racing.game import Racing
from maestro.envs.racing.players import PLAYERS, WIDE, ahead, passed, swing
from maestro.envs.racing.track import along
from maestro.evaluation.play import play

ENV = Racing()


def raced(levels, name: str, other: str = "idle"):
    """What came of one race on each level."""
    keys = jax.random.split(jax.random.key(5), levels.frames.shape[0])
    return play(keys, ENV, PLAYERS[name], PLAYERS[other], levels, int(levels.time_limit.max()))


@pytest.fixture(scope="module")
def generated():
    """Tracks of the generator, without their hairpins' trouble: the first four that this key draws."""
    return jax.jit(jax.vmap(ENV.sample_level))(jax.random.split(jax.random.key(0), 4))


@pytest.mark.long
def test_a_follower_drives_and_an_idle_car_stands(generated):
    result = raced(generated, "follower")
    assert result.outcome.tolist() == [1] * 4
    tiles, grass = np.asarray(result.extras["tiles"]), np.asarray(result.extras["grass"])
    assert (tiles[:, 0] > 0.4).all() and (tiles[:, 1] < 0.02).all()
    assert np.median(grass[:, 0]) == 0
    np.testing.assert_allclose(np.asarray(result.score)[:, 1] + 100, 1000 * 0.01, atol=15)


def test_a_driver_keeps_to_its_own_part_of_a_road_that_meets_itself():
    angle = np.linspace(0, 2 * np.pi, 468, endpoint=False)
    eight = 100 * np.stack([np.sin(angle), np.sin(2 * angle)], axis=1)  # crosses itself at tiles 0 and 234
    road = along(jnp.asarray(eight, jnp.float32))
    here = jnp.zeros(2)
    assert int(passed(road, jnp.int32(230), here)) == 234
    assert int(passed(road, jnp.int32(465), here)) == 0
    far = jnp.array([60.0, 90.0])  # off the road: any tile
    assert int(passed(road, jnp.int32(300), far)) in range(20, 90)


def test_a_hairpin_is_entered_on_its_outside_and_other_turns_are_not():
    def sharp(turn: float, radius: float) -> float:
        """Where to drive 12 units before a turn to the left; the road's ends, which do not meet, are far."""
        arc = np.arange(0, turn, 1 / radius)
        bend = np.stack([radius * (np.cos(arc) - 1), radius * np.sin(arc)], axis=1)
        out = bend[-1] + np.arange(1, 40)[:, None] * [-np.sin(arc[-1]), np.cos(arc[-1])]
        road = along(jnp.asarray(np.concatenate([[[0.0, y] for y in range(-20, 0)], bend, out]), jnp.float32))
        tiles, far = ahead(road, jnp.int32(8))
        return float(swing(tiles, far))

    assert sharp(np.pi, 5.0) == WIDE  # to the right
    assert sharp(np.pi, 15.0) == sharp(np.pi / 2, 5.0) == 0


@pytest.mark.long
def test_a_follower_completes_a_lap_of_the_circuits_given_time():
    levels = jax.tree.map(lambda *x: jnp.stack(x), *(text.LEVELS.load(name) for name in circuits.TEST))
    result = raced(levels.replace(frames=jnp.full(21, 6000, jnp.int32)), "follower")
    tiles = np.asarray(result.extras["tiles"])[:, 0]
    assert (tiles > 0.9999).all(), dict(zip(circuits.TEST, tiles, strict=True))


@pytest.mark.long
def test_a_blocker_gets_in_the_way(generated):
    result = raced(generated, "blocker", "follower")
    free = raced(generated, "idle", "follower")
    behind = np.asarray(result.extras["tiles"])[:, 1] - np.asarray(free.extras["tiles"])[:, 1]
    assert behind.mean() < 0


@pytest.mark.long
def test_racing_keeps_the_contract():
    check(ENV, lambda level: text.to_text(level, "track"), text.parse)
