"""What a run begins with: nothing, an agent's parameters, or the last state of another run."""

import hashlib
import shlex
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from maestro import cohort, curriculum, settings, train
from maestro.agents.base import Agent
from maestro.cohort import Cohort
from maestro.config import RunConfig, leaves
from maestro.games import Game
from maestro.runs import agent_file, checkpoint, checkpoints, effort, programs
from maestro.runs import folder as run_folder
from maestro.runs.agent_file import AgentError
from maestro.runs.checkpoint import CheckpointError
from maestro.runs.checkpointer import Checkpointer
from maestro.runs.folder import RunError, RunFolder
from maestro.runs.metrics_log import MetricsLog, Position
from maestro.runs.reporter import Reporter
from maestro.settings import SettingsError
from maestro.train import Experiment

LENGTH = "schedule.total_updates"
KEPT = (  # by a run that goes on
    *("game", "seeds", "seed", "schedule.interval", "schedule.warmup"),
    *("schedule.exploiters", "schedule.exploiter_updates"),
)
SHAPING = ("method:", "level:", "environment.", "agent.", "curriculum.")  # settings that may change shapes


@dataclass(frozen=True)
class Beginning:
    """A first state, where the logs begin, and what about.json says of it."""

    state: Cohort
    position: Position
    about: dict[str, Any]


def fresh(experiment: Experiment, seed: int, like: Cohort) -> Future[Cohort]:
    """Students who know nothing, to be; by a program that is the same for every first seed, and kept."""
    seeds, first = len(like.seeds.key), np.int32(seed)
    begin = partial(cohort.init, experiment, seeds=seeds)
    known = ("fresh", experiment, seeds), first
    lowered = programs.lowered(programs.folder(), known, lambda seed: jax.tree.leaves(begin(seed)), first)

    def made() -> Cohort:
        arrays = lowered.compile(effort.options(experiment.effort, tried=False))(first)
        return jax.tree.unflatten(jax.tree.structure(like), arrays)

    return programs.ahead(made)


