"""Settings -> everything that is fixed during a run; what does not go together is told all at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from maestro import settings, toml
from maestro.agents import lstm
from maestro.agents.lstm import Form
from maestro.agents.recurrent import Recurrent
from maestro.config import BIG, SIGNED, RunConfig, exploiter_budget, exploiter_count, population_size
from maestro.curriculum import Method, Source, Teacher
from maestro.envs.base import Level, observation_shape
from maestro.evaluation.opponents import FIRST
from maestro.games import Game
from maestro.methods import METHODS, hardest, self_play, uniform
from maestro.settings import SettingsError, nearest, shown
from maestro.sharding import Layout
from maestro.toml import toml_value
from maestro.train import Experiment

MAX_MEMBERS = 10_000
MAX_LEVEL = toml.MAX_BYTES * 3 // 4  # the rest is for the other settings
THE_PAPERS = ("max", 0, "chosen", "wait")  # estimate, optimism, try_against, cold
Check = tuple[Any, ...]  # whether it is so, the message, and the values that its braces stand for


def configure(
    game: Game,
    base: RunConfig,
    changes: dict[str, Any],
    method: Method | None = None,
    problems: Sequence[str] = (),
) -> RunConfig:
    """Settings with changes, checked; `SettingsError` lists all that is wrong, after known problems.

    `method` is one of the user's own, which goes by the name in the settings.
    """
    found = list(problems)
    config = settings.apply(base, changes, found)
    if config.level:
        config = replace(config, level=settled_level(game, config.level, found))
    if config.game != game.name:
        found.append(f"game: these settings are of {shown(config.game)}, not of {game.name}")
    found += settings.out_of_range(config)
    method = method or METHODS.get(config.method)
    if method is None:
        hint = nearest(config.method, list(METHODS))
        found.append(f"method: {shown(config.method)} is unknown; {hint}")
    elif method.score:
        config = scored(config, method.score, changes, found)
    known = [FIRST, *game.players]
    for name in config.evaluation.opponents:
        if name not in known:
            found.append(f"evaluation.opponents: {shown(name)} is unknown; {nearest(name, known)}")
    found += inconsistent(config, method)
    if found:
        raise SettingsError(found)
    return config


def scored(config: RunConfig, score: str, changes: dict[str, Any], problems: list[str]) -> RunConfig:
    """The settings with a method's own score, which is refused beside another that was asked for."""
    group = changes.get("curriculum")
    asked = group.get("score", score) if isinstance(group, dict) else score
    if asked != score:
        told = f"curriculum.score: {shown(asked)} does not go with {shown(config.method)}, which has its own"
        problems.append(f"{told}; allowed here: {score}")
    return settings.apply(config, {"curriculum": {"score": score}}, problems)


def settled_level(game: Game, level: str, problems: list[str]) -> str:
    """A level's name as it is spelled, or its text: a run needs no other file than its own."""
    known = game.levels.spelled(level) if level else ""
    if known is not None:
        return known
    try:
        if "\n" in level:
            game.levels.parse(level)
            return level
        text, _ = game.levels.find_file(level)
    except ValueError as error:
        problems.append(f"level: {error}")
        return level
    if len(toml_value(text)) > MAX_LEVEL:
        problems.append(f"level: {shown(level)} is too long to be kept among the settings of a run")
    return text if "\n" in text else f"{text}\n"


def inconsistent(config: RunConfig, method: Method | None) -> list[str]:
    """Settings that do not go together."""
    ppo, teacher, schedule = config.ppo, config.curriculum, config.schedule
    plays_itself = method is not None and method.coplayer is self_play
    keeps_levels = method is not None and method.levels is not Source.NEW
    pieces = ppo.pieces * (2 if schedule.sp_train_both else 1)
    members = population_size(schedule) if schedule.interval >= 1 else 0
    varied = "curriculum.score: learnability" if method is None or method.score is None else "method: {}"
    found: list[Check] = [
        (ppo.minibatches >= 1 and pieces % max(1, ppo.minibatches) != 0,
         f"ppo.minibatches: {{}} does not divide the {{}} {ppo.shuffle} of an update",
         ppo.minibatches, pieces),
        (ppo.shuffle == "steps" and isinstance(config.agent, Recurrent),
         "ppo.shuffle: steps makes no sense for a network that remembers earlier ones"),
        (teacher.prioritization == "proportional" and teacher.score in SIGNED,
         "curriculum.prioritization: proportional needs scores that are never negative; "
         "set curriculum.score to positive_value_loss or learnability"),
        (teacher.score == "learnability" and teacher.playlist == 1,
         f"{varied} needs several games on a level; curriculum.playlist 1 says that a rollout holds one, "
         "allowed: 2 or more", config.method),
        (teacher.replay_rate == 0 and schedule.kind == "coin" and keeps_levels and not has_one_level(config),
         "curriculum.replay_rate: 0 never trains; {} learns from replayed levels only", config.method),
        (teacher.coplayer_per == "worker" and plays_itself,
         "curriculum.coplayer_per: worker makes no sense in self-play, {}", config.method),
        (schedule.sp_train_both and method is not None and not plays_itself,
         "schedule.sp_train_both: needs a method of self-play, which {} is not", config.method),
        (schedule.warmup >= schedule.total_updates and schedule.warmup > 0,
         "schedule.warmup: {} leaves no update of {} for games with others",
         schedule.warmup, schedule.total_updates),
        (members > MAX_MEMBERS,
         f"schedule.interval: {{}} would add {{}} co-players; at most {MAX_MEMBERS:,}",
         schedule.interval, members),
        (config.evaluation.levels % 2 != 0,
         "evaluation.levels: {} is odd; half are played from the other seat", config.evaluation.levels),
    ]  # fmt: skip
    options = (teacher.estimate, teacher.optimism, teacher.try_against, teacher.cold)
    if method is not None and (method.edits or options != THE_PAPERS):
        found += beyond_the_paper(config, method)
    if schedule.exploiters != "none" and schedule.interval >= 1:
        found += of_exploiters(config, plays_itself)
    own = config.environment.problems() if hasattr(config.environment, "problems") else []
    told = [message.format(*map(shown, values)) for wrong, message, *values in found if wrong]
    return [f"environment.{line}" for line in own] + told


