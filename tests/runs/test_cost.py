"""How long a run takes without an accelerator."""

import pytest

from maestro.games.lasertag import GAME
from maestro.runs import cost
from probes import SMALL, with_changes
from runs_helpers import experiment


def seconds(**changes):
    """Of a run on the probe game."""
    config = with_changes(SMALL, **changes)
    return cost.seconds(config, experiment(config))


LONGER = {
    "seeds": ({"seeds": 4}, 2),
    "updates": ({"schedule": {"total_updates": 24}}, 3),
    "workers": ({"ppo": {"workers": 16}}, 2),
    "rollouts": ({"ppo": {"rollout_length": 32}}, 2),
    "epochs": ({"ppo": {"epochs": 4}}, (2 * 2 + 3 * 4) / (2 * 2 + 3 * 2)),
    "coins": ({"curriculum": {"replay_rate": 0.25}}, (2 * 4 + 3 * 2) / (2 * 2 + 3 * 2)),
    "side by side": ({"schedule": {"kind": "parallel"}}, 1),
    "new levels only": ({"method": "dr-fsp"}, (2 * 1 + 3 * 2) / (2 * 2 + 3 * 2)),
    "one level only": ({"level": '{\n"number": 7, "time_limit": 3}'}, (2 * 1 + 3 * 2) / (2 * 2 + 3 * 2)),
    "both seats": (
        {"method": "dr-sp", "schedule": {"sp_train_both": True}},
        (2 * 1 + 3 * 2 * 2) / (2 * 2 + 3 * 2),
    ),
}


@pytest.mark.parametrize("name", LONGER)
def test_the_estimate_grows_with_what_is_computed(name):
    changes, factor = LONGER[name]
    assert seconds(**changes) == pytest.approx(factor * seconds())


def test_the_presets_of_lasertag_take_minutes_and_days(monkeypatch):
    from maestro.runs import build

    monkeypatch.setattr(cost.os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    need = {n: cost.seconds(config, build.experiment(GAME, config)) for n, config in GAME.presets.items()}
    assert need["tiny"] < 120 < 10 * 3600 < need["fast"] < 3 * 86_400 < need["paper"]
