"""Every setting with its range, the paper's hyperparameter table (appendix D) being the defaults."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

BIG = 1_000_000_000
SIGNED = ("max_mc", "mean_mc")  # scores that may be negative


@dataclass(frozen=True)
class Range:
    """What a number may be, both ends included."""

    low: int | float
    high: int | float


@dataclass(frozen=True)
class Length:
    """How many entries a list may have."""

    most: int


class Given:
    """Marks a field that the game decides: it is not a setting."""


Share = Annotated[float, Range(0, 1)]
Weight = Annotated[float, Range(0, BIG)]
Slots = Annotated[int, Range(1, 10_000_000)]


@dataclass(frozen=True)
class PPOConfig:
    """Proximal policy optimization."""

    gamma: Share = 0.995
    """Discount."""
    gae_lambda: Share = 0.95
    """Lambda of the generalized advantage estimate."""
    rollout_length: Annotated[int, Range(1, 1_000_000)] = 256
    """Steps T of a rollout, which always starts with fresh episodes."""
    workers: Slots = 32
    """Environments W whose steps one update learns from."""
    epochs: Annotated[int, Range(1, 1000)] = 5
    """Passes over the data of one update."""
    minibatches: Annotated[int, Range(1, 100_000)] = 4
    """Minibatches per epoch, each of workers / minibatches whole sequences unless steps are shuffled."""
    clip: Annotated[float, Range(0, 10)] = 0.2
    """Clip range of the probability ratio and, if `clip_value`, of the value."""
    learning_rate: Annotated[float, Range(0, 10)] = 1e-4
    """Adam's constant learning rate."""
    adam_eps: Annotated[float, Range(1e-12, 1)] = 1e-5
    """Adam's epsilon."""
    max_grad_norm: Weight = 0.5
    """Gradients are scaled down to this global norm."""
    clip_value: bool = True
    """Clip the value loss; without it the loss is Huber's."""
    value_coef: Weight = 0.5
    """Weight of the value loss."""
    entropy_coef: Weight = 0.0
    """Weight of the entropy bonus."""
    normalize_returns: bool = False
    """Divide the student's rewards by the running standard deviation of its discounted returns."""
    shuffle: Literal["sequences", "steps"] = "sequences"
    """What is shuffled into minibatches: whole sequences, or single steps, for networks without memory."""

    @property
    def pieces(self) -> int:
        """How many of these the workers' experience has."""
        return self.workers * (self.rollout_length if self.shuffle == "steps" else 1)


@dataclass(frozen=True)
class CurriculumConfig:
    """The teacher: level buffers and the choice of the co-player."""

    replay_rate: Share = 0.5
    """Probability p that a cycle replays levels (schedule `coin` only)."""
    buffer_size: Slots = 4000
    """Levels K in the one buffer of PLR."""
    member_buffer_size: Slots = 1000
    """Levels in the buffer of each co-player of MAESTRO."""
    score: Literal["max_mc", "positive_value_loss", "mean_mc", "learnability"] = "max_mc"
    """Estimate of regret: by the best return, the advantages, the best mean return, or how results vary."""
    score_units: Literal["normalized", "raw"] = "normalized"
    """Units of the scores where returns are normalized: the critic's, or those of the game's rewards."""
    prioritization: Literal["rank", "proportional"] = "rank"
    """How scores become probabilities; proportional needs scores that are never negative."""
    temperature: Annotated[float, Range(1e-3, 1e6)] = 0.3
    """Beta: the smaller it is, the more the highest scores are preferred."""
    staleness: Share = 0.3
    """Rho: share of the replay probability that depends on the time since a level was last played."""
    min_fill: Share = 0.5
    """Share of a buffer that must be filled before it is replayed from."""
    playlist: Annotated[int, Range(1, 10_000)] = 8
    """Levels Q in a worker's queue of replayed levels for one rollout."""
    eviction: Literal["replay", "score"] = "replay"
    """Which level a new one challenges in a full buffer: that of lowest replay probability, or score."""
    empty: Literal["pessimistic", "optimistic"] = "pessimistic"
    """How an empty buffer counts in the choice of the co-player: as the lowest regret, or as the highest."""
    exploration: Share = 0.1
    """Lambda: every co-player is chosen with probability of at least lambda / N."""
    hard_power: Annotated[float, Range(0, 100)] = 2.0
    """Power of PFSP's f_hard(x) = (1 - x)^power."""
    smoothing: Weight = 0.1
    """Added to each of PFSP's probabilities, which are then normalized again."""
    coplayer_per: Literal["rollout", "worker"] = "rollout"
    """One co-player for all workers of a rollout, or one drawn for each worker."""
    estimate: Literal["max", "expected", "top_mean"] = "max"
    """What Eq. 2 compares: the highest score of a buffer, the expected score of what it would serve, or the
    mean of its highest tenth, ten at least."""
    optimism: Annotated[float, Range(0, 1_000_000)] = 0.0
    """Weight c of a bonus in Eq. 2 for members that were played rarely since they joined; 0: none."""
    try_against: Literal["chosen", "uniform"] = "chosen"
    """Whom new levels are tried against: the chosen co-player, or one drawn uniformly, so that no buffer
    starves."""
    cold: Literal["wait", "redraw"] = "wait"
    """When a chosen buffer cannot be replayed from yet, under `parallel`: all seeds only try new levels, or
    those that replay choose again."""
    edit_share: Share = 0.5
    """Share of the new levels that are edits of served ones, in methods with edits."""
    edits: Annotated[int, Range(1, 1000)] = 5
    """Changes of an edit, one after another."""


