"""MultiCarRacing as one value: its rules, the paper's network and presets, players, tracks and pictures."""

from dataclasses import replace

from maestro.agents.conv_beta import ConvBeta
from maestro.config import CurriculumConfig, EvaluationConfig, PPOConfig, RunConfig, ScheduleConfig
from maestro.envs.racing import circuits, draw, scene, text
from maestro.envs.racing.game import Racing
from maestro.envs.racing.levels import REPEAT
from maestro.envs.racing.players import PLAYERS
from maestro.games import Drawing, Game, Share, Split

OPPONENTS = ("first", *PLAYERS)

PAPER = RunConfig(
    seeds=5,
    ppo=PPOConfig(
        gamma=0.99,
        gae_lambda=0.9,
        rollout_length=125,
        epochs=8,
        clip_value=False,
        normalize_returns=True,
        shuffle="steps",
    ),
    curriculum=CurriculumConfig(
        buffer_size=8000,
        score="positive_value_loss",
        temperature=1.0,
        staleness=0.7,
        playlist=1,
    ),
    schedule=ScheduleConfig(total_updates=4500, interval=400, warmup=400),
    evaluation=EvaluationConfig(levels=64, opponents=OPPONENTS),
)

FAST = replace(
    PAPER,
    ppo=replace(PAPER.ppo, workers=128, learning_rate=3e-4),
    curriculum=replace(PAPER.curriculum, buffer_size=2048, member_buffer_size=512, empty="optimistic"),
    schedule=ScheduleConfig(kind="parallel", total_updates=400, interval=80, warmup=80),
    evaluation=EvaluationConfig(times=10, levels=64, opponents=("first", "follower")),
)

TINY = replace(  # its network looks at a quarter of the pixels: two cores are soon busy with pictures
    PAPER,
    seeds=1,
    ppo=replace(PAPER.ppo, workers=16, epochs=4, learning_rate=1e-3),
    agent=ConvBeta(channels=(8, 16, 32, 64), kernels=(2, 3, 3, 4), strides=(4, 2, 2, 1), heads=(64,)),
    curriculum=replace(
        PAPER.curriculum, buffer_size=64, member_buffer_size=32, replay_rate=0.8, empty="optimistic"
    ),
    schedule=ScheduleConfig(total_updates=90, interval=30, warmup=30),
    evaluation=EvaluationConfig(times=3, levels=4, opponents=("first",)),
)

GAME = Game(
    name="racing",
    environment=Racing,
    agent=ConvBeta,
    presets={"paper": PAPER, "fast": FAST, "tiny": TINY},
    players=PLAYERS,
    levels=text.LEVELS,
    splits={
        "validation": Split(text.VALIDATION, ("follower",)),
        "test": Split(circuits.TEST, ("blocker",)),
        "specialist": Split(circuits.SPECIALIST),
    },
    draw=Drawing(
        terminal=draw.terminal,
        picture=draw.draw,
        seats=("red", "blue"),
        colors=("#dc283c", "#285fdc"),
        view=draw.view,
        map=draw.whole,
        scene=scene.scene,
        bodies=scene.bodies,
    ),
    shares={
        "lap_progress": Share("tiles"),
        "grass_time": Share("grass", REPEAT),
        "backwards_time": Share("backwards", REPEAT),
    },
)
