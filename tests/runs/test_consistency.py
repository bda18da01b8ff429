"""Settings that do not go together."""

import pytest

from maestro.runs.build import configure
from maestro.settings import SettingsError
from probes import RACE

SELF_PLAY = {"method": "dr-sp", "schedule": {"sp_train_both": True}}
TINY = RACE.presets["tiny"]


def test_both_seats_double_the_sequences_that_minibatches_must_divide() -> None:
    changes = {"ppo": {"workers": 3, "minibatches": 6}}
    assert configure(RACE, TINY, SELF_PLAY | changes).ppo.minibatches == 6
    with pytest.raises(SettingsError, match="6 does not divide the 3 sequences"):
        configure(RACE, TINY, changes)
    with pytest.raises(SettingsError, match="4 does not divide the 6 sequences"):
        configure(RACE, TINY, SELF_PLAY | {"ppo": {"workers": 3, "minibatches": 4}})
