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
    known = [FIRST, *game.players]
    for name in config.evaluation.opponents:
        if name not in known:
            found.append(f"evaluation.opponents: {shown(name)} is unknown; {nearest(name, known)}")
    found += inconsistent(config, method)
    if found:
        raise SettingsError(found)
    return config


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
    sequences = ppo.workers * (2 if schedule.sp_train_both else 1)
    sequences *= ppo.rollout_length if ppo.shuffle == "steps" else 1
    members = population_size(schedule) if schedule.interval >= 1 else 0
    found = [
        (ppo.minibatches >= 1 and sequences % max(1, ppo.minibatches) != 0,
         f"ppo.minibatches: {shown(ppo.minibatches)} does not divide the {shown(sequences)} {ppo.shuffle} "
         "of an update"),
        (ppo.shuffle == "steps" and isinstance(config.agent, Recurrent),
         "ppo.shuffle: steps makes no sense for a network that remembers earlier ones"),
        (teacher.prioritization == "proportional" and teacher.score in SIGNED,
         "curriculum.prioritization: proportional needs scores that are never negative; "
         "set curriculum.score to positive_value_loss or learnability"),
        (teacher.score == "learnability" and teacher.playlist == 1,
         "curriculum.score: learnability needs several games on a level; curriculum.playlist 1 says that a "
         "rollout holds one, allowed: 2 or more"),
        (teacher.replay_rate == 0 and schedule.kind == "coin" and keeps_levels and not config.level,
         f"curriculum.replay_rate: 0 never trains; {shown(config.method)} learns from replayed levels only"),
        (teacher.coplayer_per == "worker" and plays_itself,
         f"curriculum.coplayer_per: worker makes no sense in self-play, {shown(config.method)}"),
        (schedule.sp_train_both and method is not None and not plays_itself,
         f"schedule.sp_train_both: needs a method of self-play, which {shown(config.method)} is not"),
        (schedule.warmup >= schedule.total_updates and schedule.warmup > 0,
         f"schedule.warmup: {shown(schedule.warmup)} leaves no update of {shown(schedule.total_updates)} "
         "for games with others"),
        (members > MAX_MEMBERS,
         f"schedule.interval: {shown(schedule.interval)} would add {shown(members)} co-players; "
         f"at most {MAX_MEMBERS:,}"),
        (config.evaluation.levels % 2 != 0,
         f"evaluation.levels: {shown(config.evaluation.levels)} is odd; half are played from the other seat"),
    ]  # fmt: skip
    found += beyond_the_paper(config, method) if method else []
    if schedule.exploiters != "none" and schedule.interval >= 1:
        found += of_exploiters(config, plays_itself)
    own = config.environment.problems() if hasattr(config.environment, "problems") else []
    return [f"environment.{line}" for line in own] + [message for wrong, message in found if wrong]


def beyond_the_paper(config: RunConfig, method: Method) -> list[tuple[bool, str]]:
    """(whether it is so, the message): options of the teacher that do not go with the method."""
    teacher, name = config.curriculum, shown(config.method)
    compares = method.levels is Source.PER_COPLAYER and method.coplayer not in (uniform, hardest, self_play)
    needs = f"needs a method that compares the co-players' buffers, which {name} does not; try maestro"
    alone = method.coplayer is self_play
    return [
        (teacher.estimate != "max" and not compares,
         f"curriculum.estimate: {teacher.estimate} {needs}; allowed here: max"),
        (teacher.optimism > 0 and not compares,
         f"curriculum.optimism: {teacher.optimism} {needs}; allowed here: 0"),
        (teacher.try_against == "uniform" and (alone or method.levels is Source.NEW),
         f"curriculum.try_against: uniform needs co-players and a buffer of levels, which {name} has not; "
         "allowed here: chosen"),
        (teacher.try_against == "uniform" and bool(config.level),
         "curriculum.try_against: uniform makes no sense with a single level, which is all there is to learn "
         "from; allowed here: chosen"),
        (teacher.cold == "redraw" and config.schedule.kind != "parallel",
         f"curriculum.cold: redraw is for schedule.kind parallel, not {config.schedule.kind}; allowed: wait"),
        (method.edits and method.levels is Source.NEW,
         f"method: {name} edits levels that were served again, but keeps none"),
        (method.edits and bool(config.level),
         f"level: {name} edits levels; with a single one there is nothing to edit"),
        (method.edits and not hasattr(config.environment, "edit"),
         f"method: {name} edits levels, and the game {shown(config.game)} has no `edit`"),
    ]  # fmt: skip


def of_exploiters(config: RunConfig, plays_itself: bool) -> list[tuple[bool, str]]:
    """(whether it is so, the message): settings that leave exploiters nothing to do."""
    schedule = config.schedule
    count = exploiter_count(schedule)
    told = f"schedule.exploiters: {shown(schedule.exploiters)}"
    made = count * exploiter_budget(schedule)
    first = schedule.warmup + schedule.interval
    return [
        (plays_itself,
         f"{told} makes no sense in self-play, {shown(config.method)}, where members never play; "
         "allowed: none"),
        (not plays_itself and not count,
         f"{told} has none to train: the first would join at update {shown(first)} of "
         f"{shown(schedule.total_updates)}; schedule.interval is to be shorter"),
        (made > BIG,
         f"schedule.exploiter_updates: {shown(exploiter_budget(schedule))} for each of {count:,} exploiters "
         f"are more than {BIG:,} in all"),
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
    return Experiment(env, agent, teacher, config.ppo, config.schedule)


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
    params = jax.eval_shape(experiment.agent.init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(params))
