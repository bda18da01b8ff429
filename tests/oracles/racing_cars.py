"""Cars thrown into each other, for tests of how they get out of it."""

import jax
import jax.numpy as jnp
import numpy as np

from maestro.envs.racing import car as model


def thrown(generator: np.random.Generator, number: int) -> model.Car:
    """Pairs of cars close to each other, many of them overlapping, turning and sliding every way."""
    position = np.zeros((number, 2, 2))
    position[:, 1] = generator.uniform(-1, 1, (number, 2)) * (2.6, 5.2)
    angle = generator.uniform(-np.pi, np.pi, (number, 2))
    cars = jax.vmap(jax.vmap(model.start))(jnp.array(position, jnp.float32), jnp.array(angle, jnp.float32))
    drawn = {
        "velocity": generator.normal(0, 15, (number, 2, 2)), "spin": generator.normal(0, 2, (number, 2)),
        "steer": generator.uniform(-0.4, 0.4, (number, 2, 4)),
        "steer_rate": generator.uniform(-3, 3, (number, 2, 4)),
    }  # fmt: skip
    return cars.replace(**{name: jnp.array(value, jnp.float32) for name, value in drawn.items()})
