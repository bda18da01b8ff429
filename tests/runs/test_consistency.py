"""Settings that do not go together."""

import pytest

from maestro.runs.build import configure, experiment
from maestro.runs.cost import memory
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


def test_playing_new_and_stored_levels_side_by_side_needs_more_memory_if_levels_are_stored() -> None:
    def need(method, kind):
        config = configure(RACE, TINY, {"method": method, "schedule": {"kind": kind}})
        return memory(config, experiment(RACE, config))

    assert need("maestro", "parallel") > need("maestro", "coin")
    assert need("dr-fsp", "parallel") == need("dr-fsp", "coin")