def of_agent(path: Path, game: Game, config: RunConfig, experiment: Experiment) -> Beginning:
    """Every seed begins with the parameters of one agent, which also is the first co-player."""
    agent, params = agent_file.load_params(path, game)
    if agent != experiment.agent:
        raise AgentError(f"{path}: {misfit(agent, experiment.agent)}")
    about = {"agent": str(path.resolve()), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    state = jax.jit(lambda params: cohort.init(experiment, config.seed, config.seeds, params))(params)
    return Beginning(state, Position(), about)


def misfit(agent: Agent, wanted: Agent) -> str:
    """Why an agent's network is not that of a run, and what to type for one that is."""
    theirs = {name: value for name, _, value in leaves(agent)}
    other = [name for name, _, value in leaves(wanted) if theirs.get(name) != value]
    if type(agent) is not type(wanted):
        return f"its network is a {type(agent).__name__}, and that of this run a {type(wanted).__name__}"
    if not other:
        return "its network is for other observations or actions than those of this run"
    typed = {f"--agent.{name.replace('_', '-')}": theirs[name] for name in other}
    words = [f"{name} {' '.join(map(str, v)) if isinstance(v, tuple) else v}" for name, v in typed.items()]
    return f"its network is not that of this run; for the same one: {' '.join(words)}"


def newest_state(
    folder: RunFolder, config: RunConfig, experiment: Experiment, reporter: Reporter
) -> tuple[Path, Cohort, Position]:
    """(manifest, state, position) of the newest good checkpoint; what is wrong with newer ones is told."""
    like = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
    checkpointer, remarks = Checkpointer(folder.checkpoints, config, reporter), []
    for path in reversed(checkpoints.found(folder.checkpoints)):
        try:
            return path, *checkpointer.load(path, like)
        except CheckpointError as error:
            remarks.append(f"checkpoint {path.name}: {error}")
            reporter.say(remarks[-1])
    kept = [place for place in (folder.agents, folder.milestones) if any(place.rglob("*.safetensors"))]
    if not remarks and kept:  # a piece of a run
        raise RunError(f"{folder.path} has no checkpoint; its students are in {' and '.join(map(str, kept))}")
    raise RunError(f"{folder.path} has no usable checkpoint" + "".join(f"\n  {line}" for line in remarks))


@dataclass(frozen=True)
class Other:
    """Another run: where it is, its settings, and what they describe."""

    folder: RunFolder
    config: RunConfig
    experiment: Experiment


def of_run(other: Other, config: RunConfig, experiment: Experiment, reporter: Reporter) -> Beginning:
    """The last state of another run, with room for the members to come."""
    changed = settings.difference(other.config, config)
    kept = [line for line in changed if line.partition(":")[0] in KEPT]
    if kept:
        raise SettingsError([f"{line}, which a run that goes on keeps" for line in kept])
    path, state, position = newest_state(other.folder, other.config, other.experiment, reporter)
    total, done = config.schedule.total_updates, int(state.updates)
    if total <= done:
        told = f"{total} is not more than the {done} updates that {other.folder.path} has made"
        raise SettingsError([f"{LENGTH}: {told}; type a larger number"])
    room = jax.eval_shape(lambda: cohort.init(experiment, config.seed, config.seeds))
    if not fits(state, room):
        causes = [line for line in changed if line.startswith(SHAPING)] or changed
        raise SettingsError([f"{line}, which does not fit what was learned" for line in causes])
    state = jax.jit(lambda old: joined(experiment, other.experiment, grown(experiment, config, old)))(state)
    where = {"run": str(other.folder.path.resolve()), "update": done, "checkpoint": path.stem}
    where["sha256"] = checkpoint.seal(checkpoint.read_manifest(path))
    noted = Position(updates=done, evaluated=position.evaluated)
    return Beginning(state, noted, {**where, "changed": changed})


def fits(state: Cohort, room: Any) -> bool:
    """Whether a state has its place in another, whose second axis, the slots of members, may be longer."""
    kind: Any = jax.tree.structure(state)
    if kind != jax.tree.structure(room):
        return False
    pairs = zip(jax.tree.leaves(state), jax.tree.leaves(room), strict=True)
    return all(
        old.dtype == new.dtype
        and (old.shape == new.shape or (slots(old) <= slots(new) and beside(old) == beside(new)))
        for old, new in pairs
    )


def slots(x: Any) -> int:
    """How long the second axis is."""
    return x.shape[1] if x.ndim > 1 else 0


def beside(x: Any) -> tuple[int, ...]:
    """The other axes."""
    return (*x.shape[:1], *x.shape[2:])


def grown(experiment: Experiment, config: RunConfig, state: Cohort) -> Cohort:
    """A state with as many slots as an experiment has, the new ones empty."""
    anyone = jax.tree.map(lambda x: x[0], state.seeds.learner.params)
    room = cohort.init(experiment, config.seed, config.seeds, anyone)
    return jax.tree.map(
        lambda old, new: old if old.shape == new.shape else new.at[:, : slots(old)].set(old), state, room
    )


def joined(experiment: Experiment, before: Experiment, state: Cohort) -> Cohort:
    """The member that was due at the old end, where it would not have played, joins first."""
    due = train.joins(experiment.schedule, state.updates) & ~train.joins(before.schedule, state.updates)
    add = jax.vmap(lambda teacher, params: curriculum.join(teacher, params, jnp.bool_(due)))
    seeds = state.seeds
    return state.replace(seeds=seeds.replace(curriculum=add(seeds.curriculum, seeds.learner.params)))


def plant(folder: RunFolder, config: RunConfig, beginning: Beginning, reporter: Reporter) -> None:
    """Make the first checkpoint of a run, and say in about.json where it comes from."""
    folder.checkpoints.mkdir(exist_ok=True)
    log = MetricsLog(folder.metrics, folder.evaluation, config.schedule.total_updates, beginning.position)
    checkpointer = Checkpointer(folder.checkpoints, config, reporter)
    checkpointer.save(beginning.state, log)
    checkpointer.finish()
    run_folder.write_about(folder, {"from": beginning.about})


def lost(folder: RunFolder, began_with: dict[str, Any]) -> RunError:
    """A run that did not begin with nothing cannot begin again without what it began with."""
    source = shlex.quote(str(began_with.get("run") or began_with.get("agent")))
    return RunError(f"{folder.path}: no checkpoint can be used; begin again: maestro train --from {source}")