def beyond_the_paper(config: RunConfig, method: Method) -> list[Check]:
    """Options of the teacher that do not go with the method."""
    teacher, name = config.curriculum, config.method
    compares = method.levels is Source.PER_COPLAYER and method.coplayer not in (uniform, hardest, self_play)
    needs = "needs a method that compares the co-players' buffers, which {} does not; try maestro"
    alone = method.coplayer is self_play
    return [
        (teacher.estimate != "max" and not compares,
         f"curriculum.estimate: {teacher.estimate} {needs}; allowed here: max", name),
        (teacher.optimism > 0 and not compares,
         f"curriculum.optimism: {teacher.optimism} {needs}; allowed here: 0", name),
        (teacher.try_against == "uniform" and (alone or method.levels is Source.NEW),
         "curriculum.try_against: uniform needs co-players and a buffer of levels, which {} has not; "
         "allowed here: chosen", name),
        (teacher.try_against == "uniform" and has_one_level(config),
         "curriculum.try_against: uniform makes no sense with a single level, which is all there is to learn "
         "from; allowed here: chosen"),
        (teacher.cold == "redraw" and config.schedule.kind != "parallel",
         f"curriculum.cold: redraw is for schedule.kind parallel, not {config.schedule.kind}; allowed: wait"),
        (method.edits and method.levels is Source.NEW,
         "method: {} edits levels that were served again, but keeps none", name),
        (method.edits and has_one_level(config),
         "method: {} edits levels; with a single one there is nothing to edit", name),
        (method.edits and not hasattr(config.environment, "edit"),
         "method: {} edits levels, and the game {} has no `edit`", name, config.game),
    ]  # fmt: skip


def has_one_level(config: RunConfig) -> bool:
    """Whether a single level is all there is: a specialist's, or that of a game that has no other."""
    return bool(config.level) or getattr(config.environment, "num_levels", None) == 1


def of_exploiters(config: RunConfig, plays_itself: bool) -> list[Check]:
    """Settings that leave exploiters nothing to do."""
    schedule, count = config.schedule, exploiter_count(config.schedule)
    each, first = exploiter_budget(schedule), schedule.warmup + schedule.interval
    return [
        (plays_itself,
         "schedule.exploiters: {} makes no sense in self-play, {}, where members never play; allowed: none",
         schedule.exploiters, config.method),
        (not plays_itself and not count,
         "schedule.exploiters: {} has none to train: the first would join at update {} of {}; "
         "schedule.interval is to be shorter", schedule.exploiters, first, schedule.total_updates),
        (count * each > BIG,
         f"schedule.exploiter_updates: {{}} for each of {count:,} exploiters are more than {BIG:,} in all",
         each),
    ]  # fmt: skip


def experiment(game: Game, config: RunConfig, method: Method | None = None) -> Experiment:
    """The environment, the agent, the teacher and the settings of PPO and schedule."""
    env = config.environment
    if env.num_agents != 2:
        raise SettingsError([f"{game.name} has {env.num_agents} players; training needs a game of two"])
    try:
        agent = config.agent.fitted(observation_shape(env), env.action)
    except ValueError as error:
        raise SettingsError([f"agent: {error}"]) from None
    level = fixed_level(game, config.level) if config.level else None
    teacher = Teacher(
        config=config.curriculum,
        method=method or METHODS[config.method],
        generate=env.sample_level if level is None else lambda key: level,
        workers=config.ppo.workers,
        max_members=population_size(config.schedule),
        num_levels=getattr(env, "num_levels", None) if level is None else 1,
        edit=getattr(env, "edit", None),
    )
    return Experiment(env, agent, teacher, config.ppo, config.schedule, config.effort)


def fixed_level(game: Game, level: str) -> Level:
    """The level of a specialist, by its name or as its text."""
    return game.levels.parse(level) if "\n" in level else game.levels.load(level)


def lstm_form(experiment: Experiment, layout: Layout | None = None) -> Form | None:
    """How the student's LSTM computes over a device's part of a minibatch; none if it has no LSTM."""
    if not isinstance(experiment.agent, Recurrent):
        return None
    sequences = experiment.ppo.workers * (2 if experiment.schedule.sp_train_both else 1)
    devices = 1 if layout is None else layout.envs  # that share the environments of a seed
    try:
        return lstm.choose(experiment.agent.hidden, sequences // experiment.ppo.minibatches // devices)
    except ValueError as error:
        raise SettingsError([str(error)]) from None


def parameter_count(experiment: Experiment) -> int:
    """Parameters of one agent."""
    params = jax.eval_shape(lambda: experiment.agent.init(jax.random.key(0)))
    return sum(leaf.size for leaf in jax.tree.leaves(params))
