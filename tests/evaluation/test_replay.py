"""A game played once more shows what its players saw and expected."""

import jax
import jax.numpy as jnp
import numpy as np

from ledger import AGENT, VALUE, Always, certain
from maestro.evaluation.opponents import trained
from maestro.evaluation.play import episode
from maestro.evaluation.replay import minds
from probes import Level, Race, SmallAgent

STEPS = 8
ENV = Race()
LEVEL = Level(jnp.int32(7), jnp.int32(5))  # asks for action 1, at most 5 steps


AGENT_OF_MEMORY = SmallAgent()
PARAMS = AGENT_OF_MEMORY.init(jax.random.key(3))
GAME = (ENV, LEVEL, Always(0), trained(AGENT_OF_MEMORY, PARAMS), STEPS)


def test_what_was_seen_is_what_the_recorded_states_show():
    lengths = set()
    for seed in range(4):
        game, seen = (play(jax.random.key(seed), *GAME) for play in (episode, minds))
        for t in range(int(game.length) + 1):
            state = jax.tree.map(lambda x, t=t: x[t], game.states)
            np.testing.assert_allclose(seen.obs[t], ENV.observe(LEVEL, state), atol=1e-6)
        lengths.add(int(game.length))
    assert len(lengths) > 1


def test_a_trained_player_expects_what_its_critic_says_of_all_it_has_seen():
    for seed in range(4):
        found, length = minds(jax.random.key(seed), *GAME), int(episode(jax.random.key(seed), *GAME).length)
        assert np.isnan(found.values[:, 0]).all()  # a script expects nothing
        keep = jnp.ones((length, 1)).at[0].set(0)
        features = AGENT_OF_MEMORY.unroll(PARAMS, found.obs[:length, 1][:, None], keep)
        expected = AGENT_OF_MEMORY.value(PARAMS, features)[:, 0]
        np.testing.assert_allclose(found.values[:length, 1], expected, atol=1e-5)


def test_each_seat_has_its_own_value():
    players = trained(AGENT, certain(0, VALUE)), trained(AGENT, certain(0, -2.0))
    found = minds(jax.random.key(0), ENV, LEVEL, *players, STEPS)
    np.testing.assert_allclose(found.values, np.broadcast_to([VALUE, -2.0], (STEPS, 2)))
