"""Every setting, with the paper's hyperparameter table (appendix D) as the defaults, and the presets."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True)
class GameConfig:
    """The generator of levels."""

    min_size: int = 5
    """Smallest side of a generated level."""
    max_size: int = 15
    """Largest side of a generated level, at most 15."""
    level: str = ""
    """Train on this one level (a name or a file) instead of generated ones: a specialist."""


@dataclass(frozen=True)
class AgentConfig:
    """The LaserTag network."""

    filters: int = 16
    """Filters of the 3 x 3 convolution."""
    hidden: int = 256
    """Units of the LSTM."""
    heads: tuple[int, ...] = (32, 32)
    """Hidden layers of the actor, and of the separate critic."""


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimisation."""

    gamma: float = 0.995
    """Discount."""
    gae_lambda: float = 0.95
    """Lambda of the generalised advantage estimate."""
    rollout_length: int = 256
    """Steps T of a rollout, which always starts with fresh episodes."""
    workers: int = 32
    """Environments W whose steps one update learns from."""
    epochs: int = 5
    """Passes over the data of one update."""
    minibatches: int = 4
    """Minibatches per epoch, each of workers / minibatches whole sequences."""
    clip: float = 0.2
    """Clip range of the probability ratio and, if `clip_value`, of the value."""
    learning_rate: float = 1e-4
    """Adam's constant learning rate."""
    adam_eps: float = 1e-5
    """Adam's epsilon."""
    max_grad_norm: float = 0.5
    """Gradients are scaled down to this global norm."""
    clip_value: bool = True
    """Clip the value loss; without it the loss is Huber's."""
    value_coef: float = 0.5
    """Weight of the value loss."""
    entropy_coef: float = 0.0
    """Weight of the entropy bonus."""


@dataclass(frozen=True)
class CurriculumConfig:
    """The teacher: level buffers and the choice of the co-player."""

    replay_rate: float = 0.5
    """Probability p that a cycle replays levels (schedule `coin` only)."""
    buffer_size: int = 4000
    """Levels K in the one buffer of PLR."""
    member_buffer_size: int = 1000
    """Levels in the buffer of each co-player of MAESTRO."""
    score: Literal["max_mc", "positive_value_loss"] = "max_mc"
    """Estimate of regret."""
    prioritisation: Literal["rank", "proportional"] = "rank"
    """How scores become probabilities; proportional needs scores that are never negative."""
    temperature: float = 0.3
    """Beta: the smaller, the more the highest scores are preferred."""
    staleness: float = 0.3
    """Rho: share of the replay probability that goes by the time since a level was last played."""
    min_fill: float = 0.5
    """Share of a buffer that must be filled before it is replayed from."""
    playlist: int = 8
    """Levels Q in a worker's queue of replayed levels for one rollout."""
    eviction: Literal["replay", "score"] = "replay"
    """Whom a new level challenges in a full buffer: the level least likely replayed, or of least score."""
    empty: Literal["pessimistic", "optimistic"] = "pessimistic"
    """How an empty buffer counts in the choice of the co-player: never the maximum, or always."""
    exploration: float = 0.1
    """Lambda: every co-player is chosen with probability of at least lambda / N."""
    hard_power: float = 2.0
    """Power of PFSP's f_hard(x) = (1 - x)^power."""
    smoothing: float = 0.1
    """Added to each of PFSP's probabilities, which are then normalised again."""
    coplayer_per: Literal["rollout", "worker"] = "rollout"
    """One co-player for all workers of a rollout, or one drawn for each worker."""


@dataclass(frozen=True)
class ScheduleConfig:
    """How long, and in what order."""

    kind: Literal["coin", "parallel"] = "coin"
    """`coin`: a cycle either replays or tries new levels. `parallel`: both, side by side."""
    total_updates: int = 40_000
    """Student updates of the whole run."""
    interval: int = 8_000
    """Student updates between two additions to the population."""
    warmup: int = 0
    """Updates of self-play before the first co-player joins; 0: the initial student is the first."""
    sp_train_both: bool = False
    """In self-play, learn from both seats' experience."""


@dataclass(frozen=True)
class EvaluationConfig:
    """Games against fixed opponents on generated levels, which show passivity that training cannot."""

    times: int = 20
    """How often during a run, evenly spread."""
    levels: int = 256
    """Generated levels, the same ones every time; half of them are played from the other seat."""
    opponents: tuple[str, ...] = ("first", "random", "turret", "wall-follower", "hunter")
    """`first` is the first member of the population, the student before training."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run."""

    method: str = "maestro"
    """One of `maestro.methods.METHODS`."""
    seeds: int = 1
    """Runs side by side, as one program."""
    seed: int = 0
    """The first seed; the others follow."""
    game: GameConfig = field(default_factory=GameConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)


PAPER = RunConfig(seeds=10)

FAST = RunConfig(
    seeds=5,
    ppo=PPOConfig(workers=512, learning_rate=3e-4, entropy_coef=0.005),
    curriculum=CurriculumConfig(
        buffer_size=4096, member_buffer_size=2048, temperature=1.0, empty="optimistic"
    ),
    schedule=ScheduleConfig(kind="parallel", total_updates=500, interval=100),
    evaluation=EvaluationConfig(times=10),
)

TINY = replace(
    FAST,
    seeds=1,
    game=GameConfig(min_size=5, max_size=7),
    agent=AgentConfig(hidden=64),
    ppo=PPOConfig(rollout_length=64, workers=64, learning_rate=1e-3, entropy_coef=0.005),
    curriculum=replace(FAST.curriculum, buffer_size=512, member_buffer_size=128),
    schedule=ScheduleConfig(kind="parallel", total_updates=150, interval=30),
    evaluation=EvaluationConfig(times=5, levels=64, opponents=("first", "random")),
)

PRESETS = {"paper": PAPER, "fast": FAST, "tiny": TINY}


def population_size(schedule: ScheduleConfig) -> int:
    """N_max: how many members ever join. None joins at the very end, where it would never play."""
    return max(0, -((schedule.warmup - schedule.total_updates) // schedule.interval))


def leaves(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every setting."""
    for f in fields(config):
        value = getattr(config, f.name)
        if is_dataclass(value):
            yield from leaves(value, f"{path}{f.name}.")
        else:
            yield path + f.name, value
