"""LaserTag as one value: its rules, the paper's network and presets, players, levels and pictures."""

from dataclasses import replace
from pathlib import Path

from maestro.agents.conv_lstm import ConvLSTM
from maestro.config import FAST, PAPER, TINY
from maestro.envs.lasertag import draw, maps, scene
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
        "tiny": replace(TINY, environment=LaserTag(5, 7), agent=ConvLSTM(hidden=64), effort="quick"),
    },
    players=PLAYERS,
    levels=maps.LEVELS,
    splits={
        "validation": Split(maps.VALIDATION, ("turret", "wall-follower")),
        "test": Split(maps.TEST, ("hunter",)),
        "specialist": Split(("Ruins", "FourRooms", "Empty", "Corridor-Easy")),
    },
    draw=Drawing(
        terminal=draw.terminal,
        picture=draw.draw,
        seats=("red", "blue"),
        colors=("#ff3366", "#45b0fc"),
        view=draw.view,
        scene=scene.scene,
        bodies=scene.bodies,
    ),
    page=Path(draw.__file__).parent / "web",
)
