"""Players of a race whose skill is known."""

from typing import Any

import jax
import jax.numpy as jnp
from flax.struct import PyTreeNode


class Guesser(PyTreeNode):
    """Chooses the right action of a race with some probability, else another one."""

    skill: Any
    name = "guesser"

    def start(self):
        return jnp.int32(0)

    def act(self, key, memory, obs, sight):
        right = (sight.level.number % 3).astype(jnp.int32)
        return memory, jnp.where(jax.random.uniform(key) < self.skill, right, (right + 1) % 3)