@dataclass(frozen=True)
class ScheduleConfig:
    """How long, and in what order."""

    kind: Literal["coin", "parallel"] = "coin"
    """`coin`: a cycle either replays or tries new levels. `parallel`: both, side by side."""
    total_updates: Annotated[int, Range(1, BIG)] = 40_000
    """Student updates of the whole run."""
    interval: Annotated[int, Range(1, BIG)] = 8_000
    """Student updates between two additions to the population."""
    warmup: Annotated[int, Range(0, BIG)] = 0
    """Updates of self-play before the first co-player joins; 0: the initial student is the first."""
    sp_train_both: bool = False
    """In self-play, learn from both seats' experience."""
    exploiters: Literal["none", "beside", "instead"] = "none"
    """Members that are trained, one every interval after the first copy: best responses to the student as it
    is then, which join `beside` its copies or `instead` of them."""
    exploiter_updates: Annotated[int, Range(0, BIG)] = 0
    """Updates that each exploiter is trained for, which count as none of the student's; 0: interval / 4."""


@dataclass(frozen=True)
class EvaluationConfig:
    """Games against fixed opponents on generated levels, which show passivity that training cannot."""

    times: Annotated[int, Range(0, 100_000)] = 20
    """How often during a run, evenly spread."""
    levels: Annotated[int, Range(2, 1_000_000)] = 256
    """Generated levels of each seed, the same every time; half of them are played from the other seat."""
    opponents: Annotated[tuple[str, ...], Length(16)] = ("first", "random")
    """`first` is the first member of the population, while there is none the student before training; the
    others are scripted players of the game."""
    keep_students: bool = True
    """Keep the students in half precision: before training, whenever one joins the population, at the end."""
    keep_levels: Annotated[int, Range(0, 4096)] = 32
    """Levels of each seed, with their co-players, kept of what is served at the start, at each evaluation and
    at the end; 0: none."""
    landscape: Annotated[int, Range(0, 1024)] = 0
    """Fresh levels on which the regret landscape of all members is measured at each evaluation; 0: none."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run."""

    game: str = ""
    """The name of the game."""
    method: str = "maestro"
    """A row of `maestro.methods.METHODS`, or a method of your own as module:NAME."""
    seeds: Annotated[int, Range(1, 10_000)] = 1
    """Students trained side by side, as one program."""
    seed: Annotated[int, Range(0, 2**31 - 2 - 10_000)] = 0
    """The first seed; the others follow."""
    level: str = ""
    """Train on this one level (a name or a file) instead of generated ones: a specialist."""
    effort: Literal["full", "quick"] = "full"
    """XLA's effort on a CPU: `quick` compiles sooner, and rounds differently. A GPU takes no notice."""
    environment: Any = None
    """The game's own settings: its frozen dataclass."""
    agent: Any = None
    """The network's settings: its frozen dataclass."""
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
    ppo=PPOConfig(rollout_length=64, workers=64, learning_rate=1e-3, entropy_coef=0.005),
    curriculum=replace(FAST.curriculum, buffer_size=512, member_buffer_size=128),
    schedule=ScheduleConfig(kind="parallel", total_updates=150, interval=30),
    evaluation=EvaluationConfig(times=5, levels=64),
)

PRESETS = {"paper": PAPER, "fast": FAST, "tiny": TINY}


def times_of_joining(schedule: ScheduleConfig) -> int:
    """How often someone joins: never at the very end, where a member would not play."""
    return max(0, -((schedule.warmup - schedule.total_updates) // schedule.interval))


def exploiter_count(schedule: ScheduleConfig) -> int:
    """How many exploiters ever join: one whenever someone joins, but for the first time."""
    return 0 if schedule.exploiters == "none" else max(0, times_of_joining(schedule) - 1)


def population_size(schedule: ScheduleConfig) -> int:
    """N_max: how many members ever join."""
    return times_of_joining(schedule) + (exploiter_count(schedule) if schedule.exploiters == "beside" else 0)


def exploiter_budget(schedule: ScheduleConfig) -> int:
    """Updates that one exploiter is trained for."""
    return schedule.exploiter_updates or max(1, schedule.interval // 4)


@dataclass(frozen=True)
class Setting:
    """The type of a setting, of a group that of its value; and what stands beside the type."""

    kind: Any
    marks: tuple[Any, ...]


def settings_of(group: Any) -> dict[str, Setting]:
    """The settings of a group, and the groups within it, by name; not what the game decides."""
    hints = get_type_hints(type(group), include_extras=True)
    found = {}
    for name in (f.name for f in fields(group)):
        hint, value = hints[name], getattr(group, name)
        marks = getattr(hint, "__metadata__", ())
        kind = hint.__origin__ if marks else hint
        if Given not in marks:
            found[name] = Setting(type(value) if is_dataclass(value) else kind, marks)
    return found


def settable(kind: Any) -> bool:
    """Whether files and the command line can give a value of this type."""
    kind = kind.__origin__ if hasattr(kind, "__metadata__") else kind
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        one_kind = {part for part in parts if part is not ...} == {parts[0]}
        return one_kind and get_origin(parts[0]) is not tuple and settable(parts[0])
    if get_origin(kind) is Literal:
        return all(isinstance(part, str) for part in parts)
    return kind in (int, float, bool, str)


def leaves(config: Any, path: str = "") -> Iterator[tuple[str, Setting, Any]]:
    """(path, type, value) of every setting."""
    for name, setting in settings_of(config).items():
        value = getattr(config, name)
        if is_dataclass(value):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name, setting, value
