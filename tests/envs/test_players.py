"""The player that any game has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro.envs.base import Box, Discrete
from maestro.envs.players import Random, Sight

DRAWS = 4096
SIGHT = Sight(None, None, 0)


def drawn(action):
    """Many actions of a random player, by different keys."""
    keys = jax.random.split(jax.random.key(0), DRAWS)
    return np.asarray(jax.vmap(lambda k: Random(action).act(k, (), None, SIGHT)[1])(keys))


@pytest.mark.parametrize("num", [1, 2, 5])
def test_a_random_player_takes_every_action_equally_often(num: int) -> None:
    """Within 5 standard errors."""
    share = np.bincount(drawn(Discrete(num)), minlength=num) / DRAWS
    assert len(share) == num
    assert (np.abs(share - 1 / num) <= 5 * (1 / num * (1 - 1 / num) / DRAWS) ** 0.5).all()


def test_a_random_player_takes_every_real_action_between_the_bounds() -> None:
    actions = drawn(Box(3, -2.0, 6.0))
    assert actions.shape == (DRAWS, 3) and actions.min() >= -2 and actions.max() < 6
    np.testing.assert_allclose(actions.mean(axis=0), 2.0, atol=5 * 8 / 12**0.5 / DRAWS**0.5)
    assert len(np.unique(actions[:, 0])) > DRAWS / 2 and jnp.issubdtype(actions.dtype, jnp.floating)
