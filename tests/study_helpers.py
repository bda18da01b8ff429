"""Studies of rock, paper, scissors that compile in seconds, and finished cohorts that were never trained."""

import json
from dataclasses import replace

import jax

from ledger import Always, certain
from maestro.agents.mlp import MLP
from maestro.analysis.study import plan
from maestro.envs.levels import as_json
from maestro.games import Game, Split
from maestro.runs import agent_file, sessions
from maestro.runs import folder as run_folder
from probes import SMALL, RockPaperScissors
from runs_helpers import claim

ROCK, PAPER, SCISSORS = 0, 1, 2
HERE = '{"number": 1, "time_limit": 3}'
LEVELS = replace(as_json(RockPaperScissors()), named=(("here", HERE), ("there", HERE.replace("1", "2"))))
GAME = Game(
    "hands",
    RockPaperScissors,
    MLP,
    {"tiny": replace(SMALL, game="", environment=None, agent=MLP(layers=(4,)))},
    {"paper": Always(PAPER, "paper"), "rock": Always(ROCK, "rock")},
    LEVELS,
    {"validation": Split(("here", "there"), ("paper",)), "test": Split(("here",), ("rock",))},
)
SMALLEST = {
    "ppo": {"rollout_length": 4, "workers": 4, "epochs": 1},
    "curriculum": {"min_fill": 0.25, "buffer_size": 8, "member_buffer_size": 4, "playlist": 2},
    "schedule": {"total_updates": 4, "interval": 2},
    "evaluation": {"times": 0, "keep_levels": 0},
}


def content(*cohorts, **more):
    """What a study's file says."""
    return {"game": "hands", "preset": "tiny", "settings": SMALLEST, "cohort": list(cohorts), **more}


def study(*cohorts, **more):
    """A study of these cohorts."""
    return plan.read(content(*cohorts, **more), GAME)


def finished(out, planned, hands):
    """The piece of a cohort whose students always show the same hand."""
    folder = claim(out / "runs" / planned.name)
    run_folder.begin(folder, planned.config)
    run_folder.begin_session(folder, planned.config, sessions.this_one("cpu"))
    folder.checkpoints.mkdir()
    folder.checkpoints.rmdir()
    for seed, hand in enumerate(hands):
        path = folder.agents / f"student-{seed}.safetensors"
        agent_file.save(path, planned.config, jax.device_get(certain(hand)), {"seed": seed, "updates": 4})
    (folder.path / "summary.json").write_text("{}")
    run_folder.write_status(folder, state="finished", updates=4)
    return folder


def note_session(folder, seconds, updates, device="cpu"):
    """Let a run say how long it was trained."""
    about = run_folder.read_json(folder.about)
    session = {"device": device, "seconds": seconds, "updates": updates}
    path = folder.path / "about.json"
    path.write_text(json.dumps({**about, "sessions": [*about.get("sessions", []), session]}))
