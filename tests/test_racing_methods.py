"""The table of every method on racing: the rules of each cycle hold with pictures and real actions."""

from dataclasses import dataclass

import jax.numpy as jnp
import pytest

from maestro.agents.conv_beta import ConvBeta
from maestro.envs.racing.game import Racing
from maestro.methods import METHODS
from probes import with_changes
from test_methods import EVERY_CYCLE, recorded

FRAMES = 24  # of a race: three decisions, so that a rollout holds whole races
PPO = {"rollout_length": 6, "workers": 4, "normalize_returns": True, "clip_value": False, "shuffle": "steps"}
SCORE = {"score": "positive_value_loss", "playlist": 1}


@dataclass(frozen=True)
class Sprint(Racing):
    """A race that is over soon."""

    def sample_level(self, key):
        return super().sample_level(key).replace(frames=jnp.int32(FRAMES))


@pytest.mark.long
@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.score])
def test_the_rules_hold_on_racing(method: str) -> None:
    run = with_changes(method=method, ppo=PPO, curriculum=SCORE, schedule={"kind": "parallel"})
    recording = recorded(run, Sprint(), ConvBeta(channels=(2, 2, 2, 2, 2, 2), heads=(4,)), 8)
    for rule in EVERY_CYCLE:
        rule(recording)
    assert recording.states[-1].updates > 1
