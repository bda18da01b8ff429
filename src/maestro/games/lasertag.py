"""LaserTag as one value: its rules, the paper's network and presets, players, levels and pictures."""

from dataclasses import replace

from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import FAST, PAPER, TINY
from maestro.envs.lasertag import draw, maps
from maestro.envs.lasertag.game import LaserTag
from maestro.envs.lasertag.players import PLAYERS
from maestro.games import Drawing, Game, Split

OPPONENTS = ("first", *PLAYERS)

GAME = Game(
    name="lasertag",
    environment=LaserTag,
    agent=ConvLSTM,
    presets={
        "paper": replace(PAPER, evaluation=replace(PAPER.evaluation, opponents=OPPONENTS)),
        "fast": replace(FAST, evaluation=replace(FAST.evaluation, opponents=OPPONENTS)),
        "tiny": replace(TINY, environment=LaserTag(5, 7), agent=ConvLSTM(hidden=64)),
    },
    players=PLAYERS,
    levels=maps.LEVELS,
    splits={
        "validation": Split(maps.VALIDATION, ("turret", "wall-follower")),
        "test": Split(maps.TEST, ("hunter",)),
        "specialist": Split(("Ruins", "FourRooms", "Empty", "Corridor-Easy")),
    },
    draw=Drawing(draw.terminal, draw.draw, ("red", "blue"), ("#ff3366", "#45b0fc"), draw.view),
)
